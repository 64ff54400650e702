/** Captures the resources that `sst deploy` would request for this checkout, for scripts that print or price them. */
import { join } from "node:path";
import { type Capture, capture } from "../infra/capture.ts";
import type { Plan } from "../infra/plan.ts";
import { planned } from "../infra/planned.ts";
import { installPlatform } from "../infra/platform.ts";
import { PLACE } from "../localstack/place.ts";

const ROOT = join(import.meta.dirname, "..");

/** Installs the platform if needed, makes the plan, and captures the resources of that stage. */
export async function described(stage: string): Promise<Capture & { readonly plan: Plan }> {
  await installPlatform((line) => void process.stderr.write(`${line}\n`));
  const plan = planned({ name: "Cairn", root: ROOT, platform: join(ROOT, ".sst", "platform"), config: "." });
  return { plan, ...(await capture({ plan, app: "cairn", stage, place: PLACE })) };
}
