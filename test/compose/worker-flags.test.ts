/** The flags of Node with which worker processes start. */
import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { WORKER_FLAGS } from "../../src/compose/supervise.ts";

/** Objects that live for a while, as those of many runs do: V8 lets the space of the young grow as far as it may. */
const CHURN = `
  const kept = [];
  let most = 0;
  for (let index = 0; index < 400_000; index += 1) {
    kept[index % 100_000] = { index, text: ["x".repeat(9), index] };
    if (index % 1_000 !== 0) continue;
    const spaces = require("node:v8").getHeapSpaceStatistics();
    most = Math.max(most, spaces.find(({ space_name }) => space_name === "new_space").space_size);
  }
  console.log(most);`;

function youngBytesWith(flags: readonly string[]): number {
  const { stdout, stderr, status } = spawnSync(process.execPath, [...flags, "-e", CHURN], { encoding: "utf8" });
  expect({ stderr, status }).toEqual({ stderr: "", status: 0 });
  return Number(stdout);
}

test("a worker keeps the space for young objects at less than half of what Node lets it grow to", () => {
  expect(youngBytesWith(WORKER_FLAGS)).toBeLessThan(youngBytesWith([]) / 2);
});
