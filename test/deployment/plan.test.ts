/** The plan that `sst.config.ts` uses: that of this checkout, made by another process. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { FUNCTIONS } from "../../infra/bundle.ts";
import { planned } from "../../infra/planned.ts";

const ROOT = join(import.meta.dirname, "..", "..");

test("a separate process makes the plan of a deployment as one document", () => {
  const plan = planned(ROOT);
  expect(plan).toMatchObject({ schedules: [], beatSeconds: expect.any(Number), limits: {} });
  expect(Object.keys(plan.folders).toSorted()).toEqual([...FUNCTIONS].toSorted());
  for (const folder of Object.values(plan.folders)) expect(existsSync(join(folder, "index.mjs"))).toBe(true);
});
