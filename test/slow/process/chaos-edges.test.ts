/** `cairn chaos` as the README shows it: thirty trips, at night; agents without settings, and tasks that it refuses. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { LIMITS } from "../../support/gate/limits.ts";
import { sampled } from "../../support/gate/stride.ts";
import { runCairn, createCliFolder, runCairnJson } from "../../support/processes/cli-process.ts";
import { EXAMPLES } from "../../support/processes/program.ts";

const TRAVEL = join(EXAMPLES, "travel", "agent.ts");
/** No process meets the deadline of a beat on a loaded machine. What waits for a lease waits for as long. */
const PATIENT_BEATS = { CAIRN_BEAT_SECONDS: String((2 * LIMITS.shortBeatMs) / 1_000) };
const PATIENT = { timeout: LIMITS.sceneMs };

interface Columns {
  readonly strategies: readonly { readonly strategy: string; readonly duplicates: readonly unknown[] | null }[];
}

const duplicatesOf = (document: unknown, strategy: string): number =>
  (document as Columns).strategies.find((each) => each.strategy === strategy)?.duplicates?.length ?? 0;

/** In the gate the three trips of `chaos.test.ts` have each of these strategies. */
test.each(sampled([], [30]))("%i trips survive a kill at a random beat each", PATIENT, async (tasks) => {
  const document = await runCairnJson(createCliFolder(PATIENT_BEATS), ["chaos", TRAVEL, "--tasks", String(tasks)]);
  expect(document).toMatchObject({
    ok: true,
    strategies: [
      { strategy: "in-process", killed: tasks, survived: 0 },
      { strategy: "act-then-save", killed: tasks, survived: tasks },
      { strategy: "cairn", killed: tasks, survived: tasks, divergent: [], duplicates: [], missing: [] },
    ],
  });
  expect(duplicatesOf(document, "act-then-save")).toBeGreaterThan(0);
});

test("an agent without chaos settings acts on fakes, and its gates are decided as typed", async () => {
  const input = JSON.stringify({ steps: ["pay", "mail"] });
  const words = ["chaos", "clerk", "--tasks", "2", "--strategies", "cairn", "--input", input, "--gates", "approve"];
  expect(await runCairnJson(createCliFolder(PATIENT_BEATS), words)).toMatchObject({
    ...{ countedBy: "fakes", ok: true, tools: { services: [], real: [] } },
    strategies: [{ survived: 2, duplicates: [], missing: [], answers: { approved: 2, denied: 0 } }],
  });
});

test.each([
  ["a task that does not fit", "{}", 2, "AgentInvalid", ""],
  ["tasks that fail by themselves", '{"steps":["despair"]}', 1, "ReferenceFailed", "fakes replaced mail, pay: if the"],
])("refuses %s", async (_, input, exit, code, why) => {
  const refused = await runCairn(createCliFolder(PATIENT_BEATS), [
    "chaos",
    "clerk",
    "--tasks",
    "1",
    "--input",
    input,
    "--json",
  ]);
  const { error } = JSON.parse(refused.out) as {
    readonly error: { readonly code: string; readonly why?: string; readonly dir?: string };
  };
  if (error.dir !== undefined) rmSync(error.dir, { recursive: true });
  expect(error.code).toBe(code);
  expect(error.why ?? "").toContain(why);
  expect(refused.exit).toBe(exit);
});
