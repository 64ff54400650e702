/** The moves of a topology, for the walks of `arbitrary.ts`. */
import type { EventOf } from "../../../src/core/event.ts";
import type { State } from "../../../src/core/state.ts";
import { eventOf } from "../states/states-and-events.ts";
import type { WalkOperation } from "./operation.ts";

const moved = () => eventOf("TopologyMoved", "AwaitingLLM") as EventOf<"TopologyMoved">;

/** Not in each state, so that some runs have no topology. */
export const sections = ({ messages }: State): readonly WalkOperation[] => {
  const { length } = messages;
  return length % 5 === 3 ? [{ events: () => [{ ...moved(), progress: { length } }] }] : [];
};

export const finished = ({ messages }: State): WalkOperation => {
  const { text: _, section: _opens, ...event } = moved();
  return { events: () => [{ ...event, final: messages.at(-1)?.id ?? "" }] };
};
