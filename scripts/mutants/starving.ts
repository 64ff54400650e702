/** One run must not starve others, and no person removes a run that they did not mean: each rule switched off once. */
import { type Change, type Mutant, type Suite, off } from "./mutant.ts";

const SWEEP = "src/maintenance/sweep.ts";
const TURNS = "src/maintenance/mutex-lease.ts";
const RUNS = "src/cli/commands/runs.ts";

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
    file: "src/engine/tools/unknown-outcome.ts",
    from: "open.releasedBy > epoch - claims",
    to: "open.releasedBy > 0",
  }),
  by("settle time of a dead owner's call counted from now", "engine/tools/probe", {
    file: "src/engine/tools/unknown-outcome.ts",
    from: "open.releasedBy > epoch - claims",
    to: "open.releasedBy > epoch",
  }),
  by("a sweep that waits for a store that is away, run by run", "maintenance/sweeper-starved", {
    file: SWEEP,
    from: "unanswered >= UNANSWERED_MAX",
    to: "unanswered >= 9_999",
  }),
  by("unanswered runs that are spread out taken for a store that is away", "maintenance/sweeper-starved", {
    file: SWEEP,
    from: "lost === null ? 0 : unanswered + 1",
    to: "unanswered + (lost === null ? 0 : 1)",
  }),
  by("a sweep without time for the rest of a page begins with it again", "maintenance/sweeper-starved", {
    file: SWEEP,
    from: "if (index > 0 && !hasTime()) return behind;",
    to: "if (index > 0 && !hasTime()) return after;",
  }),
  by("a sweep that is killed saves no cursor", "maintenance/sweeper-starved", {
    file: TURNS,
    from: "saved = take(lapsesAt, after).catch(() => undefined);",
    to: "",
  }),
  by("a row of any shape taken for a row", "adapters/local/damage", {
    file: "src/codec/row.ts",
    from: "if (!found.success) return newerIn(value, run) ?? new RowDamaged(run, faultOf(found.error));",
    to: "if (!found.success) return value as Row;",
  }),
  by("a row taken for that of another run", "maintenance/sweeper-starved", {
    file: "src/codec/row.ts",
    from: 'found.data.run === run ? changeIn(found.data) : "it names another run"',
    to: "null",
  }),
  by("an item that lacks an attribute taken for a row", "adapters/aws/items", {
    file: "src/adapters/aws/item.ts",
    from: "if (read.faulty === null) {",
    to: "if (read.faulty !== undefined) {",
  }),
  by("a write over a damaged row taken for done", "adapters/aws/damage", {
    file: "src/adapters/aws/run-table.ts",
    from: "if (found instanceof RowUnreadable) return found.refused;\n      const row",
    to: 'if (found instanceof RowUnreadable) return { kind: "missing" };\n      const row',
  }),
  by("expiry that ends at a damaged row", "adapters/local/damage", {
    file: "src/adapters/local/removals.ts",
    from: "CASE WHEN json_valid(row) THEN row ->> '$.born' END",
    to: "row ->> '$.born'",
  }),
  by("what belongs to a damaged row taken for orphans", "codec/damaged-row", {
    file: "src/history/clean-up.ts",
    from: "found instanceof RowUnreadable || found?.born === born",
    to: "!(found instanceof RowUnreadable) && found?.born === born",
  }),
  by("a child that ends with its parent's damaged row", "codec/damaged-row", {
    file: "src/engine/loop/step.ts",
    from: "if (parent instanceof RowUnreadable) return false;",
    to: "if (parent instanceof RowUnreadable) return true;",
  }),
  by("a damaged child that keeps the others from being asked to stop", "codec/damaged-row", {
    file: "src/operations/steer.ts",
    from: 'if (row instanceof RowUnreadable) return "unreadable";',
    to: "if (row instanceof RowUnreadable) throw row;",
  }),
  by("a schedule that waits for a run whose row is damaged", "codec/damaged-row", {
    file: "src/maintenance/firing.ts",
    from: "row === null || row instanceof RowUnreadable || hasEnded(row) ? null",
    to: "row === null || (!(row instanceof RowUnreadable) && hasEnded(row)) ? null",
  }),
  by("a message of any shape taken for a message", "adapters/local/damage", {
    file: "src/codec/row.ts",
    from: "if (!found.success) throw new Unreadable(`message",
    to: "if (!found.success) return jsonIn(text) as MessageBody;\n  if (id === null) throw new Unreadable(`message",
  }),
  by("damaged history that ends a wait", "slow/process/cli-verify", {
    file: "src/history/reader.ts",
    from: "lost = piece.error;",
    to: "throw piece.error;",
  }),
  by("a run named by any beginning", "cli/runs", {
    file: RUNS,
    from: "if (typed.length < TYPED_MIN)",
    to: "if (typed.length < 0)",
  }),
  by("the tenant counted as a beginning", "cli/runs", {
    file: RUNS,
    from: "if (typed.length < TYPED_MIN)",
    to: "if (text.length < TYPED_MIN)",
  }),
  by("a purge that asks nobody", "cli/runs", {
    file: "src/cli/commands/purge.ts",
    from: "flags.yes !== true) await confirm(",
    to: "flags.yes === false) await confirm(",
  }),
  by("any answer taken for a yes", "cli/runs", {
    file: "src/cli/commands/purge.ts",
    from: 'answer?.trim().toLowerCase() === "yes"',
    to: "answer !== null",
  }),
  by("a damaged execution that its supervisor meets again and again", "adapters/local/executions", {
    file: "src/adapters/local/executions.ts",
    from: "    endDamaged.run(found.name);\n",
    to: "    if (payload !== null) endDamaged.run(found.name);\n",
  }),
  by("a damaged execution that is woken", "adapters/local/executions", {
    file: "src/adapters/local/executions.ts",
    from: "if (found === null || isOver(found)) return false;",
    to: "if (found === null) return false;",
  }),
  by("a cause that is lost with the supervisor", "adapters/local/causes", {
    file: "src/adapters/local/executions.ts",
    from: "died = :died, cause = :cause,",
    to: "died = :died,",
  }),
  by("a failure that is no death taken for the cause of one", "adapters/local/causes", {
    file: "src/protocol/execution.ts",
    from: "{ died: execution.retry, cause } : deathOf(execution)",
    to: "{ died: execution.retry, cause } : { ...deathOf(execution), cause }",
  }),
  by("a crash loop that hides its cause", "adapters/local/causes", {
    file: "src/engine/loop/beat.ts",
    from: "task.attempt.cause ?? null",
    to: "null",
  }),
  by("a rescue that hides the cause of an end", "maintenance/rescue", {
    file: "src/maintenance/sweep.ts",
    from: "cause: cause ?? null });",
    to: "cause: null });",
  }),
];
