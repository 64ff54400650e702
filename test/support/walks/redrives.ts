/** Operations of an infrastructure failure and a redrive, for the walks of `random-walks.ts`. */
import { failedFrom } from "../../../src/core/policy/infrastructure.ts";
import type { Event, Failure } from "../../../src/core/event.ts";
import { redriveRefusal } from "../../../src/features/redrive/core.ts";
import type { State } from "../../../src/core/state.ts";
import { AT, FAILURE, outcomeLost, redriven } from "../states/states-and-events.ts";

/** Half of the runs fail for such a reason, including runs without any message. */
export const failureIn = ({ messages }: State): Failure =>
  messages.length % 4 > 1 ? FAILURE : { code: "CrashLoop", message: "its processes died" };

/** Records the decided end like the runner: calls that may be running become unknown first. */
export function failedEnd(state: State, failure: Failure): readonly Event[] {
  const from = failedFrom(state);
  if (from === null) return [{ kind: "RunEnded", at: AT, status: "failed", failure }];
  return [
    ...from.started.map((call) => outcomeLost(call)),
    { kind: "RunEnded", at: AT, status: "failed", failure, from },
  ];
}

/** An operator redrives it; null if that is refused. */
export const redriveOf = (state: State): Event | null =>
  redriveRefusal(state) === null ? { ...redriven, failure: state.failure ?? FAILURE } : null;
