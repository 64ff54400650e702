/**
 * The operator of a test: decides about gates and reconciles unknown outcomes, as a human would who looks at the
 * external service.
 */
import type { Json } from "../../core/json.ts";
import { answerQuestion } from "../../operations/answer.ts";
import { decide } from "../../operations/decide.ts";
import { reconcile } from "../../operations/reconcile.ts";
import { signal } from "../../operations/signal.ts";
import { type OpenGate, type UnknownCall, show } from "../../operations/views.ts";
import type { OpenWait } from "../../operations/wait-views.ts";
import { shown } from "../../sdk/option-forms.ts";
import type { Agent } from "../../ports/agent.ts";
import type { World } from "../../ports/world.ts";

/** What the operator saw in the external service. */
export type Truth = { readonly kind: "happened"; readonly result: Json } | { readonly kind: "absent" };

/**
 * What the run accepted: a decision about a gate, an answer or event that a call waits for, or an outcome reconciled as
 * happened (`confirmed`) or not (`repeated`).
 */
export type AcceptedKind = "approved" | "denied" | "answered" | "confirmed" | "repeated";

export interface Operator {
  /** The name in the records of the run. */
  readonly by: string;
  /** The decision about a gate; null: none. The gate of the budget has the tool `budget`. */
  readonly decide: (gate: OpenGate) => "approve" | "deny" | null;
  /** The outcome of a call; null if the operator cannot know it. */
  readonly truth: (call: UnknownCall) => Truth | null;
  /** The answer to a question, or the detail of an event; undefined: nothing comes. */
  readonly input: (wait: OpenWait) => Json | undefined;
  /** The code of the agent, with which the answers are checked; null: it is not here. */
  readonly agent: Agent | null;
}

export interface Answers {
  /** The accepted decisions. */
  readonly decided: readonly AcceptedKind[];
  /** The calls of which the operator does not know the outcome. */
  readonly unanswered: readonly UnknownCall[];
  /** The calls that wait, and for which nothing comes. */
  readonly waiting: readonly OpenWait[];
  /** When the operator may say of a call that it did not happen, epoch milliseconds; null if no call waits for that. */
  readonly reconcilableFrom: number | null;
}

const DECISIONS: ReadonlySet<unknown> = new Set(["approve", "deny"]);
const TRUTHS: ReadonlySet<unknown> = new Set(["happened", "absent"]);

/** Tests may be JavaScript: what is neither would be taken for the one or the other. */
const invalid = (why: string): Error => Object.assign(new TypeError(why), { code: "DecisionInvalid" });

/** Decides about all open gates and unknown outcomes of a run, and gives what its calls wait for. */
export async function answerEach(world: World, run: string, { by, ...operator }: Operator): Promise<Answers> {
  const seenRun = await show(world, run);
  const decided: AcceptedKind[] = [];
  const unanswered: UnknownCall[] = [];
  const early: number[] = [];
  for (const gate of seenRun?.gates ?? []) {
    const as = gate.decided ? null : operator.decide(gate);
    if (as === null) continue;
    if (!DECISIONS.has(as))
      throw invalid(`decide returned ${shown(as)} for a call of ${gate.tool}: return "approve" or "deny", at once`);
    const outcome = await decide(world, { run, gate: gate.gate, as, args: null, by, note: null });
    if (outcome.kind === "accepted") decided.push(as === "approve" ? "approved" : "denied");
  }
  for (const call of seenRun?.unknown ?? []) {
    const seen = call.answered ? null : operator.truth(call);
    if (seen === null) {
      if (!call.answered) unanswered.push(call);
      continue;
    }
    if (!TRUTHS.has((seen as Truth | undefined)?.kind))
      throw invalid(
        `reconcile returned ${shown(seen)} for a call of ${call.tool}: return { kind: "happened", result }, { kind: "absent" } or null, at once`,
      );
    const as = seen.kind === "happened" ? "succeeded" : "retry";
    if (as === "retry" && world.clock.now() < call.reconcilableFrom) {
      early.push(call.reconcilableFrom);
      continue;
    }
    const result = seen.kind === "happened" ? seen.result : null;
    const outcome = await reconcile(world, { run, call: call.call, as, result, by, note: null });
    if (outcome.kind === "accepted") decided.push(as === "succeeded" ? "confirmed" : "repeated");
  }
  const waiting = await giveInputs(world, { run, by, operator, waits: seenRun?.waits ?? [], decided });
  return { decided, unanswered, waiting, reconcilableFrom: early.length === 0 ? null : Math.min(...early) };
}

/** Gives each call what it waits for. Returns the calls for which nothing comes. */
async function giveInputs(
  world: World,
  {
    run,
    by,
    operator,
    waits,
    decided,
  }: {
    readonly run: string;
    readonly by: string;
    readonly operator: Pick<Operator, "input" | "agent">;
    readonly waits: readonly OpenWait[];
    readonly decided: AcceptedKind[];
  },
): Promise<readonly OpenWait[]> {
  const waiting: OpenWait[] = [];
  for (const wait of waits.filter(({ answered }) => !answered)) {
    const given = wait.for === "time" ? undefined : operator.input(wait);
    if (given === undefined) {
      waiting.push(wait);
      continue;
    }
    const { call, asked } = wait;
    const said = { run, by, agent: operator.agent };
    const outcome =
      wait.for === "answer"
        ? await answerQuestion(world, { ...said, call, result: given })
        : await signal(world, { ...said, event: wait.event ?? "", detail: given, id: `${call}-${asked}` });
    if (outcome.kind === "accepted") decided.push("answered");
    if (outcome.kind === "answerInvalid" || outcome.kind === "detailInvalid") {
      throw new Error(`what was given to ${wait.tool} (${call}) does not fit: ${outcome.why}`);
    }
    if (outcome.kind === "interim") {
      throw new Error(`what was given to ${wait.tool} (${call}) does not end its wait: its until returned false`);
    }
  }
  return waiting;
}
