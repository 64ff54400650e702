/** Loading a committed run: snapshot, segments and journal must fit together, otherwise the load is refused. */
import { KERNEL } from "../../src/features/compose.ts";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { virtualClock } from "../../src/adapters/memory/clock.ts";
import { memoryObjectStore, memoryStore } from "../../src/adapters/memory/tables.ts";
import { withKernel } from "../../src/features/compose.ts";
import { memoryWorld } from "../../src/adapters/memory/world.ts";
import type { Agent } from "../../src/ports/agent.ts";
import { FEW_BYTES } from "../../src/ports/stored-sizes.ts";
import { checksumOf } from "../../src/codec/checksum.ts";
import { encodeJournal } from "../../src/codec/journal.ts";
import { NOTHING_SEALED, encodeSnapshot } from "../../src/codec/snapshot.ts";
import { encodeSegment } from "../../src/codec/transcript.ts";
import type { Event } from "../../src/core/event.ts";
import { FINGERPRINT } from "../../src/protocol/fingerprint.ts";
import { limitsFor } from "../../src/protocol/limits.ts";
import type { Row } from "../../src/protocol/row.ts";
import type { State } from "../../src/core/state.ts";
import { defineAgent, scriptedModel } from "../../src/index.ts";
import { segmentKey } from "../../src/history/object-keys.ts";
import { SegmentCache, load } from "../../src/history/load.ts";
import { show } from "../../src/operations/views.ts";
import { AT, stateAfter, callPart, row, textPart, EVENT } from "../support/states/states-and-events.ts";
import { beginRun, drive, runnerOf } from "../support/harness/drive.ts";

/** A transcript with several segments and a tail. */
const turn = (index: number): Event[] => [
  EVENT.replied([callPart("look", "x".repeat(4_000))]),
  EVENT.resulted(`c${index + 1}`, "y".repeat(4_000)),
];
const long = stateAfter(EVENT.started, ...Array.from({ length: 9 }, (_, index) => turn(index)).flat());

function stored(
  state: State,
  journal: readonly Event[] = [],
): { readonly row: Row; readonly objects: Map<string, Uint8Array> } {
  const { digest, bytes, segments } = encodeSnapshot({
    ...{ version: 4, previous: null, seal: NOTHING_SEALED, commits: [], state, ...FEW_BYTES },
  });
  const objects = new Map([["s4", bytes]]);
  for (const segment of segments) objects.set(segmentKey(state, segment.ref.sha256), encodeSegment(segment));
  const commits = journal.length > 0 ? encodeJournal([{ version: 5, epoch: 1, events: journal }]) : null;
  return { objects, row: row({ version: 5, snapshot: { version: 4, key: "s4", digest }, journal: commits }) };
}

const store = (objects: ReadonlyMap<string, Uint8Array>) => ({
  kernel: KERNEL,
  objects: {
    ...memoryObjectStore(memoryStore(), virtualClock(AT)),
    get: async (key: string) => objects.get(key) ?? null,
    put: async () => ({ kind: "stored" }) as const,
  },
});

describe("a run", () => {
  test("is loaded from its snapshot with the journal folded over it", async () => {
    const { row: committed, objects } = stored(long, [EVENT.replied([textPart("done")])]);
    const loaded = await load(store(objects), committed, new SegmentCache());
    expect(loaded.state).toEqual(
      stateAfter(
        EVENT.started,
        ...Array.from({ length: 9 }, (_, index) => turn(index)).flat(),
        EVENT.replied([textPart("done")]),
      ),
    );
    expect(loaded.state.phase).toBe("Reflecting");
    expect(loaded.journal).toMatchObject([{ version: 5 }]);
    expect(loaded.stored.size).toBe(objects.size - 1);
  });

  test("reads a segment once per process", async () => {
    const { row: committed, objects } = stored(long);
    const cache = new SegmentCache();
    await load(store(objects), committed, cache);
    const snapshotAlone = new Map([...objects].filter(([key]) => key === "s4"));
    expect((await load(store(snapshotAlone), committed, cache)).state).toEqual(long);
  });
});

describe("a load is refused for", () => {
  const refused = async (change: (found: ReturnType<typeof stored>) => ReturnType<typeof stored>) => {
    const { row: committed, objects } = change(stored(long, [EVENT.replied([textPart("done")])]));
    return load(store(objects), committed, new SegmentCache()).then(
      () => "loaded",
      (error: unknown) => error,
    );
  };
  const without = (pattern: RegExp) => (found: ReturnType<typeof stored>) => ({
    ...found,
    objects: new Map([...found.objects].filter(([key]) => !pattern.test(key))),
  });

  test("a row of another format, which names both versions", async () => {
    const error = await refused((found) => ({ ...found, row: { ...found.row, format: 7 } }));
    expect(error).toMatchObject({
      code: "RowNewer",
      message: expect.stringContaining("format 7, and this version of cairn knows format 2"),
    });
  });

  test("a missing snapshot or a missing segment", async () => {
    expect(await refused(without(/^s4$/))).toMatchObject({ name: "Unreadable", code: "SnapshotMissing" });
    expect(await refused(without(/segments/))).toMatchObject({ name: "Unreadable", code: "SegmentMissing" });
  });

  test("the snapshot of another run", async () => {
    const error = await refused(() => stored({ ...stateAfter(EVENT.started), born: "z".repeat(10) }));
    expect(error).toMatchObject({ name: "Unreadable", message: expect.stringContaining("belongs to run") });
  });

  test("a journal whose events do not follow from the snapshot", async () => {
    const error = await refused(() => stored(long, [EVENT.resulted("c1")]));
    expect(error).toMatchObject({
      name: "Unreadable",
      message: expect.stringContaining("does not follow its snapshot"),
    });
  });

  test("a journal that the schema refuses, unless the row names the stored forms of this code", async () => {
    const { row: committed, objects } = stored(long);
    const commits = [{ version: 5, epoch: 1, events: [{ ...EVENT.replied([textPart("done")]), tookMs: -1 }] }];
    const strange = { ...committed, journal: encodeJournal(commits) };
    const loaded = (checksum?: string) =>
      load(store(objects), checksum === undefined ? strange : { ...strange, checksum }, new SegmentCache());
    const own = checksumOf(strange);
    expect((await loaded(own)).journal).toEqual(commits);
    const refusal = { name: "Unreadable", message: expect.stringContaining("the journal: ") };
    await expect(loaded(own.replace(FINGERPRINT, "00000000"))).rejects.toMatchObject(refusal);
    await expect(loaded()).rejects.toMatchObject(refusal);
  });
});

test("a run stays readable when a clock is set back during a model call", async () => {
  let now = AT;
  const clock = { now: () => now, earliest: () => now, after: () => () => undefined };
  const reply = () => {
    now -= 3_600_000;
    return { text: "over" };
  };
  const model = scriptedModel({ name: "m", reply });
  const options = { name: "late", version: "1", instructions: "", task: z.object({}), tools: {}, model };
  const agent = defineAgent(options) as Agent;
  const world = withKernel(memoryWorld({ limits: limitsFor(3_000), clock }));
  const payload = await beginRun(world, agent, {});
  expect(await drive(runnerOf(world, agent), payload)).toMatchObject({ route: "done" });
  expect(await show(world, payload.run)).toMatchObject({ status: "completed", result: "over" });
});
