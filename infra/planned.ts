/**
 * Makes the plan in a separate process. SST compiles its description into one file, which can neither load the agents
 * of `cairn.config.ts` nor bundle functions.
 */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, extname, join, resolve } from "node:path";
import type { Plan } from "./plan.ts";

/** What a plan is made of. */
export interface PlanSource {
  /** The name of the component. */
  readonly name: string;
  /** The folder of `sst.config.ts`. */
  readonly root: string;
  /** The folder of SST's platform, which contains a bundler. */
  readonly platform: string;
  /** The folder of `cairn.config.ts`, relative to `root`. */
  readonly config: string;
}

/** Bundles the functions into `.sst` and returns the plan. */
export function planned({ name, root, platform, config }: PlanSource): Plan {
  const folder = resolve(root, config);
  const said = execFileSync(nodeIn(root), [processIn([folder, root]), join(root, ".sst", "cairn", name), platform], {
    cwd: folder,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
  return JSON.parse(said.trimEnd().split("\n").at(-1) ?? "") as Plan;
}

/** The Node of the project, if one is installed there; otherwise that of the machine. SST may run another runtime. */
function nodeIn(root: string): string {
  const own = join(root, "node_modules", "node", "bin", "node");
  return existsSync(own) ? own : "node";
}

/** The file of the process. SST moves this module into a bundle of its own, so its own path does not lead there. */
function processIn(folders: readonly string[]): string {
  for (const folder of folders) {
    try {
      const sst = createRequire(join(folder, "package.json")).resolve("cairn-run/sst");
      return join(dirname(sst), `plan-process${extname(sst)}`);
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "MODULE_NOT_FOUND")) throw error;
    }
  }
  throw new Error(`cairn-run is not installed in ${folders.join(" or ")}; type there: npm install cairn-run`);
}
