/** Which hand-offs a boss is refused after one that failed. */
import { expect, test } from "vitest";
import { handOffRefusal } from "../../../../src/features/topologies/boss/core-hand-offs.ts";
import type { HandOff } from "../../../../src/core/topologies/topology.ts";

const CAPS = { workers: ["ask"], handOffsMax: 9, fanOut: 9, partsIn: "files" };
const failed = { call: "c1", tool: "ask", args: { files: ["a", "b"] }, digest: "1", status: "failed" } as const;
const refused = (before: HandOff, files: readonly string[], digest = "2") =>
  handOffRefusal(CAPS, { tool: "ask", args: { files: [...files] }, digest, before: [before], depth: 0 });

test("a part whose hand-off failed is handed out again, unless its worker had acted", () => {
  expect(refused(failed, ["b"])).toBeNull();
  expect(refused({ ...failed, acted: true }, ["b"])).toMatch(/^AlreadyActed: c1 had the part b and failed/);
  expect(refused({ ...failed, acted: true }, ["c"])).toBeNull();
});

test("an equal hand-off that a human let through is not refused for its parts", () => {
  expect(refused({ ...failed, acted: true }, ["a", "b"], "1")).toBeNull();
});
