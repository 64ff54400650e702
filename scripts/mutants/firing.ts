/** Firings of schedules: what keeps them from being lost, doubled, or started over a run that is alive. */
import type { Mutant } from "./mutant.ts";

const RUNNER = "src/maintenance/firing.ts";
const PROTOCOL = "src/protocol/firing.ts";
const FAULTS = { kind: "tests", file: "test/slow/crash/firing.test.ts" } as const;
const POLICIES = { kind: "tests", file: "test/maintenance/firing.test.ts" } as const;

const breaking = (what: string, file: string, from: string, to: string, killedBy: Mutant["killedBy"]): Mutant => ({
  ...{ name: `firing: ${what}`, changes: [{ file, from, to }], killedBy },
});

export const FIRING: readonly Mutant[] = [
  breaking(
    "its key is without its time",
    "src/sdk/schedule/schedule.ts",
    " ${new Date(at).toISOString()}`",
    "`",
    FAULTS,
  ),
  breaking("nobody looks whether the last run is alive", RUNNER, 'overlap === "skip" ?', "at < 0 ?", FAULTS),
  breaking(
    "a run is started before that is decided",
    RUNNER,
    'await memory.write({ ...intent, stage: "starting" });',
    "",
    FAULTS,
  ),
  breaking(
    "what was decided is not done first",
    RUNNER,
    'before?.stage === "starting" ?',
    "at < 0 && before !== null ?",
    FAULTS,
  ),
  breaking(
    "a turn goes on that was another's",
    RUNNER,
    "cursor: JSON.stringify(last), again: true",
    "cursor: JSON.stringify(last)",
    FAULTS,
  ),
  breaking(
    "an older one starts over a newer one",
    PROTOCOL,
    "last === null || last.at < at",
    "last === null || last.at !== at",
    POLICIES,
  ),
  breaking(
    "who takes the turn forgets what was decided",
    "src/protocol/mutex-lease.ts",
    "cursor === undefined ? (before?.cursor ?? null) : cursor",
    "cursor ?? null",
    FAULTS,
  ),
  breaking(
    "a run that may have ended is started again",
    RUNNER,
    "if (isCertain) await",
    "if (isCertain || true) await",
    POLICIES,
  ),
  breaking(
    "a clock that ran ahead holds up what comes",
    PROTOCOL,
    "last.at > now + AHEAD_MS",
    "last.at > now + 1e15",
    POLICIES,
  ),
  breaking("what was missed is always made up for", PROTOCOL, 'missed === "skip" && ', "now < 0 && ", POLICIES),
];
