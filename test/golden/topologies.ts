/** Moments of runs with a topology besides ReAct, and of runs that remember a first signal, which no phase shows. */
import { fold, foldAll } from "../../src/features/compose.ts";
import type { EventOf } from "../../src/core/event.ts";
import { AT, FAILURE, IN_PHASE, eventOf, textPart, EVENT } from "../support/states/states-and-events.ts";
import type { Moment } from "./moment.ts";

const begun = fold(IN_PHASE.AwaitingLLM(), eventOf("TopologyMoved", "AwaitingLLM"));
const answered = fold(begun, EVENT.replied([textPart("a draft")]));
const finished: EventOf<"TopologyMoved"> = {
  ...{ kind: "TopologyMoved", at: AT, topology: "pipeline", progress: { cursor: 1 }, role: "write" },
  ...{ where: "stage 2 of 2, write", note: "finished", final: answered.messages.at(-1)?.id ?? "" },
};
const signalled = {
  kind: "CrackSignalled",
  at: AT,
  crack: "runaway",
  why: "32 of 40 beats are used",
  times: 1,
  section: 0,
} as const;

export const TOPOLOGY_MOMENTS: readonly Moment[] = [
  {
    moment: "a section is open",
    state: begun,
    events: [EVENT.replied([textPart("a draft")]), EVENT.messageReceived("shorter, please"), signalled, EVENT.paused],
  },
  {
    moment: "its reply is judged",
    state: answered,
    events: [finished, EVENT.decided({ kind: "nudge", text: "go on" })],
  },
  {
    moment: "the topology has finished",
    state: fold(answered, finished),
    events: [EVENT.messageReceived("one more thing"), EVENT.paused],
  },
  {
    moment: "a signal was given",
    state: foldAll(IN_PHASE.AwaitingLLM(), [signalled]),
    events: [{ ...signalled, times: 2 }, EVENT.decided({ kind: "abort", failure: FAILURE })],
  },
];
