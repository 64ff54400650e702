/**
 * Makes the plan in a separate process. SST compiles its description into one file, which can neither load the agents
 * of `cairn.config.ts` nor bundle functions.
 */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import type { Plan } from "./plan.ts";

/** Bundles the functions into `.sst` and returns the plan. `root` is the checkout. */
export function planned(root: string): Plan {
  const node = join(root, "node_modules", "node", "bin", "node");
  const said = execFileSync(node, [join(root, "scripts", "plan.ts"), join(root, ".sst", "functions")], {
    cwd: root,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
  return JSON.parse(said.trimEnd().split("\n").at(-1) ?? "") as Plan;
}
