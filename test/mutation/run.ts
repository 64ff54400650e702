/**
 * `npm run mutants [-- --only TEXT] [--list] [--table FILE] [--since COMMIT] [--minutes N] [--touched-minutes N]`: plays the mutants of
 * `mutants.txt`. For each it breaks one rule in a copy of the sources and runs the suite that must notice. It prints
 * which suite killed which mutant after how many seconds, and at the end again the mutants that were not killed. Exits 1
 * if a mutant survived or could not be judged; exits 2 if no mutant is called so. `--only` takes the mutants whose names
 * contain TEXT.
 *
 * With `--since` it plays exactly the mutants whose source, suite or row differs from that commit. With `--minutes` it
 * begins no mutant after that time, so that a slow machine ends too, and says how many are left. Their order is another
 * one for each commit, so no mutant is left out for long. With both, it then plays the mutants whose suite loads a changed
 * helper, and the minutes bound only these: a helper may be loaded by the suites of hundreds. `--touched-minutes` bounds
 * the others: a rename may touch the sources of most mutants.
 */
import { spawnSync } from "node:child_process";
import { hash } from "node:crypto";
import { parseArgs } from "node:util";
import { findCommit, gitIn } from "../../scripts/verify/base.ts";
import { type Choice, chooseMutants } from "./choice.ts";
import { readDiff } from "./diff.ts";
import { type Base, NAME_COLUMNS, hunt } from "./hunt.ts";
import { type Mutant, ROOT, describeSuite, readMutants } from "./table.ts";

const say = (line: string): void => console.log(line);

/** The same mutants in an order of this commit. */
function shuffled(mutants: readonly Mutant[]): readonly Mutant[] {
  const { stdout } = spawnSync("git", ["rev-parse", "HEAD"], { cwd: ROOT, encoding: "utf8" });
  const placeOf = ({ name }: Mutant): string => hash("sha256", `${stdout} ${name}`);
  return mutants.toSorted((one, other) => (placeOf(one) < placeOf(other) ? -1 : 1));
}

interface Plan extends Choice {
  readonly base?: Base;
}

/** All mutants, or those that the changes since a commit touch. */
function planFor(
  mutants: readonly Mutant[],
  { since, minutes, touchedMinutes }: { since: string | null; minutes: number; touchedMinutes: number },
): Plan {
  const isBounded = minutes < Infinity;
  if (since === null) return { touched: [], nearby: isBounded ? shuffled(mutants) : mutants };
  const diff = readDiff(since);
  const { touched, nearby } = chooseMutants(mutants, diff);
  say(`since ${since}: the source, suite or row of ${touched.length} of ${mutants.length} mutants has changed`);
  const helped = `${nearby.length} mutants whose suite loads a changed helper`;
  if (nearby.length > 0) say(isBounded ? `then ${helped}` : `${helped} are not played without --minutes`);
  const base = { commit: since, mutants: diff.before };
  return {
    touched: touchedMinutes < Infinity ? shuffled(touched) : touched,
    nearby: isBounded ? shuffled(nearby) : [],
    base,
  };
}

/** Without a text there is no limit; null: it is none. */
function minutesIn(text: string | undefined): number | null {
  if (text === undefined) return Infinity;
  return Number(text) > 0 ? Number(text) : null;
}

/** Prints why the arguments are refused. */
function refuse(reason: string): number {
  console.error(reason);
  return 2;
}

async function main(): Promise<number> {
  const text = { type: "string" } as const;
  const options = {
    only: text,
    table: text,
    minutes: text,
    since: text,
    "touched-minutes": text,
    list: { type: "boolean" },
  } as const;
  const { values } = parseArgs({ options });
  const mutants = readMutants(values.table).filter(({ name }) => name.includes(values.only ?? ""));
  if (mutants.length === 0) {
    return refuse(`No mutant has "${values.only}" in its name. \`npm run mutants -- --list\` shows all names.`);
  }
  const minutes = minutesIn(values.minutes);
  if (minutes === null) return refuse(`--minutes takes a number above 0, not "${values.minutes}"`);
  const touchedMinutes = minutesIn(values["touched-minutes"]);
  if (touchedMinutes === null) {
    return refuse(`--touched-minutes takes a number above 0, not "${values["touched-minutes"]}"`);
  }
  const since = values.since === undefined ? null : findCommit(values.since, gitIn(ROOT));
  if (since === null && values.since !== undefined) return refuse(`--since takes a commit, not "${values.since}"`);
  const limits = { minutes, touchedMinutes };
  const { touched, nearby, base } = planFor(mutants, { since, ...limits });
  if (values.list !== true) {
    const isOver = await hunt({ touched, mutants: nearby, say, ...limits, ...(base === undefined ? {} : { base }) });
    return isOver ? 0 : 1;
  }
  const chosen = new Set([...touched, ...nearby]);
  for (const { name, killedBy } of chosen) say(`${name.padEnd(NAME_COLUMNS)} ${describeSuite(killedBy)}`);
  return 0;
}

for (const [signal, number] of [
  ["SIGINT", 2],
  ["SIGTERM", 15],
] as const) {
  process.once(signal, () => process.exit(128 + number));
}
process.exitCode = await main();
