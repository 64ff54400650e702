/**
 * `npm run storm -- [--runs 200] [--kills 10] [--seed 1]`: many runs on one store whose supervisor is killed again and
 * again, then a host that is killed as a whole in the middle of four runs; with real processes. Prints what was counted
 * and measured; exits 1 if a guarantee broke.
 */
import { parseArgs } from "node:util";
import { LIMITS } from "../../support/gate/limits.ts";
import { createProcessHarness } from "../../support/processes/supervisor-process.ts";
import * as host from "./host.ts";
import * as storms from "./storm.ts";

const { values } = parseArgs({
  options: {
    runs: { type: "string", default: "200" },
    kills: { type: "string", default: "10" },
    seed: { type: "string", default: "1" },
  },
});

async function main(): Promise<readonly string[]> {
  const ends: (() => void | Promise<void>)[] = [];
  const harness = () =>
    createProcessHarness({ CAIRN_BEAT_SECONDS: String(LIMITS.longBeatMs / 1_000) }, (end) => void ends.unshift(end));
  try {
    const options = { seed: values.seed, runs: Number(values.runs), kills: Number(values.kills) };
    const storm = await storms.storm(harness(), options);
    console.log(`${options.runs} runs at once, ${storms.inWords(storm)}\n`);
    const returned = await host.hostReturns(harness());
    console.log(host.inWords(returned));
    const left = storm.left === 0 ? [] : [`${storm.left} processes are left`];
    const late = returned.nextBeats.filter(({ seconds }) => seconds > host.RETURN_SECONDS_MAX);
    return [...storm.wrong, ...left, ...returned.wrong, ...late.map(({ run }) => `run ${run} came back too late`)];
  } finally {
    for (const end of ends) await end();
  }
}

const wrong = await main();
for (const each of wrong) console.log(each);
console.log(`${wrong.length} broke a guarantee`);
process.exitCode = wrong.length === 0 ? 0 : 1;
