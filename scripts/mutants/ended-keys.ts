/** Keys of ended runs: what keeps a late retry from doing the work again. */
import { type Mutant, off } from "./mutant.ts";

const ENDING = "src/engine/loop/terminal-commit.ts";
const TOMBSTONE = "src/protocol/tombstone.ts";
const REMOVAL = "src/protocol/row-removal.ts";
const PURGE = "src/operations/purge.ts";
const KEPT = "test/engine/loop/kept-keys.test.ts";
const PURE = "test/protocol/tombstone.test.ts";

/** One rule that is no race, killed by a test of that file. */
const without = (rule: string, by: string, change: Mutant["changes"][number]): Mutant => ({
  ...{ name: `ended keys: ${rule}`, changes: [change], killedBy: { kind: "tests", file: by } },
});

export const ENDED_KEYS: readonly Mutant[] = [
  off(81, "an end that tells itself keeps no key", {
    file: ENDING,
    from: "if (expiresAtSec !== null) {",
    to: "if (expiresAtSec === -1) {",
  }),
  off(82, "a creation asks for rows alone", {
    file: REMOVAL,
    from: "tombstone !== null && isKept(tombstone, at)",
    to: "tombstone !== null && isKept(tombstone, Infinity)",
  }),
  off(83, "the last tombstone stands", { file: TOMBSTONE, from: "return isNewer ? next : found;", to: "return next;" }),
  without("a told end keeps no key", KEPT, {
    file: ENDING,
    from: "await keepKeyOfEnded(world, row, expiresAtSec);",
    to: "",
  }),
  {
    name: "ended keys: a key is kept after the commit that tells the end",
    changes: [
      { file: ENDING, from: "if (expiresAtSec !== null) {", to: "const keeps = async () => {" },
      {
        file: ENDING,
        from: "status: end.status, at: run.now }, expiresAtSec });\n  }",
        to: "status: end.status, at: run.now }, expiresAtSec: expiresAtSec ?? 0 });\n  };",
      },
      {
        file: ENDING,
        from: 'if (outcome === "stirred") run.restore(before);',
        to: 'if (outcome === "stirred") run.restore(before);\n  else await keeps();',
      },
    ],
    killedBy: { kind: "simulation", seeds: 20 },
  },
  without("a purge forgets the key", KEPT, {
    file: PURGE,
    from: "if (!forgetKey) await keepKeyOfEnded",
    to: "if (row.epoch < 0) await keepKeyOfEnded",
  }),
  without("a key goes before its row", PURE, {
    file: TOMBSTONE,
    from: "Math.max(Math.ceil((endedAt + keptMs) / 1_000), of.expiresAtSec)",
    to: "Math.ceil((endedAt + keptMs) / 1_000)",
  }),
  without("a tombstone stands over a row that is there", PURE, {
    file: REMOVAL,
    from: "if (found !== null && !isExpired(found, at)) {",
    to: "if (tombstone === null && found !== null && !isExpired(found, at)) {",
  }),
  without("another input is told of the end as well", "test/slow/process/cli-purge.test.ts", {
    file: "src/operations/start.ts",
    from: "tombstone.inputDigest === inputDigest ?",
    to: "tombstone.inputDigest !== null ?",
  }),
  without("a creation on DynamoDB checks no key", "test/adapters/aws/tombstones.test.ts", {
    file: "src/adapters/aws/run-table.ts",
    from: '{ kind: "check", key: tombstoneKey(run), condition: is.keyIsFree(madeRoomBy(creation)) },',
    to: "",
  }),
  without("the clean-up removes the tombstone of the embedded store", "test/adapters/local/retention.test.ts", {
    file: "src/adapters/local/tombstones.ts",
    from: "WHERE expiresAtSec <= ? ORDER BY",
    to: "WHERE expiresAtSec >= ? ORDER BY",
  }),
  without("a firing is judged by rows alone", "test/maintenance/firing.test.ts", {
    file: "src/maintenance/firing.ts",
    from: "|| (await world.table.readKey(run, now)) !== null",
    to: "",
  }),
];
