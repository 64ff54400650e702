/**
 * `npm run mutants [-- --only NAME] [--without CHECKER]`: breaks one rule of the protocol at a time, in a copy of the
 * sources, and runs the suite that must notice. Prints which suite killed which mutant and after how many seconds; exits
 * 1 if one survived, or if a suite fails without any. `--without` takes away one checker of the simulation, or the test
 * of one schedule (`--without "schedule 7"`), and plays the mutants that it could have killed: some survive now.
 */
import { parseArgs } from "node:util";
import { hunt } from "./mutants/hunt.ts";
import type { Mutant } from "./mutants/mutant.ts";
import { MUTANTS } from "./mutants/table.ts";

const { values } = parseArgs({ options: { only: { type: "string", default: "" }, without: { type: "string" } } });
const { only, without } = values;

/** The checkers of the simulation judge the crash enumeration as well. */
function concerns({ killedBy }: Mutant): boolean {
  if (without === undefined) return true;
  if (killedBy.kind === "schedule") return without === `schedule ${killedBy.row}`;
  const isJudged = killedBy.kind === "simulation" || killedBy.file.startsWith("test/slow/crash/");
  return isJudged && !without.startsWith("schedule ");
}

const mutants = MUTANTS.filter((mutant) => mutant.name.includes(only) && concerns(mutant));
const say = (line: string): void => console.log(line);
if (mutants.length === 0) {
  console.error("no mutant is called so, or none is left to such a checker");
  process.exitCode = 2;
} else {
  const isOver = await hunt({ mutants, without, say });
  if (isOver && without !== undefined) say(`others notice all of them: no mutant needs ${without} alone`);
  process.exitCode = isOver ? 0 : 1;
}
