/** What a topology may know, for tests of its moves. */
import type { Context } from "../../../src/core/topologies/topology.ts";
import { AT } from "./states-and-events.ts";

export const context = (change: Partial<Context> = {}): Context => ({
  ...{ now: AT, beats: { used: 1, max: 40 }, sectionBeats: 1, resumed: false, failures: [], effects: [] },
  newest: "m1",
  textOf: (message) => `text of ${message}`,
  results: [],
  argsOf: (call) => `{"of":"${call}"}`,
  resultOf: (call) => `memo of ${call}`,
  wasSignalled: () => false,
  ...change,
});
