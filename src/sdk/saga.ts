/**
 * Compensation (seed 4): how a tool's effect is undone, and what an agent wants done about a run that fails with effects
 * behind it.
 */
import * as z from "zod";
import type { Effect } from "../core/event.ts";
import type { Json } from "../core/json.ts";
import type { Probe, ProbeContext, Tool, ToolContext } from "./define.ts";

/** The call that is to be undone: what it went out under, and what it came to. */
interface OfCall {
  /** `result` null: nobody knows whether it happened. An undo of what never happened does nothing, and succeeds. */
  readonly of: { readonly key: string; readonly result: Json | null };
}

export type UndoContext<Input> = ToolContext<Input> & OfCall;

export interface Undo<Input> {
  /** How often the undo itself may be repeated: it is a call of its own, with a key of its own. */
  readonly effect: Effect;
  readonly run: (context: UndoContext<Input>) => unknown;
  /** What became of the undo of that key; a `probed` undo has one, no other has. */
  readonly probe?: (context: ProbeContext<Input> & OfCall) => Probe | Promise<Probe>;
  /** Milliseconds; that of the tool unless told. */
  readonly timeoutMs?: number;
}

/** The tool as it is called to undo what it did. */
export function undoOf(tool: Tool): Tool | null {
  const { undo } = tool;
  if (undo === null) return null;
  const { effect, run, probe = null, timeoutMs = tool.timeoutMs } = undo;
  return {
    ...tool,
    ...{
      effect,
      timeoutMs,
      approval: "never",
      output: null,
      key: null,
      onExists: null,
      onUnknown: "ask",
      externalId: null,
    },
    ...{ parallel: true, undo: null, retry: null, claims: null },
    run: (context) => run(context as UndoContext<unknown>),
    probe: probe && ((context) => probe(context as ProbeContext<unknown> & OfCall)),
  };
}

/** What follows when a run has failed and things that it did stand. */
export interface SagaOptions {
  /** `undo` (unless told): in reverse order, before the run ends. `leave`: a person looks after it. */
  readonly onFailure?: "undo" | "leave";
  /**
   * The same where the run itself made no mistake: its model's provider was unavailable for too long. `leave` unless told.
   * Where its processes died, everything is left in any case.
   */
  readonly onOutage?: "undo" | "leave";
  /** How often it begins again from its task once everything is undone; 0 unless told. Money that is spent stays spent. */
  readonly restarts?: number;
  /** Whether it begins again although effects stand that nobody can undo: they may be doubled. `nothing` unless told. */
  readonly leaving?: "nothing" | "effects";
}

export type Saga = Required<SagaOptions>;

const RESTARTS_MAX = 10;

const schema = z.strictObject({
  onFailure: z.enum(["undo", "leave"]).default("undo"),
  onOutage: z.enum(["undo", "leave"]).default("leave"),
  restarts: z.int().min(0).max(RESTARTS_MAX).default(0),
  leaving: z.enum(["nothing", "effects"]).default("nothing"),
});

/** Or what is wrong with the options. */
export function sagaOf(options: SagaOptions = {}): Saga | string {
  const parsed = schema.safeParse(options);
  if (parsed.success) return parsed.data;
  return parsed.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`).join("; ");
}
