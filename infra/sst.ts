/**
 * `cairn-run/sst`: the function that describes cairn in an `sst.config.ts`. A user calls it in `run()`, and so does this
 * repository:
 *
 *     const { cairn } = await import("cairn-run/sst");
 *     const agents = await cairn("Agents");
 *
 * The name, app and stage give all physical names. So one app may have several components, and one account several apps
 * and stages.
 */
import { describe } from "./index.ts";
import type { Cairn, CairnOptions } from "./options.ts";
import { planned } from "./planned.ts";

export type { AgentOptions, Cairn, CairnOptions, Domain, InputOf, OutputOf, Permission, Vpc } from "./options.ts";

/** Describes the agents of a `cairn.config.ts` and all that they need in AWS. */
export function cairn(name: string, options: CairnOptions = {}): Promise<Cairn> {
  const { root, platform } = $cli.paths;
  return describe({ name, options, plan: planned({ name, root, platform, config: options.config ?? "." }) });
}
