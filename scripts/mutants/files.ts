/** The files of an embedded store: damage and lost commits are found before anything goes on with them. */
import type { Change, Mutant } from "./mutant.ts";

const without = (name: string, file: string, ...changes: readonly Change[]): Mutant => ({
  name: `files: ${name}`,
  changes,
  killedBy: { kind: "tests", file },
});

const ROLLBACK = "test/slow/process/store-rollback.test.ts";
const IN_PLACE = "src/adapters/local/in-place.ts";

export const FILES: readonly Mutant[] = [
  without("a store that lost commits between two processes is opened", ROLLBACK, {
    file: "src/adapters/local/database.ts",
    from: 'if (lacks > 0 && check !== "none")',
    to: "if (lacks < 0)",
  }),
  without("commits are not counted", ROLLBACK, {
    file: IN_PLACE,
    from: 'if (changes.get()?.["changes"] !== before)',
    to: "if (before === null)",
  }),
  without("a write-ahead log that was cut is written to", ROLLBACK, {
    file: IN_PLACE,
    from: "bytes < logBytes && !holds(file, seen)",
    to: "bytes < 0",
  }),
  without("a write-ahead log without a name is written to", ROLLBACK, {
    file: IN_PLACE,
    from: "if (log?.is !== opened.log?.is)",
    to: "if (log?.is === null)",
  }),
  without("a supervisor goes on after a worker met damage", ROLLBACK, {
    file: "src/adapters/local/driver.ts",
    from: "if (unusable === null) return;",
    to: "return;",
  }),
  without("a file is opened without a check", "test/adapters/local/damaged-file.test.ts", {
    file: "src/adapters/local/integrity.ts",
    from: "if (fault !== undefined) throw",
    to: "if (fault === null) throw",
  }),
  without("an execution with another checksum is driven", "test/adapters/local/damaged-file.test.ts", {
    file: "src/adapters/local/executions.ts",
    from: "sum === null || sum === sumOf(found)",
    to: "sum === null || sum !== null",
  }),
  without("a message with another checksum is read", "test/adapters/local/damage.test.ts", {
    file: "src/adapters/local/messages.ts",
    from: "if (sum === null || sum === sumOf({ id, sentAt, body })) return message;",
    to: "if (sum !== undefined) return message;",
  }),
];
