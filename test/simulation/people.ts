/** The people of a simulation: an operator who steers the run, and a person who looks outside and answers for its calls. */
import type { Answer } from "../../src/core/event.ts";
import { SegmentCache, load } from "../../src/runner/load.ts";
import { type Reconciled, reconcile } from "../../src/runner/reconcile.ts";
import { request, send } from "../../src/runner/steer.ts";
import type { Chance } from "./chance.ts";
import type { Sim } from "./process.ts";

export interface Steered {
  readonly what: "send" | "pause" | "resume" | "cancel";
  readonly id: string;
  readonly outcome: string;
  /** The version of the run at that time. */
  readonly version: number;
}

export interface Answered {
  readonly key: string;
  readonly as: Answer["as"];
  readonly outcome: Reconciled["kind"];
}

/** Somebody sends words, pauses, resumes or, rarely, cancels; sometimes the sender dies right after its write. */
export async function steer(
  sim: Sim,
  of: { readonly run: string; readonly operator: Chance; readonly what?: Steered["what"] },
): Promise<Steered> {
  const { world, reached } = sim;
  const { run, operator } = of;
  const what = of.what ?? operator.pick(["send", "send", "send", "pause", "resume", "resume", "cancel"] as const);
  const id = String(operator.below(6));
  const version = world.store.rows.get(run)?.version ?? 0;
  const outcome =
    what === "send"
      ? (await send(world, { run, text: `words ${id}`, by: "operator", id })).kind
      : await request(world, { run, want: what });
  reached.add(`steer ${what} ${outcome}`);
  return { what, id, outcome, version };
}

/** A person looks at the outside world and says what became of the first call that is unknown. */
export async function askPerson(
  sim: Sim,
  of: { readonly run: string; readonly person: Chance },
): Promise<Answered | null> {
  const { world, outside: services, clock } = sim;
  const row = world.store.rows.get(of.run);
  if (row === undefined || row.status !== "blocked") return null;
  const { state } = await load(world.objects, row, new SegmentCache());
  const open = state.open.find((call) => call.status === "unknown" && call.answer === null);
  if (open?.intent == null) return null;
  const { key } = open.intent;
  const happened = services.effects.some((effect) => effect.key === key);
  const as = happened ? ("succeeded" as const) : of.person.pick(["failed", "retry"] as const);
  const said = { run: of.run, call: open.call, as, result: null, by: "person", note: null };
  const outcome = await reconcile(world, said);
  if (outcome.kind === "tooEarly") clock.moveTo(Math.max(clock.now(), outcome.askFrom));
  return { key, as, outcome: outcome.kind };
}
