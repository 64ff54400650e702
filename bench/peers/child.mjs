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
// Not `resourceUsage().maxRSS`: a process inherits that peak from the parent that started it, and bundling makes it large.
const peakKb = Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1] ?? NaN);
// A model in another process leaves its marks in a file.
const seen = ready.marks === undefined ? marks : JSON.parse(readFileSync(ready.marks, "utf8")).slice(0, -1);
process.stdout.write(`\n${JSON.stringify({ took, marks: seen, peakKb })}\n`);
await ready.close?.();
process.exit(0);
