/** Releases in a world that keeps journals: which of them store a snapshot. */
import { expect, test } from "vitest";
import { FEW_BYTES, type StoredSizes } from "../../../src/ports/stored-sizes.ts";
import { verify } from "../../../src/features/seals/verify.ts";
import { beginRun, drive } from "../../support/harness/drive.ts";
import { runBeats } from "../../support/runs/long-runs.ts";
import { twoProcesses } from "../../support/runs/two-processes.ts";

/** The versions of the run and of its snapshot after each beat, two commits in each. */
async function versionsOf(sizes: StoredSizes, beats: number) {
  const { harness, agent, one } = twoProcesses(beats, sizes);
  let payload = await beginRun(harness.world, agent, {});
  const versions: (readonly [number, number])[] = [];
  for (let beat = 0; beat < beats; beat += 1) {
    payload = await runBeats(one, payload, 1);
    const { version, snapshot, journal } = harness.row(payload.run);
    expect(journal === null).toBe(version === snapshot.version);
    versions.push([version, snapshot.version]);
  }
  return { versions, harness, one, payload };
}

test("a release leaves its journal until that has as many commits as it may have", async () => {
  const { versions, harness, payload } = await versionsOf({ ...FEW_BYTES, journalCommitsMax: 4 }, 4);
  expect(versions).toEqual([
    [2, 0],
    [4, 0],
    [6, 5],
    [8, 5],
  ]);
  expect(await verify(harness.world, { run: payload.run })).toMatchObject({ findings: [], snapshots: 2 });
});

test("a release leaves its journal until that has as many bytes as it may have", async () => {
  const { versions } = await versionsOf({ ...FEW_BYTES, journalBytesMax: 900 }, 4);
  expect(versions.map(([, snapshot]) => snapshot)).toContain(0);
  expect(versions.map(([, snapshot]) => snapshot).findLast((version) => version > 0)).toBeGreaterThan(2);
});

test("a world that keeps no journals stores a snapshot at each release", async () => {
  const { versions } = await versionsOf({ ...FEW_BYTES, keepsJournal: false }, 2);
  expect(versions).toEqual([
    [2, 2],
    [4, 4],
  ]);
});

test("a pause and an end store a snapshot", async () => {
  const { versions, harness, one, payload } = await versionsOf(FEW_BYTES, 2);
  expect(versions.at(-1)).toEqual([4, 0]);
  const { run, born } = payload;
  await harness.world.table.request({ run, born, now: harness.clock.now(), want: "pause" });
  await drive(one, payload);
  expect(harness.row(run)).toMatchObject({ status: "paused", journal: null, snapshot: { version: 5 } });
  await harness.world.table.request({ run, born, now: harness.clock.now(), want: "resume" });
  await drive(one, { ...payload, epoch: harness.row(run).epoch });
  expect(harness.row(run)).toMatchObject({ status: "completed", journal: null });
});
