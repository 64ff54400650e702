/** A wall clock that is set: what is decided by it meanwhile, and when it is believed again. */
import { type Mutant, off } from "./mutant.ts";

const STEADINESS = "src/protocol/steadiness.ts";
const SWEEP = "src/maintenance/sweep.ts";

export const CLOCKS: readonly Mutant[] = [
  off(104, "what cannot be taken back is decided by the wall clock", {
    file: STEADINESS,
    from: "const earliest = Math.min(wall, expected);",
    to: "const earliest = wall;",
  }),
  off(105, "what is written goes by a wall clock that was put back", {
    file: STEADINESS,
    from: 'return { now: expected, earliest, doubt: { kind: "behind"',
    to: 'return { now: wall, earliest, doubt: { kind: "behind"',
  }),
  off(105, "a wall clock that jumped is believed at once", {
    file: STEADINESS,
    from: "reading.uptime - doubted.uptime < CLOCK.settleMs",
    to: "reading.uptime < doubted.uptime",
  }),
  off(106, "a gate expires by this clock alone", {
    file: "src/core/outstanding.ts",
    from: "earliestOf(view) >= gate.expiresAt",
    to: "view.now >= gate.expiresAt",
  }),
  off(106, "a run that waits has waited for too long by this clock alone", {
    file: "src/engine/loop/beat.ts",
    from: "run.world.clock.earliest() + run.world.limits.skewMs >= run.noticed.waitsUntil",
    to: "run.now + run.world.limits.skewMs >= run.noticed.waitsUntil",
  }),
  off(106, "a run that waits for one of the clocks waits for another month", {
    file: "src/engine/loop/beat.ts",
    from: "isIdle || isDoubted ? run.noticed.waitsUntil",
    to: "isIdle ? run.noticed.waitsUntil",
  }),
  off(
    106,
    "the sweeper ends by this clock alone",
    {
      file: SWEEP,
      from: "beyondHelp(row, { state, now: world.clock.earliest() }) === null",
      to: "beyondHelp(row, { state, now: world.clock.now() }) === null",
    },
    {
      file: SWEEP,
      from: "beyondHelp(outcome.row, { state, now: world.clock.earliest() })",
      to: "beyondHelp(outcome.row, { state, now: world.clock.now() })",
    },
    {
      file: SWEEP,
      from: "world.clock.earliest() < run.row.deadline)",
      to: "world.clock.now() < run.row.deadline)",
    },
  ),
  off(
    106,
    "a key is free by this clock alone",
    {
      file: "src/operations/start.ts",
      from: "const now = world.clock.earliest();",
      to: "const now = world.clock.now();",
    },
    {
      file: "src/protocol/row-removal.ts",
      from: 'Pick<Creation, "now" | "earliest">): number => earliest;',
      to: 'Pick<Creation, "now" | "earliest">): number => Math.max(now, earliest);',
    },
  ),
  off(106, "an object without a row is old by this clock alone", {
    file: "src/maintenance/orphans.ts",
    from: "world.clock.earliest() - TIMES.orphanAgeMs",
    to: "world.clock.now() - TIMES.orphanAgeMs",
  }),
  off(107, "a process goes by what it sees itself", {
    file: "src/adapters/local/clock.ts",
    from: "found === undefined ? null : recordIn",
    to: "found !== null ? null : recordIn",
  }),
  {
    name: "a gate expires by a wall clock that was put ahead",
    changes: [{ file: STEADINESS, from: "const earliest = Math.min(wall, expected);", to: "const earliest = wall;" }],
    killedBy: { kind: "simulation", seeds: 400 },
  },
  {
    name: "an end is written by a wall clock that was put back",
    changes: [
      {
        file: STEADINESS,
        from: 'return { now: expected, earliest, doubt: { kind: "behind"',
        to: 'return { now: wall, earliest, doubt: { kind: "behind"',
      },
    ],
    killedBy: { kind: "simulation", seeds: 400 },
  },
  {
    name: "rows are removed by this clock alone",
    changes: [
      {
        file: "src/adapters/local/retention.ts",
        from: "removals.expire(clock.earliest(), EXPIRED_AT_ONCE)",
        to: "removals.expire(clock.now(), EXPIRED_AT_ONCE)",
      },
    ],
    killedBy: { kind: "tests", file: "test/adapters/local/retention.test.ts" },
  },
  {
    name: "an operator's clock is believed against AWS's",
    changes: [{ file: "src/adapters/aws/clock.ts", from: "Math.min(now, theirs)", to: "now" }],
    killedBy: { kind: "tests", file: "test/adapters/aws/clock.test.ts" },
  },
];
