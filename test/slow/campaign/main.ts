/**
 * `npm run campaign -- [--minutes 25] [--runs 30] [--seed 1] [--no-freezes]`: fourteen kinds of runs under kills, freezes
 * and readers, with real processes. Prints what was counted; exits 1 if a guarantee broke.
 */
import { parseArgs } from "node:util";
import { createProcessHarness } from "../../support/processes/supervisor-process.ts";
import { CAMPAIGN_ENV, brokenBy, campaign, inWords } from "./campaign.ts";
import { FAULTS } from "./faults.ts";

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "25" },
    runs: { type: "string", default: "30" },
    seed: { type: "string", default: "1" },
    "no-freezes": { type: "boolean", default: false },
  },
});

const ends: (() => void | Promise<void>)[] = [];
try {
  const harness = createProcessHarness(CAMPAIGN_ENV, (end) => void ends.unshift(end));
  let shownAt = 0;
  const found = await campaign(harness, {
    seed: values.seed,
    forMs: Number(values.minutes) * 60_000,
    runs: Number(values.runs),
    faults: values["no-freezes"] ? FAULTS.filter((kind) => kind.endsWith("is killed")) : FAULTS,
    onProgress: (line) => {
      if (performance.now() - shownAt < 15_000) return;
      shownAt = performance.now();
      console.log(line);
    },
  });
  console.log(inWords(found));
  process.exitCode = brokenBy(found) === 0 ? 0 : 1;
} finally {
  for (const end of ends) await end();
}
