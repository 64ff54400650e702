/**
 * `npm run scale [-- --runs 10000 --beats 4 --starts 1000 --seed 1 --shards 1 --lambda 1000]`: simulates runs of one AWS
 * account, all at once, through the real run table of AWS on a table in memory, on virtual time. Lambda, DynamoDB and
 * Step Functions throttle as their default quotas say; `--lambda` raises the concurrency. Processes die and freeze, and answers are lost. Prints what the account carries, what
 * throttled, and every run that was lost or took a step twice. Exits 1 if there is any.
 */
import { parseArgs } from "node:util";
import { type Spread, simulateAccount } from "../test/simulation/scale/account.ts";

const { values } = parseArgs({
  options: {
    runs: { type: "string", default: "10000" },
    beats: { type: "string", default: "4" },
    starts: { type: "string", default: "1000" },
    seed: { type: "string", default: "1" },
    shards: { type: "string", default: "1" },
    lambda: { type: "string", default: "1000" },
  },
});
const [runs, beats, startsPerSecond] = [Number(values.runs), Number(values.beats), Number(values.starts)];
const [statusShards, lambdaConcurrency] = [Number(values.shards), Number(values.lambda)];
const numbers = [runs, beats, startsPerSecond, statusShards, lambdaConcurrency];
if (!numbers.every((each) => Number.isSafeInteger(each) && each > 0)) {
  console.error("--runs, --beats, --starts, --shards and --lambda take whole numbers above 0");
  process.exit(2);
}

const inSeconds = ({ median, p99, max }: Spread): string =>
  [median, p99, max].map((ms) => `${(ms / 1_000).toFixed(1)} s`).join(" / ");

const report = await simulateAccount({
  ...{ runs, beats, startsPerSecond, seed: values.seed, statusShards },
  quotas: { lambdaConcurrency },
});
const throttles = Object.keys(report.counts).filter((name) => name.startsWith("throttled: "));
const rows: readonly (readonly [string, string])[] = [
  ["runs, beats of each", `${runs.toLocaleString("en")}, ${beats}`],
  ["virtual time until the last run ended", `${report.seconds.toFixed(0)} s`],
  ["beats in a second, on average", report.beatsPerSecond.toFixed(0)],
  ["beats in a second, in the busiest ten seconds", report.beatsPerSecondAtPeak.toFixed(0)],
  ["a run from start to end, median / p99 / most", inSeconds(report.runMs)],
  ["a beat waits for Lambda, median / p99 / most", inSeconds(report.waitMs)],
  ["what throttled, in the order in which it began", throttles.map((name) => name.slice(11)).join(", ") || "nothing"],
  ...Object.entries(report.counts)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, count]) => [name, count.toLocaleString("en")] as const),
  ["runs lost, and steps not taken exactly once", String(report.violations.length)],
];
console.log(["| what | figure |", "|---|---|", ...rows.map(([what, figure]) => `| ${what} | ${figure} |`)].join("\n"));
for (const violation of report.violations.slice(0, 20)) console.error(violation);
process.exitCode = report.violations.length > 0 ? 1 : 0;
