/**
 * `npm run tidy`: the rules of the house (layers, purity, names, lengths, tests), which `test/support/rules` holds. It
 * prints each rule that is violated, what to do about it, and each place as `FILE:LINE`. Exits 1 if there is
 * any.
 */
import { join } from "node:path";
import { reportOf, tidy } from "../test/support/rules/tidy.ts";

const { files, violations } = tidy(join(import.meta.dirname, ".."));
for (const line of reportOf(violations)) console.log(line);
console.log(`${files} files, ${violations.length} violations`);
process.exitCode = violations.length === 0 ? 0 : 1;
