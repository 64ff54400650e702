/**
 * `npm run sim -- [--seeds 10000] [--from 0] [--seed NAME] [--first]`: simulated histories of one run under faults, checked by
 * `test/simulation/checkers.ts`. Prints each violation with the command that repeats its history; exits 1 if there is any.
 */
import { parseArgs } from "node:util";
import { violationsOf } from "../test/simulation/checkers.ts";
import { FAULTS, simulate } from "../test/simulation/simulate.ts";

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "1000" },
    from: { type: "string", default: "0" },
    seed: { type: "string" },
    first: { type: "boolean", default: false },
  },
});
const from = Number(values.from);
const names =
  values.seed === undefined
    ? Array.from({ length: Number(values.seeds) }, (_, index) => `s${from + index}`)
    : [values.seed];
if (names.length === 0 || !Number.isSafeInteger(from)) {
  console.error("--seeds and --from take whole numbers, --seed the name of a history such as s17");
  process.exit(2);
}

const begun = performance.now();
const reached = new Map<string, number>();
let failed = 0;
let faults = 0;
for (const [index, name] of names.entries()) {
  const history = await simulate(name, FAULTS);
  const violations = violationsOf(history);
  faults += history.faults;
  for (const each of history.reached) reached.set(each, (reached.get(each) ?? 0) + 1);
  if (violations.length > 0) {
    failed += 1;
    console.log(`${name}: ${violations.join("\n    ")}\n    again: npm run sim -- --seed ${name}`);
  }
  if (failed > 0 && values.first) break;
  if (process.stdout.isTTY && index % 100 === 0)
    process.stdout.write(`\r${index} of ${names.length}, ${failed} failed `);
}
const seconds = ((performance.now() - begun) / 1_000).toFixed(1);
console.log(`\nwhich faults met which operation, in how many histories:`);
for (const [what, count] of [...reached].toSorted(([one], [other]) => one.localeCompare(other)))
  console.log(`  ${what.padEnd(40)} ${count}`);
console.log(`${names.length} histories with ${faults} faults in ${seconds} s: ${failed} broke a guarantee`);
process.exitCode = failed === 0 ? 0 : 1;
