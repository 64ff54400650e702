/** Operations of an infrastructure failure and a redrive, for the walks of `random-walks.ts`. */
import type { Event, Failure } from "../../../src/core/event.ts";
import { redriveRefusal } from "../../../src/features/redrive/core.ts";
import type { State } from "../../../src/core/state.ts";
import { FAILURE, EVENT } from "../states/states-and-events.ts";

/** Half of the runs fail for such a reason, including runs without any message. */
export const failureIn = ({ messages }: State): Failure =>
  messages.length % 4 > 1 ? FAILURE : { code: "CrashLoop", message: "its processes died" };

/** An operator redrives it; null if that is refused. */
export const redriveOf = (state: State): Event | null =>
  redriveRefusal(state) === null ? { ...EVENT.redriven, failure: state.failure ?? FAILURE } : null;
