/** What a tool says of its calls: their keys, what an error tells, what follows when nobody knows, and their turn. */
import { type Mutant, off } from "./mutant.ts";

const CALL_KEY = "src/engine/tools/call-key.ts";
const UNKNOWN = "src/engine/tools/unknown-outcome.ts";
const OPEN_CALLS = "src/core/calls/open-calls.ts";
const KEYS_TEST = "test/engine/tools/keys.test.ts";
const RETRY_TEST = "test/engine/tools/retry.test.ts";
const TRY_AGAIN = "src/engine/tools/tool-retry.ts";
const ALONE_TEST = "test/engine/tools/alone.test.ts";

/** One rule that is no race, killed by a test of that file. */
const without = (rule: string, by: string, change: Mutant["changes"][number]): Mutant => ({
  name: `calls: ${rule}`,
  changes: [change],
  killedBy: { kind: "tests", file: by },
});

export const KEYS: readonly Mutant[] = [
  off(59, "the model is told at once", {
    file: "src/core/outstanding.ts",
    from: "left.find((call) => !quiet && view.now >= (call.askFrom ?? 0))",
    to: "left.find(() => true)",
  }),
  off(60, "a call is given up over an answer", {
    file: UNKNOWN,
    from: "unlessStirred: true",
    to: "unlessStirred: false",
  }),
  off(60, "an answer about what was given up is accepted", {
    file: "src/operations/reconcile.ts",
    from: 'action.kind === "toolBack" || action.kind === "tell"',
    to: 'action.kind === "toolBack"',
  }),
  off(61, "no call waits for its turn", {
    file: OPEN_CALLS,
    from: "if (!isNext(call) || call.intent === null) return false;",
    to: "if (call.tries >= 0) return false;",
  }),
  off(74, "any error says that a call failed", {
    file: "src/engine/tools/run-tools.ts",
    from: "run.noticed.isUnanswered(open.call) && !isAnswer",
    to: "run.now < 0 && !isAnswer",
  }),
  without("one key may have other arguments", KEYS_TEST, {
    file: CALL_KEY,
    from: "use.tool !== open.tool || use.argsDigest !== argsDigest",
    to: "use.tool !== open.tool",
  }),
  without("one key may be of two tools", KEYS_TEST, {
    file: CALL_KEY,
    from: "use.tool !== open.tool || use.argsDigest !== argsDigest",
    to: "use.argsDigest !== argsDigest",
  }),
  without("the key of a settled deed is forgotten", KEYS_TEST, {
    file: OPEN_CALLS,
    from: "const isOwn = intent?.business === true &&",
    to: "const isOwn = intent?.business === undefined &&",
  }),
  without("a denied call has used its key", KEYS_TEST, {
    file: OPEN_CALLS,
    from: "(releasedBy !== null || asked > 0)",
    to: "(releasedBy === null || asked >= 0)",
  }),
  without("an edit keeps its key", KEYS_TEST, {
    file: CALL_KEY,
    from: "if (intent?.argsDigest === argsDigest)",
    to: "if (intent !== null)",
  }),
  without("the very same unsafe deed is done twice", KEYS_TEST, {
    file: CALL_KEY,
    from: "EFFECTS[tool.effect].isDeduplicated ? undefined :",
    to: "EFFECTS[tool.effect].actsOutside ? undefined :",
  }),
  without("a key has any characters", KEYS_TEST, { file: CALL_KEY, from: "/^[!-~]+$/", to: "/^[^]*$/" }),
  without("what exists already has failed", "test/operations/exists.test.ts", {
    file: "src/engine/tools/outcome-evidence.ts",
    from: "return result === null ?",
    to: "return result !== undefined ?",
  }),
  without("a run that is to fail goes on", "test/engine/tools/unknown.test.ts", {
    file: UNKNOWN,
    from: 'if (otherwise === "tell")',
    to: 'if (otherwise !== "ask")',
  }),
  without("a call that runs alone begins beside those before it", ALONE_TEST, {
    file: OPEN_CALLS,
    from: "(!isNext(each) || before.includes(each))",
    to: "each === call",
  }),
  without("others begin beside a call that runs alone", ALONE_TEST, {
    file: OPEN_CALLS,
    from: "if (before.some(({ intent }) => intent?.alone === true)) return true;",
    to: "",
  }),
  without("tries that failed are not counted", RETRY_TEST, {
    file: TRY_AGAIN,
    from: "const tries = open.tries + 1;",
    to: "const tries = 1;",
  }),
  without("a call is tried again that its tool gives up", RETRY_TEST, {
    file: TRY_AGAIN,
    from: "if (unwilling !== null)",
    to: 'if (unwilling === "")',
  }),
  without("another try takes time that the run does not have", RETRY_TEST, {
    file: TRY_AGAIN,
    from: "if (!hasTime(run, agent))",
    to: "if (hasTime === undefined)",
  }),
  without("a later epoch tries a probed call without asking", RETRY_TEST, {
    file: TRY_AGAIN,
    from: "const isLate = startsOnce(open) &&",
    to: "const isLate = open.tries < 0 &&",
  }),
  without("a failed call goes out under a fresh key", RETRY_TEST, {
    file: "src/engine/tools/run-tools.ts",
    from: 'key: open.intent?.key ?? ""',
    to: 'key: `${open.intent?.key ?? ""}-${open.tries}`',
  }),
  {
    name: "calls: a probed call is tried again without a release",
    changes: [{ file: TRY_AGAIN, from: "if (!isLate) run.record(", to: "if (tries < 0) run.record(" }],
    killedBy: { kind: "simulation", seeds: 400 },
  },
];
