/**
 * `npm run under-load -- [--times 10] [--busy 8] [FILE...]`: plays tests again and again beside busy processes, and says
 * which files were unstable. It plays the given files, or the whole fast suite for `all`, or the time-sensitive files:
 * those that start processes or servers.
 *
 * Exits 1 if a round is refused, by the rules of `npm run verify`.
 */
import { spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { ROOT, type Score, type Step, endOnSignals, playStep } from "./verify/play.ts";
import { settleLate } from "./verify/second-try.ts";

const ARTEFACTS = join(ROOT, "coverage", "under-load");
const CONFIG = "vitest.config.ts";
const FAST = ["--project", "fast", "--project", "isolated"] as const;
const TIME_SENSITIVE = [
  "test/process/",
  "test/integrations/",
  "test/mcp-tools/",
  "test/server/",
  "test/embed/",
  "test/adapters/local/",
] as const;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { times: { type: "string", default: "10" }, busy: { type: "string", default: "8" } },
});

const isAll = positionals.length === 1 && positionals[0] === "all";
const words = isAll ? [] : positionals.length > 0 ? positionals : TIME_SENSITIVE;

const play = (step: Step): Promise<Score> => playStep(step, ARTEFACTS);

async function playRound(round: number): Promise<boolean> {
  const projects = isAll || positionals.length === 0 ? FAST : [];
  const since = performance.now();
  const score = await play({
    name: `round ${round}`,
    work: { kind: "tests", config: CONFIG, words: [...projects, ...words] },
  });
  const again = await settleLate(score.late, play);
  const refusals = [...score.refusals, ...again.scores.flatMap((each) => each.refusals)];
  const seconds = ((performance.now() - since) / 1_000).toFixed(0);
  console.log(
    `round ${round}: ${score.passed} passed, ${refusals.length} refusals, ${again.unstable.length} unstable (${seconds} s)`,
  );
  for (const line of again.unstable) console.log(`  UNSTABLE ${line}`);
  for (const line of refusals) console.log(`  REFUSED ${line}`);
  return refusals.length === 0;
}

mkdirSync(ARTEFACTS, { recursive: true });
const busy = Array.from({ length: Number(values.busy) }, () =>
  spawn(process.execPath, ["-e", "for (;;);"], { stdio: "ignore" }),
);
const endBusy = (): void => busy.forEach((child) => child.kill("SIGKILL"));
process.once("exit", endBusy);
endOnSignals();
let refused = 0;
for (let round = 1; round <= Number(values.times); round += 1) if (!(await playRound(round))) refused += 1;
endBusy();
console.log(`${values.times} rounds beside ${values.busy} busy processes: ${refused} refused`);
process.exitCode = refused === 0 ? 0 : 1;
