/**
 * `npm run sim -- [--seeds 10000] [--from 0] [--mode NAME] [--first] [--twice] [--reach]`: simulates histories of one
 * run under faults, and checks them with `test/simulation`. Prints each violation with the command that repeats its
 * history, and exits 1 if there is any.
 *
 * `--seed NAME` plays one history and prints every step. `--twice` plays each history again and compares the two.
 * `--reach` prints the reach table and counts an empty cell as a violation; with 10,000 seeds or more, empty cells
 * always count.
 */
import { parseArgs } from "node:util";
import { wrongIn } from "../test/simulation/checkers-simulated.ts";
import { type Mode, MODES, modeOf } from "../test/simulation/modes.ts";
import { Reach, unaccounted } from "../test/simulation/reach.ts";
import { simulate } from "../test/simulation/simulate.ts";
import { linesOf, traceOf } from "../test/simulation/trace.ts";

/** This many seeds fill every cell. With fewer, a rare cell may stay empty. */
const SEEDS_THAT_REACH = 10_000;

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "1000" },
    from: { type: "string", default: "0" },
    seed: { type: "string" },
    mode: { type: "string" },
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
const modeFor = (seed: string): Mode => named ?? modeOf(seed);
const again = (seed: string): string => `npm run sim -- --seed ${seed}${named ? ` --mode ${named.name}` : ""}`;

/** The violations of one history. With `--twice`, a difference between the two plays is a violation, too. */
async function played(seed: string, reach: Reach): Promise<readonly string[]> {
  const history = await simulate(seed, modeFor(seed));
  const violations = wrongIn(history);
  if (violations.length === 0) reach.add(history);
  const differs = values.twice && traceOf(history) !== traceOf(await simulate(seed, modeFor(seed)));
  return differs ? [...violations, "twice: the same seed gave another history"] : violations;
}

async function playAll(): Promise<boolean> {
  const reach = new Reach();
  const begun = performance.now();
  let failed = 0;
  for (let index = 0; index < seeds && !(failed > 0 && values.first); index += 1) {
    const seed = `s${from + index}`;
    const violations = await played(seed, reach);
    if (violations.length > 0) {
      failed += 1;
      console.log(`${seed}: ${violations.join("\n    ")}\n    again: ${again(seed)}`);
    }
    if (process.stdout.isTTY && index % 100 === 0) process.stdout.write(`\r${index} of ${seeds}, ${failed} failed `);
  }
  const { histories, faults, endedWithin } = reach;
  const seconds = ((performance.now() - begun) / 1_000).toFixed(1);
  const isReach = values.reach || seeds >= SEEDS_THAT_REACH;
  if (isReach) console.log(["", ...reach.lines(), ""].join("\n"));
  const empty = isReach ? [...reach.empty().map((cell) => `nothing reached: ${cell}`), ...unaccounted()] : [];
  for (const each of empty) console.log(each);
  console.log(`after the last fault all ended within ${endedWithin.ms} ms and ${endedWithin.steps} steps`);
  console.log(`${histories} histories with ${faults} faults in ${seconds} s: ${failed} broke a guarantee`);
  return failed === 0 && empty.length === 0;
}

async function playOne(seed: string): Promise<boolean> {
  const history = await simulate(seed, modeFor(seed));
  const violations = wrongIn(history);
  const { mode, ...plan } = history.plan;
  for (const line of linesOf(history)) console.log(line);
  console.log(`\n${seed} in mode ${mode.name}: ${JSON.stringify(plan)}`);
  console.log(violations.length === 0 ? "no guarantee is broken" : violations.join("\n"));
  return violations.length === 0;
}

process.exitCode = (await (values.seed === undefined ? playAll() : playOne(values.seed))) ? 0 : 1;
