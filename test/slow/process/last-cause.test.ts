/** A run that fails since its processes die says how the last one ended: with real processes. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { LIMITS } from "../../support/gate/limits.ts";
import { sampled } from "../../support/gate/stride.ts";
import { type CliFolder, createCliFolder, runCairnJson, stepsInput } from "../../support/processes/cli-process.ts";

const ENDLESS = "for (;;);";

/**
 * The clerk as an agent whose notes end their process like that, and that may lose one process. What never ends meets its
 * deadline; anything else waits for a lease.
 */
function fatal(ending: string): CliFolder {
  const at = createCliFolder({ CAIRN_BEAT_SECONDS: String(LIMITS.shortBeatMs / 1_000) });
  const file = join(at.dir, "clerk.ts");
  const changes = [
    ['run: ({ input }) => "noted step " + input.step', `run: async () => { ${ending} }`],
    ['version: "1",', 'version: "1",\n  budget: { takeovers: 1 },'],
  ] as const;
  const text = changes.reduce((before, [from, to]) => before.replace(from, to), readFileSync(file, "utf8"));
  writeFileSync(file, text);
  return at;
}

const EXITS = ["process.exit(7);", "exit code 7"];
const CAUSES = [EXITS, ['process.kill(process.pid, "SIGKILL");', "SIGKILL"], [ENDLESS, "killed at its deadline"]];

it.each(sampled([EXITS], CAUSES))(
  "reports for a tool that does %s how its process ended",
  async (ending = "", cause) => {
    const { status, failure } = await runCairnJson(fatal(ending), [
      "start",
      "clerk",
      "--input",
      stepsInput("note"),
      "--wait",
    ]);
    const message = expect.stringContaining(`2 processes died one after the other while they held this run`) as string;
    expect({ status, failure }).toMatchObject({ status: "failed", failure: { code: "CrashLoop", message } });
    expect(failure).toMatchObject({ message: expect.stringContaining(`the last one ended with: ${cause}`) });
  },
);
