/** The moves of an invocation that dispatches children, and of the children; see `moves.ts`. */
import { childIn } from "../../../src/core/calls/held-calls.ts";
import type { ChildCommand, Command } from "../../../src/core/commands.ts";
import type { Event } from "../../../src/core/event.ts";
import { NOTHING_SPENT } from "../../../src/core/policy/budget.ts";
import type { View } from "../../../src/core/outstanding.ts";
import { inline } from "../../../src/core/message.ts";
import type { State } from "../../../src/core/state.ts";
import { AT, EVENT } from "../states/states-and-events.ts";
import type { WalkOperation } from "./operation.ts";

const isOfChildren = (command: Command): command is ChildCommand =>
  ["makeChildren", "takeReports", "childTooLate", "continueChildren", "stopChildren"].includes(command.kind);

/** A child of that call: every dispatch has a number of its own. */
const dispatchOf = (call: string, number: number, state: State, view: View): Event => ({
  ...{ kind: "ChildDispatched", at: AT, child: `local-${state.restart}-${call}-${number}`, call, try: number },
  ...{ agent: "worker", grant: { beats: 2 }, deadline: view.now + 60, epoch: view.epoch },
  ...(call.endsWith("4") ? ({ left: true, deadline: null } as const) : {}),
});

const started = (child: string): Event => ({ kind: "ChildStarted", at: AT, child });

/** Either another child is dispatched, or the call fails. */
function nextOf(call: string, state: State, view: View): readonly (readonly Event[])[] {
  const open = state.open.find((each) => each.call === call);
  const number = (open && childIn(open)?.try) ?? 0;
  const failed = { ...EVENT.resulted(call, "gone"), outcome: "failed" } as Event;
  return number < 3 ? [[dispatchOf(call, number + 1, state, view)], [failed]] : [[failed]];
}

function childMoves(command: ChildCommand, state: State, view: View): readonly WalkOperation[] {
  const plain = (...events: readonly Event[]): WalkOperation => ({ events: () => events });
  switch (command.kind) {
    case "makeChildren":
      return [{ performs: true, events: () => command.children.map(started) }];
    case "takeReports":
      return command.calls.flatMap((call) => [
        ...nextOf(call, state, view).map((events) => plain(...events)),
        plain(EVENT.resulted(call, "a memo")),
      ]);
    case "childTooLate": {
      const { call = "" } = state.children.find(({ id }) => id === command.child) ?? {};
      const late: Event = { kind: "ChildSuperseded", at: AT, call, child: command.child, why: "too late" };
      const others = nextOf(call, state, view).map((events) => ({ performs: true, events: () => [late, ...events] }));
      const dispatch = (state.children.find(({ id }) => id === command.child)?.dispatch ?? 1) + 1;
      const goesOn: Event = {
        ...{ kind: "ChildContinued", at: AT, call, child: command.child, dispatch, deadline: view.now + 60 },
        ...{ messages: 2, why: "too late" },
      };
      return dispatch > 3 ? others : [...others, { performs: true, events: () => [goesOn] }];
    }
    case "continueChildren":
      return [
        { performs: true, events: () => command.children.map((child) => ({ kind: "ChildResumed", at: AT, child })) },
      ];
    case "stopChildren":
      return [
        {
          performs: true,
          events: () => command.children.map((child) => ({ kind: "ChildAskedToStop", at: AT, child })),
        },
        ...command.children.map((child): WalkOperation => {
          const { call = "" } = state.children.find(({ id }) => id === child) ?? {};
          return { performs: true, events: () => [{ kind: "ChildNeverMade", at: AT, call, child }] };
        }),
      ];
  }
}

/** Children report in any order, at any time; a second report of a child is an unknown one. */
function childAsides(state: State): readonly WalkOperation[] {
  const made = state.children.filter((child) => child.made === true && child.left !== true).map(({ id }) => id);
  return [...made, ...made, ...(state.messages.length % 9 === 4 ? ["local-other"] : [])].flatMap(
    (child): WalkOperation[] => {
      const message = `child#${child}`;
      if (state.absorbed.includes(message)) return [];
      return [
        {
          events: (_, pick) => {
            const spent = { ...NOTHING_SPENT, beats: 1 + (pick % 3) };
            const status = pick % 4 === 0 ? "failed" : "completed";
            const body = { kind: "child", child, status, value: inline("a memo"), spent } as const;
            const isAwaited = state.children.some(({ id }) => id === child);
            return [
              { kind: "MessageAbsorbed", at: AT, stage: "taken", message, body },
              ...(isAwaited
                ? [{ kind: "BudgetDebited", at: AT, debit: spent, for: "a child run", child } as const]
                : []),
            ];
          },
        },
      ];
    },
  );
}

/** What the random walks of `random-walks.ts` need of this feature. */
export const CHILD_WALK = { isOf: isOfChildren, dispatch: dispatchOf, moves: childMoves, asides: childAsides };
