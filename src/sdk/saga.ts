/**
 * The saga options of an agent: what happens to the effects of a run that fails.
 */
import { issuesIn, parsedOption } from "./issues.ts";
import type { Saga } from "../ports/agent.ts";
import * as z from "zod";
import { builtOnUse } from "../codec/fit.ts";

/** What cairn does when a run fails and has left effects. */
export interface SagaOptions {
  /** `undo` (default): compensate in reverse order before the run ends. `leave`: an operator handles the effects. */
  readonly onFailure?: "undo" | "leave";
  /**
   * The same for a run whose provider was unavailable for too long; default `leave`. If a run fails because its
   * processes died, its effects are always left.
   */
  readonly onOutage?: "undo" | "leave";
  /** How often a run restarts from its task after compensation: 0 (default) to 10. Its spent budget stays spent. */
  readonly restarts?: number;
  /** `effects`: restart even if effects remain that cannot be undone; they may be doubled. Default `nothing`. */
  readonly leaving?: "nothing" | "effects";
}

const RESTARTS_MAX = 10;

const WITHOUT_OPTIONS: Saga = Object.freeze({
  onFailure: "undo",
  onOutage: "leave",
  restarts: 0,
  leaving: "nothing",
} as const);

const schema = builtOnUse(() =>
  z.strictObject({
    onFailure: z.enum(["undo", "leave"]).default(WITHOUT_OPTIONS.onFailure),
    onOutage: z.enum(["undo", "leave"]).default(WITHOUT_OPTIONS.onOutage),
    restarts: z.int().min(0).max(RESTARTS_MAX).default(WITHOUT_OPTIONS.restarts),
    leaving: z.enum(["nothing", "effects"]).default(WITHOUT_OPTIONS.leaving),
  }),
);

/** The saga with its defaults, or a text that says what is wrong with the options. */
export function sagaOf(options?: SagaOptions): Saga | string {
  if (options === undefined) return WITHOUT_OPTIONS;
  const parsed = parsedOption(schema(), options);
  if (parsed.success) return parsed.data;
  return issuesIn(parsed.error).join("; ");
}
