/**
 * `npm run sim -- [--seeds 10000] [--families 2000] [--from 0] [--night DATE] [--mode NAME] [--plain] [--first] [--twice] [--reach]`:
 * simulates histories of one run under faults, and checks them with `test/simulation`. For every 20 of them it also
 * simulates a family: a run with child runs, unless `--mode` is given. Prints each violation with the command that
 * repeats its history, and exits 1 if there is any.
 *
 * The seeds are the same each time; `--night 2026-11-28` plays those of that night, which no other night plays. What a
 * night finds is pinned in `test/simulation/pinned.txt`. `--plain` leaves out the features that a seed would draw.
 *
 * `--families 2000` plays so many families, from `--from` on, and no other histories.
 *
 * `--seed NAME` plays one history and prints every step; `f12` is a family. `--twice` plays each history again and
 * compares the two.
 * `--reach` prints the reach table and counts an empty cell as a violation; with 10,000 seeds or more, empty cells
 * always count.
 */
import { parseArgs } from "node:util";
import { wrongIn } from "../test/simulation/checkers-simulated.ts";
import { FamilyReach, familySeeds } from "../test/simulation/family-reach.ts";
import { MODES } from "../test/simulation/modes.ts";
import { Reach } from "../test/simulation/reach.ts";
import { isFamilySeed, isSalt, seedName } from "../test/simulation/seeds.ts";
import { type SimulateOptions, simulate } from "../test/simulation/simulate.ts";
import { linesOf, traceOf } from "../test/simulation/trace.ts";

/** This many seeds fill every cell. With fewer, a rare cell may stay empty. */
const SEEDS_THAT_REACH = 10_000;

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "1000" },
    from: { type: "string", default: "0" },
    families: { type: "string" },
    seed: { type: "string" },
    night: { type: "string" },
    mode: { type: "string" },
    plain: { type: "boolean", default: false },
    first: { type: "boolean", default: false },
    twice: { type: "boolean", default: false },
    reach: { type: "boolean", default: false },
  },
});

const named = Object.values(MODES).find(({ name }) => name === values.mode);
const [seeds, from] = [Number(values.seeds), Number(values.from)];
if (!Number.isSafeInteger(seeds) || !Number.isSafeInteger(from) || (values.mode !== undefined && !named)) {
  console.error(`--seeds and --from take whole numbers, --mode one of ${Object.keys(MODES).join(", ")}`);
  process.exit(2);
}
if (values.families !== undefined && !(Number.isSafeInteger(Number(values.families)) && Number(values.families) > 0)) {
  console.error("--families takes a whole number above 0, such as 2000");
  process.exit(2);
}
const { night, plain: isPlain } = values;
if (night !== undefined && !isSalt(night)) {
  console.error("--night takes letters, digits, dots and hyphens, such as 2026-11-28");
  process.exit(2);
}
const options: SimulateOptions = { isPlain, ...(named && { mode: named }) };
const again = (seed: string): string =>
  `npm run sim -- --seed ${seed}${named ? ` --mode ${named.name}` : ""}${isPlain ? " --plain" : ""}`;

/** The violations of one history. With `--twice`, a difference between the two plays is a violation, too. */
async function played(seed: string, reach: Reach): Promise<readonly string[]> {
  const history = await simulate(seed, options);
  const violations = wrongIn(history);
  if (violations.length === 0) reach.add(history);
  const differs = values.twice && traceOf(history) !== traceOf(await simulate(seed, options));
  return differs ? [...violations, "twice: the same seed gave another history"] : violations;
}

/** Families alone. */
async function playOnlyFamilies(count: number): Promise<boolean> {
  const families = new FamilyReach();
  const names = Array.from({ length: count }, (_, index) => seedName("f", from + index, night));
  const failed = await playThese(families, names, 0);
  if (values.reach) console.log(families.lines().join("\n"));
  console.log(`${families.histories} families: ${failed} broke a guarantee`);
  return failed === 0;
}

async function playAll(): Promise<boolean> {
  const reach = new Reach();
  const begun = performance.now();
  let failed = 0;
  for (let index = 0; index < seeds && !(failed > 0 && values.first); index += 1) {
    const seed = seedName("s", from + index, night);
    const violations = await played(seed, reach);
    if (violations.length > 0) {
      failed += 1;
      console.log(`${seed}: ${violations.join("\n    ")}\n    again: ${again(seed)}`);
    }
    if (process.stdout.isTTY && index % 100 === 0) process.stdout.write(`\r${index} of ${seeds}, ${failed} failed `);
  }
  const families = new FamilyReach();
  failed += await playFamilies(families, failed);
  const { histories, faults, endedWithin } = reach;
  const seconds = ((performance.now() - begun) / 1_000).toFixed(1);
  const isReach = values.reach || seeds >= SEEDS_THAT_REACH;
  const missed = [...reach.empty(), ...(named ? [] : families.empty())];
  if (isReach) console.log(["", ...reach.lines(), "", ...families.lines(), ""].join("\n"));
  const empty = isReach ? missed.map((cell) => `nothing reached: ${cell}`) : [];
  for (const each of empty) console.log(each);
  console.log(`after the last fault all ended within ${endedWithin.ms} ms and ${endedWithin.steps} steps`);
  const also = families.histories === 0 ? "" : ` and ${families.histories} families`;
  console.log(`${histories} histories with ${faults} faults${also} in ${seconds} s: ${failed} broke a guarantee`);
  return failed === 0 && empty.length === 0;
}

const playFamilies = (families: FamilyReach, failedBefore: number): Promise<number> =>
  playThese(families, named ? [] : familySeeds({ seeds, from, salt: night }), failedBefore);

/** Returns how many of these families broke a guarantee. */
async function playThese(families: FamilyReach, names: readonly string[], failedBefore: number): Promise<number> {
  let failed = 0;
  for (const seed of names) {
    if (failedBefore + failed > 0 && values.first) break;
    const { history, violations } = await families.play(seed, isPlain);
    const isSame = !values.twice || isEqual(history.lines, (await new FamilyReach().play(seed, isPlain)).history.lines);
    const wrong = isSame ? violations : [...violations, "twice: the same seed gave another history"];
    if (wrong.length === 0) continue;
    failed += 1;
    console.log(`${seed}: ${wrong.join("\n    ")}\n    again: npm run sim -- --seed ${seed}`);
  }
  return failed;
}

const isEqual = (one: readonly string[], other: readonly string[]): boolean => one.join("\n") === other.join("\n");

async function playOneFamily(seed: string): Promise<boolean> {
  const { history, violations } = await new FamilyReach().play(seed, isPlain);
  for (const line of history.lines) console.log(line);
  console.log(`\n${seed}: ${JSON.stringify(history.plan)}`);
  console.log(violations.length === 0 ? "no guarantee is broken" : violations.join("\n"));
  return violations.length === 0;
}

async function playOne(seed: string): Promise<boolean> {
  if (isFamilySeed(seed)) return playOneFamily(seed);
  const history = await simulate(seed, options);
  const violations = wrongIn(history);
  const { mode, ...plan } = history.plan;
  for (const line of linesOf(history)) console.log(line);
  console.log(`\n${seed} in mode ${mode.name}: ${JSON.stringify(plan)}`);
  console.log(violations.length === 0 ? "no guarantee is broken" : violations.join("\n"));
  return violations.length === 0;
}

const playChosen = (): Promise<boolean> =>
  values.families === undefined ? playAll() : playOnlyFamilies(Number(values.families));

process.exitCode = (await (values.seed === undefined ? playChosen() : playOne(values.seed))) ? 0 : 1;
