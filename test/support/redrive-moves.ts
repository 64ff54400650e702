/** How a run fails for a reason of infrastructure, and goes on again, for the walks of `arbitrary.ts`. */
import type { Event, Failure } from "../../src/core/event.ts";
import { failedFrom, redriveRefusal } from "../../src/core/policy/redrive.ts";
import type { State } from "../../src/core/state.ts";
import { AT, FAILURE, lostSight, redriven } from "./build.ts";

/** Half of the runs fail for such a reason, also those that have no message yet. */
export const failureIn = ({ messages }: State): Failure =>
  messages.length % 4 > 1 ? FAILURE : { code: "CrashLoop", message: "its processes died" };

/** The end that was decided, as the runner records it: what may be running is called unknown before. */
export function failedEnd(state: State, failure: Failure): readonly Event[] {
  const from = failedFrom(state);
  if (from === null) return [{ kind: "RunEnded", at: AT, status: "failed", failure }];
  return [
    ...from.started.map((call) => lostSight(call)),
    { kind: "RunEnded", at: AT, status: "failed", failure, from },
  ];
}

/** Somebody redrives it; null where that is refused. */
export const redriveOf = (state: State): Event | null =>
  redriveRefusal(state) === null ? { ...redriven, failure: state.failure ?? FAILURE } : null;
