/** The plan that `sst.config.ts` uses: that of this checkout, made by another process. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { FUNCTIONS } from "../../infra/bundle.ts";
import { planned } from "../../infra/planned.ts";

/** The agents of this checkout's `cairn.config.ts`, without those of their child runs. */
const EXAMPLES = ["travel", "invoice", "event", "letter", "compare", "yearly", "literature-review"];

const ROOT = join(import.meta.dirname, "..", "..");

test("a separate process makes the plan of a deployment as one document", () => {
  const plan = planned({ name: "Cairn", root: ROOT, platform: join(ROOT, ".sst", "platform"), config: "." });
  expect(plan).toMatchObject({ schedules: [], beatSeconds: expect.any(Number), limits: {} });
  // Agents of one deployment do not share processes, so each has a beat function of its own.
  const agents = [...EXAMPLES, "branch", "department", "researcher"].map((agent) => `beat_${agent}`);
  expect(Object.keys(plan.folders).toSorted()).toEqual([...FUNCTIONS, ...agents].toSorted());
  for (const folder of Object.values(plan.folders)) expect(existsSync(join(folder, "index.mjs"))).toBe(true);
});
