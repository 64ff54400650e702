/** Sealed events: when they are written and by whom, and that nothing of it can hold a run up or be written twice. */
import { describe, expect, test } from "vitest";
import { decodeSnapshot } from "../../src/codec/snapshot.ts";
import { SIZES } from "../../src/codec/limits.ts";
import type { Payload } from "../../src/protocol/chain.ts";
import type { World } from "../../src/ports/world.ts";
import { CommitCache } from "../../src/history/commits.ts";
import { ledger, timeline } from "../../src/operations/views.ts";
import { send } from "../../src/operations/steer.ts";
import { verify } from "../../src/features/seals/verify.ts";
import { EVENT } from "../support/states/states-and-events.ts";
import { attemptBeat, beginRun, drive, killableWorld, runnerOf } from "../support/harness/drive.ts";
import { runBeats, longRunAgent, recordObjectCalls } from "../support/runs/long-runs.ts";
import { type Harness, callsThenFinal, neverSettles, createHarness } from "../support/harness/harness.ts";
import { beforeCall } from "../support/harness/chain-steps.ts";

const PER_SEAL = SIZES.snapshotsPerSeal;
const LONG = longRunAgent({ reply: callsThenFinal(1_000) });

/** A run on a stage after that many beats, each of which committed one snapshot. */
async function after(count: number, harness: Harness = createHarness()) {
  const payload = await beginRun(harness.world, LONG, {});
  const warm = runnerOf(harness.world, LONG);
  return { harness, warm, payload: await runBeats(warm, payload, count) };
}

const sealedIn = ({ world }: Harness): readonly string[] =>
  [...world.store.objects.keys()].filter((key) => key.includes("/events/"));

/** What the row's snapshot says of its history. */
function sealOf(harness: Harness, { run }: Payload) {
  const { snapshot } = harness.row(run);
  const { sealed, unsealed } = decodeSnapshot(snapshot, harness.world.store.objects.get(snapshot.key) as Uint8Array);
  return { from: sealed?.from, to: sealed?.to, unsealed };
}

/** The run is as it should be, and its timeline is that of the chain of snapshots, event by event. */
async function isWhole({ world }: Harness, { run }: Payload): Promise<void> {
  expect(await verify(world, { run })).toMatchObject({ findings: [] });
  const told = (await timeline(world, { run, after: 0 })) ?? [];
  expect(told).toEqual(fromChain(world.store.objects, (await world.table.read(run, 0))?.snapshot ?? null));
}

function fromChain(objects: ReadonlyMap<string, Uint8Array>, newest: Parameters<typeof decodeSnapshot>[0] | null) {
  const entries: unknown[][] = [];
  for (let pointer = newest; pointer !== null;) {
    const { commits, previous } = decodeSnapshot(pointer, objects.get(pointer.key) as Uint8Array);
    entries.push(commits.flatMap(({ events, ...by }) => events.map((event) => ({ ...by, ...event }))));
    pointer = previous;
  }
  return entries.toReversed().flat();
}

