/**
 * A run of many beats that is compacted again and again: what a beat writes, what a process reads to take it
 * over and what its model is shown stay the same, and a process keeps little more of it than its transcript.
 */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { STRIDE } from "../../support/gate/stride.ts";
import type { Measured } from "./long-run.ts";

const SCRIPT = fileURLToPath(new URL("long-run.ts", import.meta.url));
/** The gate plays a shorter run than the night. */
const MARKS = STRIDE === 1 ? [200, 1_000, 2_000] : [200, 400, 800];
const MEGABYTE = 1024 * 1024;

/** `local`: the sizes of a store on a disk. `requests`: those of a store that charges each request, as on AWS. */
async function measured(sizes: "local" | "requests"): Promise<readonly Measured[]> {
  const args = ["--expose-gc", SCRIPT, sizes, ...MARKS.map(String)];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Measured);
}

const grownBy = (of: readonly Measured[], name: "heapBytes" | "transcriptBytes"): number =>
  (of.at(-1)?.[name] ?? 0) - (of[0]?.[name] ?? 0);

test.each([
  // The commits that are not sealed yet are kept as text: up to 64 snapshots, each of many beats here.
  ["local", 5_500, 12 * MEGABYTE],
  ["requests", 15_000, 2 * MEGABYTE],
] as const)("the beats of a long run with the sizes %s stay flat", async (sizes, bytesMax, unsealedBytes) => {
  const lines = await measured(sizes);
  expect(lines.map(({ beats }) => beats)).toEqual(MARKS);
  for (const { beats, messages, summaries } of lines) {
    // A reply, a result, and the summaries.
    expect(messages).toBe(2 * beats + summaries + 1);
    expect(summaries).toBeGreaterThanOrEqual(beats / 17);
  }
  for (const { bytesPerBeat, coldReads } of lines) {
    expect(bytesPerBeat).toBeLessThan(bytesMax);
    expect(coldReads).toBeLessThanOrEqual(16);
  }
  expect(new Set(lines.map(({ requestMessagesMax }) => requestMessagesMax))).toEqual(new Set([40]));
  expect(grownBy(lines, "heapBytes")).toBeLessThan(2 * grownBy(lines, "transcriptBytes") + unsealedBytes);
});
