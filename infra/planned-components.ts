/** The description of a capture whose plans are made already. It takes the place of an `sst.config.ts`. */
import type { Captured } from "./capture.ts";
import { describe } from "./index.ts";
import { DEFAULT_COMPONENT } from "./names.ts";

export async function run(wanted: Captured): Promise<object> {
  if ("project" in wanted) throw new Error("a project describes itself");
  const { plan, options = {}, others = [] } = wanted;
  const own = await describe({ name: DEFAULT_COMPONENT, plan, options });
  for (const other of others) await describe(other);
  return own;
}
