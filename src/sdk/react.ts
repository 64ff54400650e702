/** The constructor of the usual topology, with its options checked. */
import { type ReactOptions, reactTopology as make } from "../core/topologies/react.ts";
import { checkTopologyOptions } from "./topology-forms.ts";

/** The topology of an agent that loops over model and tools. `maxBeats` is a positive whole number. */
export function react(options: Parameters<typeof make>[0]): ReactOptions {
  checkTopologyOptions("react", options);
  return make(options);
}
