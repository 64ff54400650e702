/** Rules about runs that have to stop, and about model calls whose replies nobody has, each switched off once. */
import { type Mutant, off } from "./mutant.ts";

const CLOSE = "src/engine/model/closing-call.ts";
const COMMIT = "src/engine/context/commit.ts";
const REQUEST = "src/engine/context/commit-request.ts";
const LOOPS = "src/core/policy/loops.ts";
const CONTRADICTIONS = "src/core/policy/contradictions.ts";
const RECOVERY = "src/core/policy/recovery.ts";
const WATCHDOG = "src/engine/model/watchdog.ts";

/** Killed by a test of that file. */
const by = (file: string, name: string, change: Mutant["changes"][number]): Mutant => ({
  name,
  changes: [change],
  killedBy: { kind: "tests", file: `test/${file}.test.ts` },
});

export const STOPPING: readonly Mutant[] = [
  off(65, "last words are asked for before it is durable that the run stops", {
    file: CLOSE,
    from: "if (run.hasPending) {",
    to: "if (run.hasPending && run.leftMs < 0) {",
  }),
  off(65, "last words that may have been asked for are asked for again", {
    file: CLOSE,
    from: "if (run.state.closingCallLost)",
    to: "if (run.state.closingCallLost && run.leftMs < 0)",
  }),
  off(66, "a pause forgets what was asked", {
    file: COMMIT,
    from: "if (!isTerminal(run.state.phase)) {",
    to: "if (!isTerminal(run.state.phase) && run.state.pausedFrom === null) {",
  }),
  off(
    67,
    "an invocation that goes on after its commit asks for nothing",
    { file: REQUEST, from: "(isAhead ? 1 : 0)", to: "0" },
    { file: "src/engine/context/pending-work.ts", from: 'asks > 0 ? "marked"', to: 'asks >= 0 ? "marked"' },
  ),
  by("core/loops", "loops: a poll that makes progress is one", {
    file: LOOPS,
    from: "sameValue(one.args, other.args) &&\n  sameValue(one.result, other.result)",
    to: "sameValue(one.args, other.args)",
  }),
  by("core/loops", "loops: what a person says in between does not count", {
    file: LOOPS,
    from: 'source.startsWith("user:") || ',
    to: "",
  }),
  by("core/loops", "loops: calls that take turns run away", {
    file: LOOPS,
    from: "if (alternates(made, BOUNDS.loopCalls - 1)) return null;",
    to: "",
  }),
  by("core/claims", "claims: a fact that changes once is a contradiction", {
    file: CONTRADICTIONS,
    from: "at(one[0]) < at(other[0]) && at(other[0]) < at(one[1]) && at(one[1]) < at(other[1])",
    to: "at(one[0]) < at(other[0])",
  }),
  by("core/claims", "claims: a call that sees the world move contradicts itself", {
    file: CONTRADICTIONS,
    from: "one.tool === other.tool && sameValue(one.args, other.args)",
    to: "one.call === other.call || sameValue(one.result, other.result)",
  }),
  by("core/claims", "claims: what moves on is a contradiction", {
    file: CONTRADICTIONS,
    from: "second !== undefined && sameJson(first, second)",
    to: "second !== undefined",
  }),
  by("engine/model/claims", "claims: the model is told again and again", {
    file: "src/engine/model/contradictions.ts",
    from: "return wasTold(messages) ?",
    to: 'return failure.code === "" ?',
  }),
  by("engine/loop/stops", "stopping: nobody looks for loops", {
    file: "src/engine/model/call-model.ts",
    from: 'const isWatched = agent.loops !== "ignore";',
    to: 'const isWatched = agent.loops === "never";',
  }),
  by("engine/loop/stops", "stopping: last words cost what they like", {
    file: CLOSE,
    from: "if (over !== null)",
    to: 'if (over === "")',
  }),
  by("engine/loop/stops", "stopping: last words may call tools", {
    file: CLOSE,
    from: "mayCall: false",
    to: "mayCall: true",
  }),
  by("engine/loop/stops", "stopping: last words that fail are asked for again", {
    file: RECOVERY,
    from: 'kind === "speechless",',
    to: 'kind === "speechless" && kind === undefined,',
  }),
  by("engine/model/watchdog", "watchdog: it says so at every look", {
    file: WATCHDOG,
    from: " && !entered.isTold",
    to: "",
  }),
  by("engine/model/watchdog", "watchdog: every phase counts as idle", {
    file: WATCHDOG,
    from: "if (PHASES[now].idle)",
    to: "if (PHASES[now].label)",
  }),
  by("engine/model/watchdog", "watchdog: a new phase goes on with the time of the old one", {
    file: WATCHDOG,
    from: "at: clock.now(), isTold: false };\n    const",
    to: "at: entered.at, isTold: entered.isTold };\n    const",
  }),
];
