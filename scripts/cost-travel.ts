/**
 * What the travel example costs from its start to its clean-up, beside the floor: the least that any design needs which
 * loses at most the step at work, and repeats no call under another key.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { travel } from "../agents/travel/agent.ts";
import { type Counts, nothing, priced } from "./cost-counts.ts";
import { drive } from "./cost-run.ts";
import type { Process } from "./cost-worlds.ts";

const STEPS = Object.values(travel.tools);
/** One for each step, and one that says goodbye. */
const BEATS = STEPS.length + 1;

const TRIP = { from: "Berlin", to: "Lisbon", trip: "42" };

/**
 * The least calls of a run of these beats:
 *
 * - an invocation and a state transition for every `beatsPerInvocation` beats;
 * - a write that creates the run;
 * - a write at the begin of each invocation, which fences the one before. Its answer is the state: nothing is read;
 * - a write before a call with an outside effect. Otherwise a crash could send another order instead of the same one;
 * - a write at the end of each beat, or a crash would lose more than the step at work. The last one ends the run.
 *
 * Each write is one unit: all data is in one item below 1 KB, in no index. The time to live removes the item for nothing.
 */
export function floorOf(beatsPerInvocation: number): Counts {
  const invocations = Math.ceil(BEATS / beatsPerInvocation);
  const effects = STEPS.filter(({ effect }) => effect !== "none").length;
  const writes = 1 + invocations + effects + BEATS;
  return { ...nothing(), invocations, transitions: invocations, writes, writeUnits: writes };
}

type Row = Readonly<Record<string, string | number>>;

/** Prints a row of cairn and one of the floor for each number of beats per invocation. Dollars are those of 1,000 trips. */
export async function measureTravel(process_: Process): Promise<readonly Row[]> {
  const services = await mkdtemp(join(tmpdir(), "cost-travel-"));
  Object.assign(process.env, { TRAVEL_SERVICES: services, TRAVEL_PACE: "0" });
  const rows: Row[] = [];
  try {
    for (const beatsPerInvocation of [1, 10]) {
      const counts = nothing();
      const world = process_({ beatsPerInvocation, counts });
      await drive(() => world, { agent: travel, input: TRIP, beats: BEATS, counts });
      rows.push({ B: beatsPerInvocation, of: "cairn", ...ofTrips(counts) });
      rows.push({ B: beatsPerInvocation, of: "floor", ...ofTrips(floorOf(beatsPerInvocation)) });
    }
  } finally {
    await rm(services, { recursive: true });
  }
  console.table(rows);
  console.log(
    `Of one trip of the travel example, ${BEATS} beats, from its start to its clean-up; dollars of 1,000 trips.`,
  );
  return rows;
}

/** The rows as a table of a page. */
export function travelTable(rows: readonly Row[]): string {
  const cells = (row: Row): readonly unknown[] => [
    row["of"] === "floor" ? "its floor" : `${row["B"] === 1 ? "one beat" : `${row["B"]} beats`} per invocation`,
    ...[row["invocations"], row["transitions"]],
    ...[`${row["writes"]} (${row["writeUnits"]})`, `${row["reads"]} (${row["readUnits"]})`],
    ...[`${row["puts"]} / ${row["gets"]}`, Number(row["sum $"]).toFixed(3)],
  ];
  return [
    "| | invocations | transitions | row writes (units) | row reads (units) | PUT / GET | $ |",
    "|---|---|---|---|---|---|---|",
    ...rows.map((row) => `| ${cells(row).join(" | ")} |`),
  ].join("\n");
}

/** The counts of one trip, and the dollars of 1,000. */
function ofTrips({ logBytes: _, ...counts }: Counts): Record<string, string | number> {
  const dollars = Object.entries(priced({ ...counts, logBytes: 0 }, 1 / 1_000)).filter(([name]) => name.endsWith("$"));
  return { ...counts, ...Object.fromEntries(dollars) };
}
