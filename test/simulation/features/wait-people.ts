/**
 * Who ends the waits of a history: people who answer questions, and services that signal events. Each sends the same
 * input until it is acknowledged. Some send what does not fit, some come too late, and some signal too early.
 */
import { waitIn } from "../../../src/core/calls/held-calls.ts";
import { hasEnded } from "../../../src/protocol/row.ts";
import type { World } from "../../../src/ports/world.ts";
import { SegmentCache, load } from "../../../src/history/load.ts";
import { answerQuestion } from "../../../src/operations/answer.ts";
import { signal } from "../../../src/operations/signal.ts";
import { retryUntilAcknowledged } from "../operator-attempts.ts";
import type { Placed } from "../record.ts";
import { later } from "../services.ts";
import { type Sim, isCalm } from "../sim.ts";
import { eventOf } from "./wait-tools.ts";

/** An answer or event that was sent, and what its sender heard. */
export interface WaitInput {
  readonly kind: "answer" | "event";
  /** The call that is answered, or the name of the event. */
  readonly about: string;
  readonly by: string;
  /** No other input has this number; null: it does not fit the schema. */
  readonly n: number | null;
  readonly outcome: string;
}

type Draft = Omit<WaitInput, "outcome">;

const MISFIT_ONE_IN = 8;
const HESITATES_ONE_IN = 4;
const STEPS_MAX = 4;

/** Somebody looks at the calls that wait, and ends one of them. */
export async function endOneWait(sim: Sim, run: string): Promise<void> {
  let draft: Draft | null = null;
  const outcome = await retryUntilAcknowledged<string>(sim, {
    act: async (world) => {
      if (draft === null) {
        draft = await chosen(sim, world, run);
        if (draft?.kind === "answer") await hesitate(sim);
      }
      return draft === null ? "nothing" : sendInput(world, run, draft);
    },
    mayGiveUp: () => true,
  });
  if (draft !== null) note(sim, { ...(draft as Draft), outcome: outcome ?? "unheard" });
}

/** Some people see a question, and answer it when its limit may have passed. */
async function hesitate(sim: Sim): Promise<void> {
  const { features } = sim.chances;
  const limitMs = sim.plan.features.waits?.limitMs ?? 0;
  if (isCalm(sim) || !features.oneIn(HESITATES_ONE_IN)) return;
  await later(sim.clock, { ms: features.below(limitMs), signal: null });
}

/** A service signals an event without knowing whether a call waits for it. */
export async function signalBlindly(sim: Sim, run: string): Promise<void> {
  const about = eventOf({ step: sim.chances.features.below(STEPS_MAX) });
  const draft = drafted(sim, "event", about);
  const outcome = await retryUntilAcknowledged<string>(sim, {
    act: (world) => sendInput(world, run, draft),
    mayGiveUp: () => true,
  });
  note(sim, { ...draft, outcome: outcome ?? "unheard" });
}

function drafted({ chances: { features }, features: log }: Sim, kind: Draft["kind"], about: string): Draft {
  log.inputsDrafted += 1;
  const n = log.inputsDrafted;
  return { kind, about, by: `person-${n}`, n: features.oneIn(MISFIT_ONE_IN) ? null : n };
}

function note(sim: Sim, input: WaitInput): void {
  const placed: Placed<WaitInput> = { ...input, order: sim.record.next() };
  sim.features.inputs.push(placed);
  sim.record.note("person", `${input.kind} ${input.n ?? "misfit"} for ${input.about} → ${input.outcome}`);
}

async function chosen(sim: Sim, world: World, run: string): Promise<Draft | null> {
  const row = await world.table.read(run, world.clock.now());
  if (row === null || hasEnded(row)) return null;
  const { state } = await load(world, row, new SegmentCache());
  const open = state.open.flatMap((each) => {
    const wait = waitIn(each);
    return wait === undefined || wait.for === "time" || wait.given !== undefined ? [] : [{ call: each.call, wait }];
  });
  if (open.length === 0) return null;
  const { call, wait } = sim.chances.features.pick(open);
  return wait.for === "answer" ? drafted(sim, "answer", call) : drafted(sim, "event", wait.event ?? "");
}

async function sendInput(world: World, run: string, { kind, about, by, n }: Draft): Promise<string> {
  const result = n === null ? { none: true } : { n };
  if (kind === "answer") return (await answerQuestion(world, { run, call: about, result, by, agent: null })).kind;
  return (await signal(world, { run, event: about, detail: result, id: by, by, agent: null })).kind;
}
