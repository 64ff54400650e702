/**
 * `cairn chaos` at every edge of an agent that lies somewhere else: a kill of a process at each fault point. The gate
 * plays such kills on an agent of this repository (`kill-edges.test.ts`).
 */
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { LIMITS } from "../../support/gate/limits.ts";
import { createCliFolder, runCairnJson } from "../../support/processes/cli-process.ts";

const FIXTURES = join(import.meta.dirname, "../../process/fixtures");
/** No process meets the deadline of a beat on a loaded machine. What waits for a lease waits for as long. */
const PATIENT_BEATS = { CAIRN_BEAT_SECONDS: String((2 * LIMITS.shortBeatMs) / 1_000) };
const PATIENT = { timeout: LIMITS.sceneMs };

interface Strategy {
  readonly strategy: string;
  readonly tasks: number;
  readonly duplicates: readonly unknown[] | null;
}

test("a third party's agent survives a kill at every fault point of the protocol", PATIENT, async () => {
  const folder = createCliFolder(PATIENT_BEATS);
  copyFileSync(join(FIXTURES, "third-party-agent.ts"), join(folder.dir, "agent.ts"));
  const words = ["chaos", "./agent.ts", "--every-edge", "--strategies", "act-then-save,cairn"];
  const document = await runCairnJson(folder, words);
  const strategies = document["strategies"] as readonly Strategy[];
  const tasks = strategies[0]?.tasks ?? 0;
  // Claim, model, put and release of each beat, an intent and an effect of each call, before and after. An attempt that
  // ends in doubt (nothing comes after that deployment) is asked about in a beat, and undone in one with three commits
  // and two undos; then comes one that succeeds.
  expect(tasks).toBeGreaterThanOrEqual(2 * (6 + 6 + 3 + 8) - 1 + 2 * (4 * 4 + 3 * 2));
  expect(document).toMatchObject({
    ok: true,
    strategies: [
      { strategy: "act-then-save", killed: tasks, survived: tasks },
      { strategy: "cairn", killed: tasks, survived: tasks, divergent: [], duplicates: [], missing: [] },
    ],
  });
  const unsafe = strategies.find(({ strategy }) => strategy === "act-then-save");
  expect(unsafe?.duplicates?.length).toBeGreaterThan(0);
});
