/**
 * Plays mutants and says what became of each.
 *
 * First two courts share them. Then the machine is left to what it may have spoiled: a verdict that only says that
 * something was late is replaced by that of a second play, alone, with limits for the machine as it is. At last each
 * survivor is played over the sources before the change: if it survives there too, this change did not cause it.
 */
import { measureMachine } from "../support/gate/limits.ts";
import { type Court, openCourt, openCourtOf } from "./courts.ts";
import type { Verdict } from "./judges.ts";
import { type Mutant, describeSuite, findProblems } from "./table.ts";

/** So many copies are played at once, one for each core of a small machine. */
const COPIES = 2;

export interface Base {
  /** What is checked out before the change. */
  readonly commit: string;
  /** Its table. */
  readonly mutants: readonly Mutant[];
}

export interface Hunt {
  /** Played first. */
  readonly touched?: readonly Mutant[];
  /** None of `touched` begins after so many minutes. By default all are played. */
  readonly touchedMinutes?: number;
  readonly mutants: readonly Mutant[];
  readonly say: (line: string) => void;
  /** None of `mutants` begins after so many minutes. By default all are played. */
  readonly minutes?: number;
  /** A survivor that survives here, too, does not fail the hunt. */
  readonly base?: Base;
}

/** `before`: it survived, and does so over the sources before the change. */
type Fate = Verdict["kind"] | "before";

interface Report {
  readonly mutant: Mutant;
  readonly verdict: Verdict;
  readonly fate: Fate;
  readonly ms: number;
  readonly line: string;
}

type Say = Hunt["say"];

/** Whether each mutant was killed, or survived before the change, too. */
export async function hunt(of: Hunt): Promise<boolean> {
  const { touched = [], touchedMinutes = Infinity, mutants, say, minutes = Infinity, base } = of;
  const problems = findProblems([...touched, ...mutants]);
  for (const problem of problems) say(problem);
  if (problems.length > 0) return false;
  const begun = performance.now();
  const untilOf = (limit: number): number => begun + limit * 60_000;
  const queue = [...inOrder(touched, untilOf(touchedMinutes)), ...inOrder(mutants, untilOf(minutes))];
  const first = await playShared(queue, say);
  const late = first.filter(({ verdict }) => verdict.isLate);
  const inTime = first.filter(({ verdict }) => !verdict.isLate);
  const again = await playAlone(late, say);
  const reports = await playBefore([...inTime, ...again], { base, say });
  return conclude(reports, { say, left: queue.length - first.length });
}

/** A mutant, and until when it may begin. */
interface Turn {
  readonly mutant: Mutant;
  readonly until: number;
}

/** Simulations last: one of them takes as long as dozens of others. */
const inOrder = (mutants: readonly Mutant[], until: number): readonly Turn[] =>
  mutants
    .toSorted((one, other) => Number(isSimulated(one)) - Number(isSimulated(other)))
    .map((mutant) => ({ mutant, until }));

const isSimulated = ({ killedBy }: Mutant): boolean => killedBy.kind === "simulation";

/** Each court takes the next mutant as soon as it is free. */
async function playShared(queue: readonly Turn[], say: Say): Promise<readonly Report[]> {
  const isDue = ({ until }: Turn): boolean => performance.now() < until;
  if (!queue.some(isDue)) return [];
  const terms = { sound: new Map(), factor: measureMachine() };
  const courts = Array.from({ length: Math.min(COPIES, queue.length) }, () => openCourt(terms));
  const reports: Report[] = [];
  const rest = queue.values();
  const workThrough = async (court: Court): Promise<void> => {
    for (;;) {
      const { value: turn } = rest.next();
      if (turn === undefined) return;
      if (!isDue(turn)) continue;
      reports.push(await play(turn.mutant, { court, say }));
    }
  };
  try {
    await Promise.all(courts.map(workThrough));
  } finally {
    for (const court of courts) court.close();
  }
  return reports;
}

/** One after another in a court of their own, on a machine that was measured again. */
async function playAlone(late: readonly Report[], say: Say): Promise<readonly Report[]> {
  if (late.length === 0) return [];
  say(`${late.length} again, alone, since something was late:`);
  const court = openCourt({ sound: new Map(), factor: measureMachine() });
  const reports: Report[] = [];
  try {
    for (const { mutant } of late) reports.push(await play(mutant, { court, say }));
  } finally {
    court.close();
  }
  return reports;
}

/** Of the survivors, those that survive over the sources before the change get another fate. */
async function playBefore(
  reports: readonly Report[],
  { base, say }: { readonly base: Base | undefined; readonly say: Say },
): Promise<readonly Report[]> {
  if (base === undefined || !reports.some(({ fate }) => fate === "passed")) return reports;
  const court = openCourtOf(base.commit, { sound: new Map(), factor: measureMachine() });
  const results: Report[] = [];
  try {
    for (const report of reports) {
      const isBefore = report.fate === "passed" && (await survives(report.mutant.name, base, court));
      results.push(isBefore ? describe(report.mutant, { ...report, fate: "before" }) : report);
    }
  } finally {
    court.close();
  }
  for (const { fate, line } of results) if (fate === "before") say(`NOTE ${line}`);
  return results;
}

/** Whether the table of the base has a mutant of this name that its own suite does not kill. */
async function survives(name: string, { mutants }: Base, court: Court): Promise<boolean> {
  const mutant = mutants.find((each) => each.name === name);
  if (mutant === undefined) return false;
  const verdict = await court.judge(mutant).catch(() => null);
  return verdict?.kind === "passed";
}

async function play(mutant: Mutant, { court, say }: { readonly court: Court; readonly say: Say }): Promise<Report> {
  const begun = performance.now();
  const verdict = await court.judge(mutant);
  const report = describe(mutant, { verdict, fate: verdict.kind, ms: performance.now() - begun });
  say(report.line);
  return report;
}

const FATES = {
  failed: "killed  ",
  passed: "SURVIVED",
  broken: "BROKEN  ",
  before: "SURVIVED ALSO BEFORE",
} as const;
export const NAME_COLUMNS = 72;

function describe(
  mutant: Mutant,
  { verdict, fate, ms }: { readonly verdict: Verdict; readonly fate: Fate; readonly ms: number },
): Report {
  const seconds = (ms / 1_000).toFixed(1).padStart(6);
  const suite = describeSuite(mutant.killedBy);
  const reason = verdict.reason === "" ? suite : `${suite}: ${verdict.reason}`;
  return {
    mutant,
    verdict,
    fate,
    ms,
    line: `${FATES[fate]} ${seconds} s  ${mutant.name.padEnd(NAME_COLUMNS)} ${reason}`,
  };
}

function conclude(reports: readonly Report[], { say, left }: { readonly say: Say; readonly left: number }): boolean {
  const refused = reports.filter(({ fate }) => fate === "passed" || fate === "broken");
  for (const { line } of refused) say(line);
  const killed = reports.filter(({ fate }) => fate === "failed").length;
  const before = reports.filter(({ fate }) => fate === "before").length;
  const known = before > 0 ? `, ${before} survived also before` : "";
  const rest = left > 0 ? `, and ${left} were not played in time` : "";
  say(`${killed} of ${reports.length} mutants killed${known}${rest}`);
  return refused.length === 0;
}
