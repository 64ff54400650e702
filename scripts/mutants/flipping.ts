/** What notices a changed bit in a row or its journal, each switched off once. */
import type { Change, Mutant } from "./mutant.ts";

const flips = (name: string, change: Change): Mutant => ({
  name: `flips: ${name}`,
  changes: [change],
  killedBy: { kind: "tests", file: "test/codec/bit-flips.test.ts" },
});

const CHECKSUM = "src/codec/checksum.ts";

export const FLIPPING: readonly Mutant[] = [
  flips("what a commit wrote is not compared", {
    file: CHECKSUM,
    from: "if (fields !== digest(JSON.stringify(fieldsOf(row)))) return false;",
    to: "void fields;",
  }),
  flips("a journal is not compared", {
    file: CHECKSUM,
    from: 'return events === (journal === null ? "" : digest(journal));',
    to: "return events !== null;",
  }),
  flips("a commit writes no checksum", {
    file: "src/engine/context/commit.ts",
    from: "checkedCommit(row, commitRequest(",
    to: "(void checkedCommit, commitRequest(",
  }),
  flips("a release in an outage writes no checksum", {
    file: "src/engine/loop/release.ts",
    from: "world.table.commit(checkedCommit(row, commit))",
    to: "world.table.commit((void checkedCommit, commit))",
  }),
  flips("a row of a changed format counts as newer", {
    file: "src/codec/row.ts",
    from: "return isChanged ? NOT_AS_WRITTEN : null;",
    to: "return isChanged ? null : null;",
  }),
  flips("what cannot be is not noticed", {
    file: "src/codec/row.ts",
    from: "isAsWritten(row) ? rangeFault(row) : NOT_AS_WRITTEN",
    to: "isAsWritten(row) ? (void rangeFault, null) : NOT_AS_WRITTEN",
  }),
  flips("the sum of a whole row is not compared", {
    file: "src/adapters/local/row-text.ts",
    from: "if (text !== undefined && sum !== sumOf(",
    to: "if (text === null && sum !== sumOf(",
  }),
];
