/** Calls that run side by side, and what they return and throw: each rule switched off once. */
import { type Mutant, off } from "./mutant.ts";

const BATCH = "src/engine/tools/batch.ts";
const ACT = "src/engine/tools/run-tools.ts";
const DIAL = "src/core/policy/dial.ts";
const TO_JSON = "src/codec/to-json.ts";
const BATCH_TEST = "test/engine/tools/batch.test.ts";
const FAILS_TEST = "test/engine/tools/batch-fails.test.ts";
const OUTPUT_TEST = "test/engine/tools/output.test.ts";
const HOSTILE_TEST = "test/engine/tools/hostile.test.ts";
const LAWS = "test/property/hostile.test.ts";
const VALUES_TEST = "test/codec/values.test.ts";

const without = (rule: string, by: string, change: Mutant["changes"][number]): Mutant => ({
  name: `results: ${rule}`,
  changes: [change],
  killedBy: { kind: "tests", file: by },
});

export const BATCHES: readonly Mutant[] = [
  off(76, "no result is committed while another call runs", {
    file: "src/engine/tools/deferred-commit.ts",
    from: 'crashRate: rateIn(row) }) === "force"',
    to: 'crashRate: rateIn(row) }) === "never"',
  }),
  off(77, "an error leaves a batch while its calls run", {
    file: BATCH,
    from: "await Promise.allSettled(running);",
    to: "",
  }),
  off(78, "a process lives on although a call in it may still act", {
    file: "src/engine/loop/beat.ts",
    from: "invocation.mustEnd?.();",
    to: "void 0;",
  }),
  {
    name: "results: a death between two results leaves a question about both",
    changes: [{ file: DIAL, from: 'if (startsOnce) return "force";', to: 'if (startsOnce) return "merge";' }],
    killedBy: { kind: "tests", file: "test/slow/crash/crash.test.ts", test: "leaves no question" },
  },
  {
    name: "results: a call acts in a later invocation of its warm process",
    changes: [{ file: "src/engine/loop/beat.ts", from: "invocation.mustEnd?.();", to: "void 0;" }],
    killedBy: { kind: "tests", file: "test/engine/tools/batch-fails.test.ts" },
  },
  without("two commits are under way at once", BATCH_TEST, {
    file: BATCH,
    from: "mayCommit = await commitBetween(run);",
    to: "void commitBetween(run);",
  }),
  without("results are recorded as they come, and not in the order of the reply", BATCH_TEST, {
    file: BATCH,
    from: "calls.flatMap((call) => waiting.filter((each) => each.call === call))",
    to: "waiting.toReversed()",
  }),
  without("a state that is too large ends the batch", FAILS_TEST, {
    file: BATCH,
    from: "if (!(error instanceof StateTooLarge)) throw error;",
    to: "if (error !== null) throw error;",
  }),
  without("a slow keyed call is repeated", BATCH_TEST, {
    file: DIAL,
    from: 'crashRate * tookMs < COMMIT_COST.ms ? "merge" : "force"',
    to: '"merge"',
  }),
  without("each keyed call is committed", BATCH_TEST, {
    file: DIAL,
    from: 'crashRate * tookMs < COMMIT_COST.ms ? "merge" : "force"',
    to: '"force"',
  }),
  without("a call outlives its timeout unnoticed while a commit fails", FAILS_TEST, {
    file: BATCH,
    from: 'if (ended.kind === "silent" && ended.outlived)',
    to: 'if (ended.kind === "silent" && ended.outlived && calls.length === 1)',
  }),
  without("a schema that throws before a call starts ends the invocation", FAILS_TEST, {
    file: ACT,
    from: 'return { kind: "unstarted", why: sentenceOf(error) };',
    to: "throw error;",
  }),
  without("a call that was not started again has failed, whatever its earlier try did", FAILS_TEST, {
    file: ACT,
    from: "|| isUnsure) return recordSilence",
    to: ") return recordSilence",
  }),
  without("a line without words fails its call", FAILS_TEST, {
    file: ACT,
    from: "    } catch {\n      // A line",
    to: "    } finally {\n      // A line",
  }),
  without("a result that does not fit is kept as it is", OUTPUT_TEST, {
    file: "src/engine/tools/tool-result.ts",
    from: "output === null ?",
    to: "output !== undefined ?",
  }),
  without("a result is kept as it came, and not as it was parsed", OUTPUT_TEST, {
    file: "src/engine/tools/tool-result.ts",
    from: "asJson(parsed.output)",
    to: "asJson(returned)",
  }),
  without("a call whose result is lost has failed", OUTPUT_TEST, {
    file: ACT,
    from: 'EFFECTS[tool.effect].actsOutside ? "succeeded" : "failed"',
    to: '"failed" as string as "succeeded"',
  }),
  without("values may be nested as deep as they like", LAWS, {
    file: TO_JSON,
    from: "this.#open.length >= SIZES.jsonDepthMax",
    to: "this.#open.length >= 90_000",
  }),
  without("inputs may be nested as deep as they like", HOSTILE_TEST, {
    file: "src/operations/start.ts",
    from: "const given = asJson(input);",
    to: "const given = { ok: true, json: input, why: '' } as const;",
  }),
  without("a gap in a list is nothing", VALUES_TEST, {
    file: TO_JSON,
    from: "if (!isDense)",
    to: "if (list.length < 0)",
  }),
  without("a date without a time is null", VALUES_TEST, {
    file: TO_JSON,
    from: "if (isDateWithoutTime(given))",
    to: 'if (typeof given === "bigint")',
  }),
  without("a name that is a symbol is left out", VALUES_TEST, {
    file: TO_JSON,
    from: "if (symbols.some(",
    to: "if (symbols.length > 9 && symbols.some(",
  }),
  without("an object that shows nothing is empty", VALUES_TEST, {
    file: TO_JSON,
    from: "const isBare = names.length === 0 &&",
    to: "const isBare = names.length < 0 &&",
  }),
  without("a hostile value that a tool returned is awaited", LAWS, {
    file: "src/engine/tools/tool-attempt.ts",
    from: "isThenable(given) ? await given : given",
    to: "await given",
  }),
  without("an error is asked for its name, whatever it is", LAWS, {
    file: "src/engine/tools/tool-attempt.ts",
    from: 'return isErrorNamed(error, "OutcomeUnknown")',
    to: 'return (error as Error).name === "OutcomeUnknown"',
  }),
  without("a model's error is read, whatever it is", LAWS, {
    file: "src/providers/model-failure.ts",
    from: "  try {\n    return readFailure(error, secret);",
    to: "  if (typeof secret === 'string') return readFailure(error, secret);\n  try {\n    return readFailure(error, secret);",
  }),
  without("a probe that says nothing has said that nothing happened", HOSTILE_TEST, {
    file: "src/engine/tools/probe.ts",
    from: "    default:\n      return unsure(",
    to: '    default:\n      if (given !== null) return { kind: "absent" };\n      return unsure(',
  }),
  without("no audit names work that a tool leaves behind", "test/doctor/audit.test.ts", {
    file: "src/doctor/audit-missing.ts",
    from: "(leavesWork(run, undo?.run) ? [name] : [])",
    to: "(leavesWork(run, undo?.run) ? [] : [name]).slice(1)",
  }),
];
