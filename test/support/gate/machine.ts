/**
 * Measures the machine once per test run, in the process that reads the configuration, before a worker starts. The
 * workers get the factor in their environment, so that their `LIMITS` are those of the configuration.
 *
 * They get Node's compile cache, too. The command line turns it on by itself, but only after Node has stripped the types
 * of its first files; with the variable, each of the processes that tests start needs a fifth less of a core.
 *
 * With `CAIRN_PROGRAM=built` the processes run the package that is built of these sources (`../processes/program.ts`).
 */
import { tmpdir } from "node:os";
import { join } from "node:path";
import { builtPackages } from "../../../scripts/built.ts";
import { BUILT_VARIABLE } from "../processes/program.ts";
import { FACTOR_VARIABLE, limitsAt, measureMachine } from "./limits.ts";

const factor = (process.env[FACTOR_VARIABLE] ??= String(measureMachine()));

process.env["NODE_COMPILE_CACHE"] ??= join(tmpdir(), "node-compile-cache");

if (process.env["CAIRN_PROGRAM"] === "built") process.env[BUILT_VARIABLE] = builtPackages();

/** The limits of this test run. */
export const MEASURED_LIMITS = limitsAt(Number(factor));
