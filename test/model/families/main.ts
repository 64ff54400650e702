/**
 * Explores families and prints what it finds: `node test/model/families/main.ts [--large] [--states N] [--mutant NAME]`.
 * `--large` takes the families of the night; `--mutant` switches one rule off, and prints the schedule that breaks.
 * Exits 1 if a family has a counterexample, or if a mutant has none.
 */
import { parseArgs } from "node:util";
import { type Explored, explore } from "./explore.ts";
import { BOUNDED, LARGE } from "./instances.ts";
import { MUTANTS, type Mutant } from "./mutants.ts";
import { PLANTED } from "./planted.ts";
import type { Family } from "./state.ts";

const { values } = parseArgs({
  options: { large: { type: "boolean" }, states: { type: "string" }, mutant: { type: "string" } },
});
const statesMax = Number(values.states ?? 2_000_000);

function print(family: Family, { states, transitions, isComplete, found }: Explored): void {
  const size = `${states.toLocaleString("en")} states, ${transitions.toLocaleString("en")} transitions`;
  console.log(`${family.name}: ${size}${isComplete ? "" : " (bounded)"}`);
  if (found === null) return;
  console.log(`  violated: ${found.invariant}; ${found.why}`);
  for (const step of found.steps) console.log(`    ${step}`);
}

const isMutant = (name: string): name is Mutant => MUTANTS.some((each) => each === name);

function played(): boolean {
  const { mutant } = values;
  if (mutant === undefined) {
    let isSound = true;
    for (const family of values.large === true ? LARGE : Object.values(BOUNDED)) {
      const explored = explore(family, { statesMax });
      print(family, explored);
      if (explored.found !== null) isSound = false;
    }
    return isSound;
  }
  if (!isMutant(mutant)) {
    console.error(`there is no mutant "${mutant}"; the mutants are:\n  ${MUTANTS.join("\n  ")}`);
    return false;
  }
  const family = { ...BOUNDED[PLANTED[mutant].family], without: mutant };
  const explored = explore(family, { statesMax });
  print(family, explored);
  return explored.found !== null;
}

process.exitCode = played() ? 0 : 1;
