/** Invariants between two states, whatever event happened. A violation stops the run before the commit. */
import { isLacking } from "./policy/holds.ts";
import { waitsForChildren } from "./policy/ending.ts";
import { waitsForChild } from "./calls/held-calls.ts";
import type { Spent } from "./policy/budget.ts";
import { ensure } from "./ensure.ts";
import { isAside, isTerminal } from "./phases.ts";
import type { State } from "./state.ts";
import { isModelOut } from "./policy/model-out.ts";

/** Throws `InvariantViolated` if the step from `before` to `after` breaks an invariant. */
export function assertState(before: State, after: State): void {
  ensure(after.messages.length >= before.messages.length, "messages are lost");
  const meters = Object.keys(before.spent) as (keyof Spent)[];
  ensure(
    meters.every((meter) => (after.spent[meter] ?? 0) >= (before.spent[meter] ?? 0)),
    "spent fell",
  );
  ensure(after.restart >= before.restart, "an attempt is begun again");
  ensure(new Set(after.open.map((call) => call.call)).size === after.open.length, "two open calls share an id");
  ensure(
    !isTerminal(after.phase) || isTerminal(before.phase) || !waitsForChildren(before),
    "a run ends while a child may report",
  );
  ensure(
    after.open.every((call) => call.status !== "started" || (call.intent !== null && call.releasedBy !== null)),
    "a call is started without an intent",
  );
  ensure(
    isAside(after.phase) === (after.pausedFrom !== null),
    "a run that stands aside, and no other, knows where it was",
  );
  ensure(after.phase !== "AwaitingAgent" || isLacking(after), "a run that waits for its agent knows what it waits for");
  ensure(isAside(after.phase) || !isLacking(after), "a run that goes on lacks nothing");
  ensure(after.phase !== "ForceStop" || after.stopsFor !== undefined, "a run that has to stop knows why");
  ensure(!isModelOut(after) || !isTerminal(after.phase), "a run ends while a request to its model is out");
  assertChildren(after);
  ensure((after.phase === "Completed") === (after.result !== null), "a result belongs to a completed run");
  ensure((after.phase === "Failed") === (after.failure !== null), "a failure belongs to a failed run");
}

/** A call waits for exactly one child, and the entry of that child stands. */
function assertChildren({ children, open, ending }: State): void {
  ensure(new Set(children.map(({ id }) => id)).size === children.length, "two children share an id");
  const isAwaited = (call: string): boolean =>
    children.filter((child) => child.call === call && !child.superseded).length === 1;
  ensure(
    ending !== null || open.every((call) => !waitsForChild(call) || isAwaited(call.call)),
    "a call waits for a child without an entry",
  );
}
