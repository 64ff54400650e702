/** The operations of an invocation that compensates a run; see `operations.ts`. */
import type { Command } from "../../../src/core/commands.ts";
import type { Event } from "../../../src/core/event.ts";
import { inline } from "../../../src/core/message.ts";
import type { View } from "../../../src/core/outstanding.ts";
import type { State } from "../../../src/core/state.ts";
import { AT, FAILURE, EVENT } from "../states/states-and-events.ts";
import type { WalkOperation } from "./operation.ts";

export type SagaCommand = Extract<Command, { readonly kind: "compensate" | "undo" | "conclude" | "startOver" }>;

const isOfSaga = (command: Command): command is SagaCommand =>
  ["compensate", "undo", "conclude", "startOver"].includes(command.kind);

const left = EVENT.decided({ kind: "abort", failure: FAILURE, next: "leave" });

function undoEvents(command: SagaCommand, state: State, view: View): readonly (readonly Event[])[] {
  switch (command.kind) {
    case "compensate": {
      const running = state.open.filter(({ status, undoes }) => status === "started" && undoes === undefined);
      const unknown = running.map(({ call }) => EVENT.outcomeLost(call, Math.max(view.now, view.effectsSettleAt) + 30));
      return [
        [...unknown, EVENT.decided({ kind: "compensate" })],
        [...unknown, EVENT.decided({ kind: "compensate" })],
        [left],
      ];
    }
    case "undo":
      return [[EVENT.decided({ kind: "undo", call: command.call })]];
    case "conclude":
      return state.restart > 2 ? [[left]] : [[left], [EVENT.decided({ kind: "restart", text: "Begin again." })]];
    case "startOver":
      return [[EVENT.decided({ kind: "abort", failure: FAILURE, restarts: true })]];
  }
}

const undone = (call: string): Event => ({
  ...{ kind: "ToolCompensated", at: AT, call, value: inline("undone"), evidence: "the undo returned" },
});

/** The outcome of an undo attempt. */
function undoOutcomes(call: string, of: { isUnsafe: boolean; again: Event; view: View }): readonly WalkOperation[] {
  const asks = of.isUnsafe ? EVENT.outcomeLost(call, of.view.now + 30) : of.again;
  return [undone(call), undone(call), undone(call), asks, EVENT.outcomeLost(call, of.view.now)].map((event) => ({
    performs: true,
    events: () => [event],
  }));
}

/** Now and then an operator requests compensation. */
const undoRequests = (state: State): readonly WalkOperation[] =>
  state.messages.length % 4 === 3 && state.ending === null && state.restart < 3
    ? [0, 1, 2].map((nth): WalkOperation => ({ events: (_, pick) => [wantsUndo(state, pick + nth)] }))
    : [];

function wantsUndo(state: State, pick: number): Event {
  const next = pick % 2 === 0 ? "cancel" : "restart";
  const ids = Array.from({ length: state.absorbed.length + 1 }, (_, index) => `${next}#${state.restart}#${index}`);
  const message = ids.find((id) => !state.absorbed.includes(id)) ?? "";
  const body = { kind: "compensate", next, by: "ada" } as const;
  return { kind: "MessageAbsorbed", at: AT, stage: "taken", message, body };
}

/** What the random walks of `random-walks.ts` need of this feature. */
export const SAGA_WALK = { isOf: isOfSaga, events: undoEvents, outcomes: undoOutcomes, requests: undoRequests };
