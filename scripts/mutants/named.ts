/** The mistakes that every protocol like this one makes once. Most of them meet whole histories, not a script of steps. */
import type { Mutant } from "./mutant.ts";

const SIMULATION = { kind: "simulation", seeds: 400 } as const;
const ROW = "src/protocol/row.ts";

export const NAMED: readonly Mutant[] = [
  {
    name: "no epoch condition",
    changes: [{ file: ROW, from: "row.epoch !== commit.epoch || ", to: "" }],
    killedBy: SIMULATION,
  },
  {
    name: "last writer wins",
    changes: [{ file: ROW, from: "row.epoch !== commit.epoch || row.version !== commit.version", to: "false" }],
    killedBy: SIMULATION,
  },
  {
    name: "lease time as fence",
    changes: [
      {
        file: "src/protocol/row-claim.ts",
        from: "const overtaken = row.owner !== null;",
        to: 'const overtaken = row.owner !== null;\n  if (overtaken && claim.now < (row.leaseUntil ?? 0)) return { kind: "superseded", row };',
      },
    ],
    killedBy: SIMULATION,
  },
  {
    name: "act before intent",
    changes: [
      {
        file: "src/engine/tools/run-tools.ts",
        from: "if (run.hasPending && !mayWait(run, agent)) {",
        to: "if (Number.isNaN(run.now)) {",
      },
    ],
    killedBy: SIMULATION,
  },
  {
    name: "pointer before payload",
    changes: [
      {
        file: "src/history/checkpoint.ts",
        from: "await putSnapshot(objects, { key, bytes });",
        to: "void putSnapshot(objects, { key, bytes }).catch(() => undefined);",
      },
    ],
    killedBy: { kind: "tests", file: "test/slow/crash/crash.test.ts", test: "no single fault" },
  },
  {
    name: "park without stirs",
    changes: [
      {
        file: "src/protocol/row-park.ts",
        from: 'if (row.stirs !== row.stirsSeen) return { kind: "stirred", row };',
        to: "",
      },
    ],
    killedBy: { kind: "schedule", row: 10 },
  },
  {
    name: "unsafe call repeated",
    changes: [
      {
        file: "src/core/calls/effects.ts",
        from: 'unsafe: {\n    onCrash: "ask"',
        to: 'unsafe: {\n    onCrash: "again"',
      },
    ],
    killedBy: SIMULATION,
  },
  {
    name: "budget outside the commit",
    changes: [{ file: "src/engine/context/commit-request.ts", from: "spent: state.spent", to: "spent: row.spent" }],
    killedBy: SIMULATION,
  },
  {
    name: "approval without hash",
    changes: [{ file: "src/protocol/ids.ts", from: "of.call, of.planHash, of.argsHash", to: "of.call" }],
    killedBy: { kind: "schedule", row: 29 },
  },
  {
    name: "fresh key on retry",
    changes: [
      {
        file: "src/engine/tools/run-tools.ts",
        from: 'key: open.intent?.key ?? ""',
        to: 'key: `${open.intent?.key ?? ""}-${run.row.epoch}`',
      },
    ],
    killedBy: SIMULATION,
  },
];
