/** One run must not starve others, and no person removes a run that they did not mean: each rule switched off once. */
import { type Change, type Mutant, type Suite, off } from "./mutant.ts";

const SWEEP = "src/runner/sweep.ts";
const TURNS = "src/runner/turns.ts";
const RUNS = "src/cli/runs.ts";

const by = (name: string, file: string, change: Change): Mutant => ({
  name,
  changes: [change],
  killedBy: { kind: "tests", file: `test/${file}.test.ts` } satisfies Suite,
});

export const STARVING: readonly Mutant[] = [
  off(79, "a sweep that ends at the first run without an answer", {
    file: SWEEP,
    from: "unanswered >= UNANSWERED_MAX",
    to: "unanswered >= 1",
  }),
  off(79, "a sweep that fails saves no cursor", {
    file: TURNS,
    from: "await take(clock.now(), after).catch(() => undefined);",
    to: "",
  }),
  off(79, "a damaged row that is told of nowhere", {
    file: SWEEP,
    from: "of page.damaged)",
    to: "of page.damaged.slice(1))",
  }),
  off(80, "any old lease taken for that of the invocation that released the call", {
    file: "src/runner/unknown.ts",
    from: "open.releasedBy > epoch - claims",
    to: "open.releasedBy > 0",
  }),
  by("settle time of a dead owner's call counted from now", "unit/runner-probe", {
    file: "src/runner/unknown.ts",
    from: "open.releasedBy > epoch - claims",
    to: "open.releasedBy > epoch",
  }),
  by("a sweep that waits for a store that is away, run by run", "unit/sweeper-starved", {
    file: SWEEP,
    from: "unanswered >= UNANSWERED_MAX",
    to: "unanswered >= 9_999",
  }),
  by("unanswered runs that are spread out taken for a store that is away", "unit/sweeper-starved", {
    file: SWEEP,
    from: "lost === null ? 0 : unanswered + 1",
    to: "unanswered + (lost === null ? 0 : 1)",
  }),
  by("a sweep without time for the rest of a page begins with it again", "unit/sweeper-starved", {
    file: SWEEP,
    from: "if (index > 0 && !hasTime()) return behind;",
    to: "if (index > 0 && !hasTime()) return after;",
  }),
  by("a sweep that is killed saves no cursor", "unit/sweeper-starved", {
    file: TURNS,
    from: "saved = take(lapsesAt, after).catch(() => undefined);",
    to: "",
  }),
  by("a row of any shape taken for a row", "unit/local-damage", {
    file: "src/codec/row.ts",
    from: "if (!found.success) return newerIn(value, run) ?? new RowDamaged(run, faultOf(found.error));",
    to: "if (!found.success) return value as Row;",
  }),
  by("a row taken for that of another run", "unit/sweeper-starved", {
    file: "src/codec/row.ts",
    from: 'found.data.run === run ? changeIn(found.data) : "it names another run"',
    to: "null",
  }),
  by("an item that lacks an attribute taken for a row", "unit/aws-items", {
    file: "src/adapters/aws/item.ts",
    from: "if (read.faulty === null) {",
    to: "if (read.faulty !== undefined) {",
  }),
  by("a write over a damaged row taken for done", "unit/aws-damage", {
    file: "src/adapters/aws/run-table.ts",
    from: "if (found instanceof RowUnreadable) return found.refused;\n      const row",
    to: 'if (found instanceof RowUnreadable) return { kind: "missing" };\n      const row',
  }),
  by("expiry that ends at a damaged row", "unit/local-damage", {
    file: "src/adapters/local/removals.ts",
    from: "CASE WHEN json_valid(row) THEN row ->> '$.born' END",
    to: "row ->> '$.born'",
  }),
  by("what belongs to a damaged row taken for orphans", "unit/damaged-row", {
    file: "src/runner/clean-up.ts",
    from: "found instanceof RowUnreadable || found?.born === born",
    to: "!(found instanceof RowUnreadable) && found?.born === born",
  }),
  by("a child that ends with its parent's damaged row", "unit/damaged-row", {
    file: "src/runner/step.ts",
    from: "if (parent instanceof RowUnreadable) return false;",
    to: "if (parent instanceof RowUnreadable) return true;",
  }),
  by("a damaged child that keeps the others from being asked to stop", "unit/damaged-row", {
    file: "src/runner/steer.ts",
    from: 'if (row instanceof RowUnreadable) return "unreadable";',
    to: "if (row instanceof RowUnreadable) throw row;",
  }),
  by("a schedule that waits for a run whose row is damaged", "unit/damaged-row", {
    file: "src/runner/firing.ts",
    from: "row === null || row instanceof RowUnreadable || hasEnded(row) ? null",
    to: "row === null || (!(row instanceof RowUnreadable) && hasEnded(row)) ? null",
  }),
  by("a message of any shape taken for a message", "unit/local-damage", {
    file: "src/codec/row.ts",
    from: "if (!found.success) throw new Unreadable(`message",
    to: "if (!found.success) return jsonIn(text) as MessageBody;\n  if (id === null) throw new Unreadable(`message",
  }),
  by("damaged history that ends a wait", "process/cli-verify", {
    file: "src/runner/history.ts",
    from: "lost = error;",
    to: "throw error;",
  }),
  by("a run named by any beginning", "unit/cli-runs", {
    file: RUNS,
    from: "if (typed.length < TYPED_MIN)",
    to: "if (typed.length < 0)",
  }),
  by("the tenant counted as a beginning", "unit/cli-runs", {
    file: RUNS,
    from: "if (typed.length < TYPED_MIN)",
    to: "if (text.length < TYPED_MIN)",
  }),
  by("a purge that asks nobody", "unit/cli-runs", {
    file: "src/cli/purge.ts",
    from: "flags.yes !== true) await confirm(",
    to: "flags.yes === false) await confirm(",
  }),
  by("any answer taken for a yes", "unit/cli-runs", {
    file: "src/cli/purge.ts",
    from: 'answer?.trim().toLowerCase() === "yes"',
    to: "answer !== null",
  }),
  by("a damaged execution that its supervisor meets again and again", "unit/local-executions", {
    file: "src/adapters/local/executions.ts",
    from: "    endDamaged.run(found.name);\n",
    to: "    if (payload !== null) endDamaged.run(found.name);\n",
  }),
  by("a damaged execution that is woken", "unit/local-executions", {
    file: "src/adapters/local/executions.ts",
    from: "if (found === null || isOver(found)) return false;",
    to: "if (found === null) return false;",
  }),
  by("a cause that is lost with the supervisor", "unit/local-causes", {
    file: "src/adapters/local/executions.ts",
    from: "died = :died, cause = :cause,",
    to: "died = :died,",
  }),
  by("a failure that is no death taken for the cause of one", "unit/local-causes", {
    file: "src/protocol/execution.ts",
    from: "{ died: execution.retry, cause } : deathOf(execution)",
    to: "{ died: execution.retry, cause } : { ...deathOf(execution), cause }",
  }),
  by("a crash loop that hides its cause", "unit/local-causes", {
    file: "src/runner/beat.ts",
    from: "task.attempt.cause ?? null",
    to: "null",
  }),
  by("a rescue that hides the cause of an end", "unit/rescue", {
    file: "src/runner/sweep.ts",
    from: "cause: cause ?? null });",
    to: "cause: null });",
  }),
];
