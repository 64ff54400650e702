/** Rules about runs that undo what they did, each switched off once. */
import { type Mutant, off } from "./mutant.ts";

const ACT = "src/engine/tools/run-tools.ts";
const SAGA = "src/core/calls/saga.ts";
const CALLS = "src/core/calls/open-calls.ts";
const UNDO = "src/engine/tools/compensation.ts";

/** Killed by that test of `test/FILE`. */
const by = (file: string, test: string, name: string, change: Mutant["changes"][number]): Mutant => ({
  name: `saga: ${name}`,
  changes: [change],
  killedBy: { kind: "tests", file: `test/${file}.test.ts`, test },
});

export const SAGAS: readonly Mutant[] = [
  off(
    68,
    "undo in forward order",
    { file: "src/core/outstanding.ts", from: "undo.at(-1) ??", to: "undo[0] ??" },
    { file: SAGA, from: "state.undo?.at(-1)?.call === call", to: "state.undo?.[0]?.call === call" },
  ),
  off(68, "an effect that was undone is undone again", {
    file: CALLS,
    from: "filter((each) => each.call !== undoes)",
    to: "filter((each) => each.call !== undoes || state.messages.length % 2 === 0)",
  }),
  off(69, "what may still land is undone at once", {
    file: "src/core/outstanding.ts",
    from: "return now < until ?",
    to: "return until < 0 ?",
  }),
  off(69, "what failed when it was tried again never happened", {
    file: ACT,
    from: "run.noticed.isUnanswered(open.call) && !isAnswer",
    to: "run.now < 0 && !isAnswer",
  }),
  off(75, "a cancel is requested before the wish to undo is delivered", {
    file: "src/operations/compensate.ts",
    from: "  const delivered = await deliver(",
    to: '  if (next === "cancel") await request(world, { run: row.run, want: "cancel" });\n  const delivered = await deliver(',
  }),
  by("engine/tools/saga", "released when somebody cancels", "a person is asked about what is about to be undone", {
    file: "src/engine/loop/terminal-commit.ts",
    from: "export function commitDecided(run: ActiveRun, ending: Ending): Promise<Next> {\n",
    to: 'export function commitDecided(run: ActiveRun, ending: Ending): Promise<Next> {\n  for (const { call, status } of run.state.open)\n    if (status === "started") run.record({ kind: "ToolOutcomeUnknown", at: run.now, call, why: "over", askFrom: run.now });\n',
  }),
  by("engine/tools/saga", "no time is left", "an undo for which no time is left is over", {
    file: ACT,
    from: "    if (undoes !== undefined) {\n",
    to: "    if (undoes !== undefined && open.tries < 0) {\n",
  }),
  off(75, "an end does not hear that somebody wants it undone", {
    file: "src/engine/loop/terminal-commit.ts",
    from: "run.owed()[0]?.kind !== owed || !isAll",
    to: "!isAll",
  }),
  by("engine/tools/saga", "key of an earlier attempt", "a business key is made without its attempt", {
    file: "src/engine/tools/call-key.ts",
    from: "ownKey(tool, { args, attempt })",
    to: "ownKey(tool, { args, attempt: 1 })",
  }),
  by("engine/tools/saga", "kills its process", "it is not bounded by takeovers", {
    file: "src/engine/loop/beat.ts",
    from: "(run.state.ending === null || undoOwed(run.state) !== null)",
    to: "run.state.ending === null",
  }),
  by("core/standing", "unless its call never happened", "what failed counts as an effect that stands", {
    file: "src/core/calls/standing.ts",
    from: 'part.outcome !== "failed"',
    to: "part.outcome.length > 0",
  }),
  by("core/standing", "unless it can still be undone", "what can be undone counts as an effect that stands", {
    file: "src/core/calls/standing.ts",
    from: "!canBeUndone.has(of.call) && ",
    to: "",
  }),
  by("engine/tools/undo", "undoes what it did", "a restart keeps what can be undone", {
    file: SAGA,
    from: 'undo.length > 0 ? "undo"',
    to: 'undo.length > 1 ? "undo"',
  }),
  by("engine/tools/saga", "released when somebody cancels", "a cancel forgets an undo that was released", {
    file: "src/engine/loop/operator-requests.ts",
    from: "undoes === undefined && status",
    to: "status",
  }),
  by("engine/tools/undo", "leaves everything", "the agent's leave is ignored", {
    file: UNDO,
    from: 'wanted === "leave" && !isAsked',
    to: 'wanted === "leave" && isAsked && !isAsked',
  }),
  by("engine/tools/saga", "key of an earlier attempt", "the key of an undone deed is used again", {
    file: "src/engine/tools/call-key.ts",
    from: "tool.undo === null ?",
    to: "tool.undo !== undefined ?",
  }),
  by(
    "engine/tools/saga",
    "wants it undone before another",
    "a later wish to begin again overrides one to be cancelled",
    {
      file: CALLS,
      from: 'state.compensate?.next === "cancel" ? state :',
      to: 'state.compensate?.by === "" ? state :',
    },
  ),
  by("engine/tools/saga", "is applied before", "an answer that was applied at once is called stale", {
    file: "src/operations/reconcile.ts",
    from: "if (isApplied) return false;",
    to: "",
  }),
  {
    name: "saga: a run that is paused begins to undo without its agent",
    changes: [
      {
        file: "src/core/outstanding.ts",
        from: 'if (state.phase === "Paused") return',
        to: 'if (state.phase === "Paused" && undo !== "compensate") return',
      },
    ],
    killedBy: { kind: "tests", file: "test/property/saga.test.ts", test: "paused before it begins" },
  },
];
