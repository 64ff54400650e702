/**
 * `cairn chaos` on each example of this repository, the families among them: twelve tasks, each killed once with SIGKILL.
 * The effects by what they are for, and the results, equal those of the run without a kill.
 */
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { LIMITS } from "../../support/gate/limits.ts";
import { assertSafety } from "../../support/gate/safety.ts";
import { createCliFolder, runCairn } from "../../support/processes/cli-process.ts";
import { EXAMPLES } from "../../support/processes/program.ts";

const NAMES = readdirSync(EXAMPLES).filter((name) => name !== "shared");
const TASKS = 12;
/** No process meets the deadline of a beat on a loaded machine. What waits for a lease waits for as long. */
const PATIENT_BEATS = { CAIRN_BEAT_SECONDS: String((2 * LIMITS.shortBeatMs) / 1_000) };

interface Trial {
  readonly dir: string | null;
  readonly strategies: readonly { readonly [figure: string]: unknown }[];
}

test.each(NAMES)("%s: each task has the effects and the result of the calm run", async (name) => {
  const agent = `${join(EXAMPLES, name, "agent.ts")}#${name}`;
  const words = ["chaos", agent, "--tasks", String(TASKS), "--strategies", "cairn", "--json"];
  const { out } = await runCairn(createCliFolder(PATIENT_BEATS), words);
  const { strategies, dir } = JSON.parse(out) as Trial;
  if (dir !== null) rmSync(dir, { recursive: true, force: true });
  const sound = { tasks: TASKS, survived: TASKS, lost: [], divergent: [], duplicates: [], missing: [] };
  assertSafety("the effects of the calm run, each once", () => expect(strategies).toMatchObject([sound]));
});
