/**
 * `npm run cost [-- BEATS] [--localstack] [--write]`: measures what 1,000 beats cost on AWS, for several numbers of beats per
 * invocation. It does so where one process makes all invocations of the run, and where each invocation is a new process,
 * which knows nothing.
 *
 * It counts every request with the capacity that DynamoDB charges, and multiplies by list prices. The requests are those
 * of the real adapter, which sends them to a table in memory; with `--localstack` the SDK sends them to LocalStack. The
 * model's cost, and the time that a function waits for it, are not included. Exits 1 if a cost exceeds its bound in
 * `cost-bounds.ts`. Each run is cleaned up, which is counted too; the travel example is measured beside its floor.
 * `--write` puts the costs of beats and of the travel example into `docs/cost.md`.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { workload } from "../bench/workload.ts";
import { BOUNDS, tooDear } from "./cost-bounds.ts";
import { nothing, priced } from "./cost-counts.ts";
import { drive, transitionsOf } from "./cost-run.ts";
import { measureDeltas } from "./cost-deltas.ts";
import { measureParks } from "./cost-parks.ts";
import { measureTravel, travelTable } from "./cost-travel.ts";
import { withPart } from "./marks.ts";
import { type Process, emulatedWorld, inMemory } from "./cost-worlds.ts";
import { onLocalStack } from "./on-localstack.ts";
import { OWN_MS, WAIT_MS } from "../src/history/aws-prices.ts";

/** Prints the cost of 1,000 beats, and returns its table for the page. */
async function measure(process_: Process, beats: number): Promise<string> {
  const rows: Record<string, string | number>[] = [];
  for (const [beatsPerInvocation, bound] of BOUNDS) {
    for (const kind of ["same", "new"] as const) {
      const counts = nothing();
      const begin = () => process_({ beatsPerInvocation, counts });
      const one = begin();
      const { agent } = workload(beats - 1);
      await drive(() => (kind === "same" ? one : begin()), { agent, input: { beats }, beats, counts });
      const row = priced(counts, beats / 1_000);
      rows.push({ B: beatsPerInvocation, process: kind, ...row, "at most $": bound[kind].toFixed(5) });
    }
  }
  console.table(rows);
  const wrong = rows.flatMap(
    ({ B, process, "sum $": sum }) => tooDear(Number(B), process as "same" | "new", Number(sum)) ?? [],
  );
  for (const each of wrong) console.error(each);
  if (wrong.length > 0) process.exitCode = 1;
  console.log(
    `Of 1,000 beats, from ${beats}. Function time is taken as ${JSON.stringify(WAIT_MS)} ms a request and ${OWN_MS} ms.`,
  );
  const more = (["wait", "park", "renew"] as const).map((route) => `${route} ${transitionsOf(route)}`);
  console.log(`State transitions of a beat by its route: beat ${transitionsOf("beat")}, ${more.join(", ")}.`);
  console.log("Logs are beside the sum: they cost what is kept of them.");
  return beatsTable(rows);
}

/** Dollars of 1,000 beats, by beats per invocation. */
function beatsTable(rows: readonly Readonly<Record<string, string | number>>[]): string {
  const dollars = (beatsPerInvocation: number, kind: string): string =>
    Number(rows.find(({ B, process }) => B === beatsPerInvocation && process === kind)?.["sum $"]).toFixed(4);
  return [
    "| beats per invocation | $ of 1,000 beats, one process | $, each invocation a new process |",
    "|---|---|---|",
    ...[...BOUNDS.keys()].map((each) => `| ${each} | ${dollars(each, "same")} | ${dollars(each, "new")} |`),
  ].join("\n");
}

async function measureAll(process_: Process): Promise<void> {
  const parts = { beats: await measure(process_, beats), travel: travelTable(await measureTravel(process_)) };
  await measureParks(process_);
  await measureDeltas(process_);
  if (values.write === true) write(parts);
}

/** Puts each table between its marks in the page, with the day. */
function write(parts: Readonly<Record<string, string>>): void {
  const page = join(import.meta.dirname, "..", "docs", "cost.md");
  const day = new Date().toISOString().slice(0, 10);
  const text = Object.entries(parts).reduce(
    (written, [name, table]) => withPart(written, { name, part: `${table}\n\n(\`npm run cost\`, ${day}.)` }),
    readFileSync(page, "utf8"),
  );
  writeFileSync(page, text);
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { localstack: { type: "boolean" }, write: { type: "boolean" } },
});
const beats = Number(positionals[0] ?? 200);
if (values.localstack === true) {
  await onLocalStack("cost", (deployment) => measureAll((of) => emulatedWorld(deployment, of)));
} else await measureAll(inMemory());
