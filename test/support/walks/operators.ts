/** What operators and deploys may do to a run at any time, for the walks of `random-walks.ts`. */
import { accepts } from "../../../src/features/compose.ts";
import { upgradesOf } from "../../../src/core/policy/holds.ts";
import { gateIn } from "../../../src/core/calls/held-calls.ts";
import type { Event } from "../../../src/core/event.ts";
import { heldTexts } from "../../../src/core/policy/model-out.ts";
import type { View } from "../../../src/core/outstanding.ts";
import { MENDS_NAMES } from "../../../src/core/policy/mends.ts";
import type { State } from "../../../src/core/state.ts";
import { multibyteText } from "../values/multibyte-text.ts";
import { AT, answer, decided, decision, messageReceived } from "../states/states-and-events.ts";
import { childAsides } from "./child-operations.ts";
import { undoRequests } from "./compensations.ts";
import { type WalkOperation, operation } from "./operation.ts";
import { failureIn } from "./redrives.ts";
import { inputAsides } from "./wait-operations.ts";
import { acceptUpgradeOperations } from "./upgrades.ts";

/** The operations that are possible whatever is outstanding. */
export function operatorOperations(state: State, { pause }: View): readonly WalkOperation[] {
  const unanswered = state.open.filter((open) => open.status === "unknown" && open.answer === null);
  const undecided = state.open.map(gateIn).flatMap((gate) => (gate?.decision === null ? [gate.gate] : []));
  return [
    operation({ kind: "AgentChanged", at: AT, from: state.agentVersion, to: `${state.agentVersion}.1` }),
    operation(decided({ kind: "takeover", from: "somebody", takeovers: 1 })),
    ...(accepts(state.phase, "RunPaused") && upgradesOf(state).questions < 2 && state.messages.length % 8 === 3
      ? [holdForAgent]
      : []),
    ...acceptUpgradeOperations(state),
    ...undecided.map((gate): WalkOperation => ({ events: (_, pick) => [decidedOn(gate, state, pick)] })),
    ...unanswered.map(({ call }): WalkOperation => ({ events: (_, pick) => [answered(call, state, pick)] })),
    {
      events: (size, pick) => [
        messageReceived(
          multibyteText(size, pick),
          `${state.messages.length}-${state.absorbed.length}-${heldTexts(state).length}`,
        ),
      ],
    },
    ...childAsides(state),
    ...inputAsides(state),
    ...(state.messages.length % 8 === 5 ? [operation(ignored)] : []),
    { events: () => [], asks: { pause: !pause } },
    ...undoRequests(state),
    ...(pause ? [{ events: () => [], asks: { pause: false } }] : []),
    ...state.absorbed.map((message) => operation({ kind: "MessageAbsorbed", at: AT, stage: "cleared", message })),
    ...(state.ending === null && state.messages.length > 8
      ? [operation(decided({ kind: "abort", failure: failureIn(state) })), { events: () => [], asks: { cancel: true } }]
      : []),
  ];
}

/**
 * The deployed agent does not fit the run, or an operator has to mend what fails, so its invocation does nothing more. Calls that it released stay open, and
 * belong to a lost invocation from here on.
 */
const holdForAgent: WalkOperation = {
  events: (_, pick) => [decided(HOLDS[pick % HOLDS.length] as (typeof HOLDS)[number])],
  releases: true,
};

const TO_MEND = { code: "IntrinsicChanged", message: "the tool t changed JSON.parse" };
const HOLDS = [
  { kind: "hold", to: null },
  { kind: "hold", to: "next" },
  ...MENDS_NAMES.map((mends) => ({ kind: "block", mends, failure: TO_MEND }) as const),
] as const;

const ignored: Event = { kind: "DecisionIgnored", at: AT, gate: "c1-gate", as: "deny", by: "ada", why: "it ended" };

function decidedOn(gate: string, state: State, pick: number): Event {
  const as = (["approve", "deny", "edit"] as const)[pick % 3] ?? "deny";
  const ids = Array.from({ length: state.absorbed.length + 1 }, (_, index) => `gate#${gate}#${index}`);
  const message = ids.find((id) => !state.absorbed.includes(id)) ?? "";
  // Now and then the decision is about a gate that is not open.
  const meant = pick % 5 === 0 ? `${gate}-other` : gate;
  const body = { kind: "decision", gate: meant, decision: decision(as, multibyteText(9, pick)) } as const;
  return { kind: "MessageAbsorbed", at: AT, stage: "taken", message, body };
}

const WAYS = ["succeeded", "failed", "retry"] as const;

function answered(call: string, state: State, pick: number): Event {
  const question = state.open.find((open) => open.call === call)?.timesUnknown ?? 0;
  const open = state.open.find((each) => each.call === call);
  const ways = open?.intent?.undo === true ? (["compensate", "failed", "retry"] as const) : WAYS;
  const given = answer(ways[pick % 3] ?? "retry");
  const body = { kind: "reconcile", call, question, answer: given } as const;
  const ids = Array.from({ length: state.absorbed.length + 1 }, (_, index) => `reconcile#${call}#${question}#${index}`);
  const message = ids.find((id) => !state.absorbed.includes(id)) ?? "";
  // Now and then the answer is to a question that is not open.
  const said = pick % 5 === 0 ? { ...body, question: 99 } : body;
  return { kind: "MessageAbsorbed", at: AT, stage: "taken", message, body: said };
}