describe("snapshots are sealed", () => {
  test("when one object is full, by the commit that follows", async () => {
    expect(PER_SEAL).toBe(64);
    const { harness, warm, payload } = await after(PER_SEAL);
    const last = harness.row(payload.run).version;
    expect(sealedIn(harness)).toEqual([]);
    expect(sealOf(harness, payload)).toEqual({ unsealed: PER_SEAL });
    const next = await runBeats(warm, payload, 1);
    expect(sealedIn(harness)).toEqual([expect.stringMatching(new RegExp(`/events/1-${last}-[0-9a-f]{16}$`))]);
    expect(sealOf(harness, next)).toEqual({ from: 1, to: last, unsealed: 1 });
    await isWhole(harness, next);
  });

  test("once for each 64: the 128th still counts, the 129th names a second object", async () => {
    const { harness, warm, payload } = await after(2 * PER_SEAL);
    const last = harness.row(payload.run).version;
    const first = sealOf(harness, payload);
    expect(first).toMatchObject({ from: 1, unsealed: PER_SEAL });
    expect(sealedIn(harness)).toHaveLength(1);
    const next = await runBeats(warm, payload, 1);
    expect(sealOf(harness, next)).toEqual({ from: (first.to ?? 0) + 1, to: last, unsealed: 1 });
    expect(sealedIn(harness)).toHaveLength(2);
    await isWhole(harness, next);
    harness.world.store.objects.delete(sealedIn(harness)[1] as string);
    expect((await verify(harness.world, next))?.findings.map(({ what }) => what)).toEqual([
      expect.stringMatching(/are missing$/),
      "the sealed events before them could not be looked at",
    ]);
  });

  test("before the snapshot that names them, and never twice by one process", async () => {
    const { harness, payload, warm } = await after(PER_SEAL);
    const put: World["objects"]["put"] = async (key, bytes) => {
      // Whoever does not wait for it is ahead of it.
      if (key.includes("/events/")) await new Promise((resolve) => setImmediate(resolve));
      return harness.world.objects.put(key, bytes);
    };
    const { world, puts } = recordObjectCalls({ ...harness.world, objects: { ...harness.world.objects, put } });
    await runBeats({ ...warm, world }, payload, PER_SEAL);
    const kinds = puts.map(({ key }) => /\/(events|snapshots)\//.exec(key)?.[1]).filter((kind) => kind !== undefined);
    expect(kinds).toEqual(["events", ...Array.from({ length: PER_SEAL }, () => "snapshots")]);
  });

  test("without a read by a process that wrote or read them", async () => {
    const { harness, payload, warm } = await after(PER_SEAL);
    const { world, gets } = recordObjectCalls(harness.world);
    await runBeats({ ...warm, world }, payload, 1);
    expect(gets).toEqual([]);
  });

  test("by a process without them in its cache, which reads each once", async () => {
    const { harness, payload } = await after(PER_SEAL);
    const { world, gets } = recordObjectCalls(harness.world);
    const next = await runBeats(runnerOf(world, LONG), payload, 1);
    const read = gets.filter((key) => key.includes("/snapshots/"));
    expect(read).toHaveLength(PER_SEAL);
    expect(new Set(read).size).toBe(PER_SEAL);
    expect(sealOf(harness, next)).toMatchObject({ from: 1, unsealed: 1 });
    await isWhole(harness, next);
  });
});

/** The key of the snapshot that the beat of that number committed. */
const rowKey = ({ world }: Harness, { run }: Payload, beat: number): string =>
  [...world.store.objects.keys()].filter((key) => key.includes(`${run}/`) && key.includes("/snapshots/"))[beat] ?? "";

describe("several snapshots of one invocation", () => {
  /** Words that do not compress: the journal is full with every reply. */
  const wordy = (world: World) =>
    longRunAgent({
      reply: ({ calls }) => {
        const words = Array.from({ length: 90 }, (_, index) => world.hash(`${calls.length}/${index}`)).join("");
        return calls.length < 200 ? { text: words, calls: [{ tool: "act", args: {} }] } : { text: "over" };
      },
    });

  test("are sealed without a read, too", async () => {
    const harness = createHarness({ beatsPerInvocation: 100 });
    const agent = wordy(harness.world);
    const payload = await beginRun(harness.world, agent, {});
    const { world, gets } = recordObjectCalls(harness.world);
    const next = await runBeats(runnerOf(world, agent), payload, 1);
    expect(sealOf(harness, next)).toMatchObject({ from: 1 });
    expect(sealedIn(harness)).toHaveLength(1);
    expect(gets).toHaveLength(1);
    await isWhole(harness, next);
  });
});

describe("a crash between the sealed events and their snapshot", () => {
  test("lets the next epoch write the same object under the same key again", async () => {
    const { harness, payload } = await after(PER_SEAL);
    const { world, kill } = killableWorld(harness.world);
    let died: () => void = () => undefined;
    const isDead = new Promise<void>((resolve) => {
      died = resolve;
    });
    const put: World["objects"]["put"] = async (key, bytes) => {
      if (!key.includes("/snapshots/")) return world.objects.put(key, bytes);
      kill();
      died();
      return neverSettles();
    };
    void attemptBeat(runnerOf({ ...world, objects: { ...world.objects, put } }, LONG), payload);
    await isDead;
    const orphan = sealedIn(harness);
    expect(orphan).toHaveLength(1);
    expect(sealOf(harness, payload)).toEqual({ unsealed: PER_SEAL });

    const again = recordObjectCalls(harness.world);
    expect(await attemptBeat(runnerOf(again.world, LONG), payload, 1)).toMatchObject({ reply: { route: "beat" } });
    expect(again.puts.filter(({ key }) => key.includes("/events/"))).toEqual([{ key: orphan[0], outcome: "exists" }]);
    expect(sealedIn(harness)).toEqual(orphan);
    expect(sealOf(harness, payload)).toMatchObject({ from: 1, unsealed: 1 });
    await isWhole(harness, payload);
  });

  test("and a commit that is refused because of a wake-up do not move the seal", async () => {
    const harness = createHarness();
    const agent = longRunAgent({ reply: callsThenFinal(PER_SEAL) });
    const runner = runnerOf(harness.world, agent);
    const payload = await runBeats(runner, await beginRun(harness.world, agent, {}), PER_SEAL);
    const { run } = payload;
    const act = (): Promise<unknown> => send(harness.world, { run, text: "wait", by: "ada", id: "w1" });
    const world = beforeCall(harness.world, "commit", act, ({ unlessWoken }) => unlessWoken);
    expect(await drive({ ...runner, world }, payload)).toMatchObject({ route: "done" });
    expect(sealedIn(harness)).toHaveLength(1);
    expect(sealOf(harness, payload)).toMatchObject({ from: 1, unsealed: 2 });
    await isWhole(harness, payload);
  });
});

describe("a history stays unsealed", () => {
  test("when no time is left to read it, and is sealed with later commits", async () => {
    const { harness, payload } = await after(PER_SEAL);
    const get: World["objects"]["get"] = async (key) => {
      if (key.includes("/snapshots/")) harness.clock.moveTo(harness.clock.now() + 100);
      return harness.world.objects.get(key);
    };
    const slow = recordObjectCalls({ ...harness.world, objects: { ...harness.world.objects, get } });
    const next = await runBeats(runnerOf(slow.world, LONG), payload, 1);
    expect(slow.gets.length).toBeLessThan(PER_SEAL / 2);
    expect(sealedIn(harness)).toEqual([]);
    expect(sealOf(harness, next)).toEqual({ unsealed: PER_SEAL + 1 });
    const later = await runBeats(runnerOf(harness.world, LONG), next, PER_SEAL);
    expect(sealOf(harness, later)).toMatchObject({ from: 1, unsealed: 1 });
    expect(sealedIn(harness)).toHaveLength(1);
    await isWhole(harness, later);
  });

  test("when a snapshot of it is missing: the run continues, with one alarm for each 64", async () => {
    const { harness, payload } = await after(PER_SEAL);
    harness.world.store.objects.delete(rowKey(harness, payload, 10));
    const alarms: string[] = [];
    const record: World["telemetry"]["record"] = ({ level, what }) => {
      if (level === "alarm") alarms.push(what);
    };
    const later = await runBeats(runnerOf({ ...harness.world, telemetry: { record } }, LONG), payload, PER_SEAL + 1);
    expect(alarms).toEqual(["HistoryUnreadable", "HistoryUnreadable"]);
    expect(sealedIn(harness)).toEqual([]);
    expect(sealOf(harness, later)).toEqual({ unsealed: 2 * PER_SEAL + 1 });
    await expect(timeline(harness.world, { run: payload.run, after: 0 })).rejects.toThrow("is missing");
  });
});

test("a warm process caches a bounded number of the newest commits", () => {
  const cache = new CommitCache();
  const link = (text: string) => ({
    previous: null,
    commits: [{ version: 1, epoch: 1, events: [EVENT.messageReceived(text)] }],
  });
  for (let count = 0; count < 40; count += 1) cache.add(`s${count}`, link("x".repeat(1024 * 1024)));
  const kept = Array.from({ length: 40 }, (_, count) => cache.get(`s${count}`)).map((each) => each !== undefined);
  expect(kept.filter(Boolean).length).toBe(15);
  expect(kept.lastIndexOf(false)).toBe(24);
  cache.add("s39", link("another"));
  expect(cache.get("s39")?.text).toContain("x".repeat(1024 * 1024));
});

test("a warm process keeps no commits that are sealed", async () => {
  const { harness, payload, warm } = await after(2 * PER_SEAL);
  const kept = (): number => snapshotsOf(harness, payload).filter((digest) => warm.commits.get(digest)).length;
  expect(kept()).toBe(PER_SEAL);
  const next = await runBeats(warm, payload, 1);
  expect(sealOf(harness, next)).toMatchObject({ unsealed: 1 });
  expect(kept()).toBe(1);
});

/** The digests of all snapshots of the run. */
function snapshotsOf({ world }: Harness, { run }: Payload): readonly string[] {
  const digests: string[] = [];
  for (let pointer = world.store.rows.get(run)?.snapshot ?? null; pointer !== null;) {
    digests.push(pointer.digest);
    pointer = decodeSnapshot(pointer, world.store.objects.get(pointer.key) as Uint8Array).previous;
  }
  return digests;
}

describe("a timeline of 300 beats", () => {
  test("takes tens of reads, and one for new events", async () => {
    const { harness, payload } = await after(300);
    const { world, gets } = recordObjectCalls(harness.world);
    const { run } = payload;
    const all = (await timeline(world, { run, after: 0 })) ?? [];
    expect(all.filter(({ kind }) => kind === "ModelCallCompleted")).toHaveLength(300);
    expect(gets.length).toBeLessThan(80);
    expect(new Set(gets).size).toBe(gets.length);
    const counted = gets.length;
    expect(await ledger(world, run)).toHaveLength(300);
    expect(gets.length).toBe(2 * counted);

    const { version } = harness.row(run);
    for (const [from, readsMax] of [[version, 0] as const, [version - 1, 1] as const, [version - 9, 9] as const]) {
      gets.length = 0;
      expect(await timeline(world, { run, after: from })).toEqual(all.filter((entry) => entry.version > from));
      expect(gets.length).toBeLessThanOrEqual(readsMax);
    }
    const { to = 0 } = sealOf(harness, payload);
    for (const from of [1, to - 1, to, to + 1]) {
      expect(await timeline(world, { run, after: from })).toEqual(all.filter((entry) => entry.version > from));
    }
    await isWhole(harness, payload);
  });
});
