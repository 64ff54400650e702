/**
 * The command line that tests start in processes of their own: the sources, or the package that was built of the same
 * sources. Of the sources, each start takes the types off some two hundred files, which costs two to three times the
 * processor's time of a start of the package. The gate sets `CAIRN_PROGRAM=built`; the night plays the sources, and so does
 * `npx vitest run FILE`.
 *
 * An agent must import the same cairn as the command line. One in a folder of its own gets it from the command line. In the
 * checkout Node takes `cairn-run` for the sources, so the examples are copied beside the package, and `PROGRAM_ENV` gives
 * agents of the checkout the package.
 */
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const ROOT = join(import.meta.dirname, "..", "..", "..");

/** The environment variable with the folder of the built packages; `machine.ts` in `gate` sets it for the workers. */
export const BUILT_VARIABLE = "CAIRN_TEST_BUILT";

const built = process.env[BUILT_VARIABLE] || null;

/** The sources, for a test whose subject they are. */
export const SOURCE_MAIN = join(ROOT, "src", "cli", "main.ts");

/** The command line. */
export const MAIN = built === null ? SOURCE_MAIN : join(built, "cairn-run", "dist", "cli", "main.js");

/** The examples that import the same cairn as `MAIN`. */
export const EXAMPLES = join(built ?? ROOT, "agents");

/** The templates, as `EXAMPLES`. */
export const TEMPLATES = join(built === null ? ROOT : join(built, "cairn-run"), "templates");

/** Environment variables for each process of `MAIN`. */
export const PROGRAM_ENV: Readonly<Record<string, string>> =
  built === null ? {} : { NODE_OPTIONS: `--import=${pathToFileURL(join(import.meta.dirname, "built-cairn.ts")).href}` };
