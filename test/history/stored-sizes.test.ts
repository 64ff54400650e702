/** A world's sizes decide how often a run stores snapshots and segments. A run goes on under other sizes. */
import { expect, test } from "vitest";
import { type StoredSizes, FEW_BYTES, FEW_REQUESTS } from "../../src/ports/stored-sizes.ts";
import { checkBoundary } from "../../src/history/check-boundary.ts";
import { verify } from "../../src/features/seals/verify.ts";
import { attemptBeat, beginRun, drive, runnerOf } from "../support/harness/drive.ts";
import { callsThenFinal, createHarness, scriptedAgent } from "../support/harness/harness.ts";

/** Results that compress badly. */
const AGENT = scriptedAgent({
  run: ({ key }) => Array.from({ length: 60 }, (_, index) => `${key.slice(index % 7)}${index * index}`).join(" "),
  reply: callsThenFinal(30),
});

const worldOf = (sizes: StoredSizes) => ({ ...createHarness({ beatsPerInvocation: 10 }).world, sizes });

/** So small that the run has many segments. */
const anEighth = ({ segmentBytes, ...others }: StoredSizes): StoredSizes => ({
  ...others,
  segmentBytes: segmentBytes / 8,
});

async function objectsOf(sizes: StoredSizes) {
  const world = worldOf(sizes);
  const payload = await beginRun(world, AGENT, {});
  expect(await drive(runnerOf(world, AGENT), payload)).toMatchObject({ route: "done" });
  const keys = [...world.store.objects.keys()];
  const count = (kind: string): number => keys.filter((key) => key.includes(`/${kind}/`)).length;
  return { snapshots: count("snapshots"), segments: count("segments") };
}

test("larger journals need fewer snapshots, and larger segments are fewer", async () => {
  const small = await objectsOf({ ...FEW_BYTES, journalBytesMax: 1_024, segmentBytes: 4_096 });
  const longJournal = await objectsOf({ ...FEW_BYTES, journalBytesMax: 8_192, segmentBytes: 4_096 });
  const longSegments = await objectsOf({ ...FEW_BYTES, journalBytesMax: 1_024, segmentBytes: 16_384 });
  expect(longJournal.snapshots).toBeLessThan(small.snapshots / 2);
  expect(longSegments.segments).toBeLessThan(small.segments / 2);
  expect(longSegments.snapshots).toBe(small.snapshots);
});

test.each([
  ["larger", FEW_BYTES, FEW_REQUESTS],
  ["smaller", FEW_REQUESTS, FEW_BYTES],
])("a run that goes on in a process with %s sizes has no findings", async (_, before, after) => {
  const world = worldOf(anEighth(before));
  const { run, ...payload } = await beginRun(world, AGENT, {});
  const begun = await attemptBeat(runnerOf(world, AGENT), { run, ...payload });
  const later = { ...world, sizes: anEighth(after) };
  expect(await checkBoundary(later, run)).toMatchObject({ beyond: [], differing: [], unread: null });
  const reply = begun.kind === "beat" ? begun.reply : null;
  expect(await drive(runnerOf(later, AGENT), reply ?? { run, ...payload })).toMatchObject({ route: "done" });
  expect(await verify(later, { run })).toMatchObject({ findings: [], readable: true });
  expect(await checkBoundary(later, run)).toMatchObject({ beyond: [], differing: [], unread: null });
});
