/**
 * One measurement in a process of its own: `child.mjs PEER FOLDER RUNS BEATS`. The folder holds `steps.json`, the texts
 * of all replies and results. It prints the times at which the beats began, in milliseconds, and the peak memory. Between
 * the two folders that it makes, strace counts.
 */
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const [, , name, dir, runs, beats] = process.argv;
const texts = JSON.parse(readFileSync(join(dir, "steps.json"), "utf8"));
const marks = [];
const steps = {
  runs: Number(runs),
  beats: Number(beats),
  /** The model's reply. Each beat begins with it. */
  model: (turn) => {
    marks.push(performance.now());
    return texts.replies[turn];
  },
  tool: (turn) => texts.results[turn],
};
const [module, variant] = name.split(":");
const peer = await import(`./${module}.mjs`);
const ready = await peer.open(dir, steps, variant);
mkdirSync(join(dir, "begin"));
const begun = performance.now();
await ready.run();
const took = performance.now() - begun;
mkdirSync(join(dir, "end"));
process.stdout.write(`\n${JSON.stringify({ took, marks, peakKb: process.resourceUsage().maxRSS })}\n`);
await ready.close?.();
process.exit(0);
