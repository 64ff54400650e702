/** The functions of agents and servers that may return a promise, by their members in `src/ports`. */

interface UserFunction {
  readonly member: string;
  /** Where it is played in a run while it never answers (`test/engine/loop/never-settles.test.ts`). */
  readonly played: string;
}

export const MAY_BE_ASYNCHRONOUS: readonly UserFunction[] = [
  { member: "agentOf", played: "the module of the agent" },
  { member: "list", played: "the list of a server" },
  { member: "approval", played: "the approval policy of a tool" },
  { member: "before", played: "the before-image of a tool" },
  { member: "run", played: "a tool" },
  { member: "probe", played: "the probe of a tool" },
  { member: "holds", played: "a check" },
  { member: "functions", played: "a function of the topology" },
  { member: "choose", played: "what the agent chooses for its model" },
  { member: "recall", played: "recall of the memory" },
  { member: "learn", played: "learn of the memory" },
  { member: "ask", played: "the model" },
  { member: "submit", played: "the start of a model job" },
  { member: "poll", played: "the poll of a model job" },
  { member: "find", played: "the search for a model job" },
  { member: "cancel", played: "the cancel of a model job" },
];
