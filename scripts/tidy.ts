/**
 * `npm run tidy`: the rules of the house (layers, purity, names, lengths, tests), which `test/support/rules` holds. It
 * prints each rule that is violated, what to do about it, and each place as `FILE:LINE`. Exits 1 if there is any,
 * except of a rule that is only reported yet.
 */
import { join } from "node:path";
import { refusing, reportOf, tidy } from "../test/support/rules/tidy.ts";

const { files, violations } = tidy(join(import.meta.dirname, ".."));
for (const line of reportOf(violations)) console.log(line);
const refused = refusing(violations).length;
console.log(`${files} files, ${refused} violations, ${violations.length - refused} reported only`);
process.exitCode = refused === 0 ? 0 : 1;
