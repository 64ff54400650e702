/**
 * Loaded before each process of the built package (`program.ts`): what an agent of this checkout imports of cairn is that
 * package, too. Node alone finds the sources, since the checkout has the package's name.
 */
import { registerHooks } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { BUILT_VARIABLE } from "./program.ts";

const CHECKOUT = join(import.meta.dirname, "..", "..", "..");
const OWN_AGENTS = ["test/", "agents/"].map((folder) => pathToFileURL(join(CHECKOUT, folder)).href);
const PACKAGE = join(process.env[BUILT_VARIABLE] ?? "", "cairn-run");
const INSIDE = pathToFileURL(join(PACKAGE, "package.json")).href;

/** Not a process of the sources, which a test may start by name, nor a server that an agent starts. */
if (process.argv[1]?.startsWith(PACKAGE) === true) {
  registerHooks({
    resolve: (specifier, context, next) => {
      const isOfCheckout = OWN_AGENTS.some((folder) => context.parentURL?.startsWith(folder));
      const isCairn = isOfCheckout && /^cairn-run(\/|$)/.test(specifier);
      return next(specifier, isCairn ? { ...context, parentURL: INSIDE } : context);
    },
  });
}
