/** Sealed events: when they are written and by whom, and that nothing of it can hold a run up or be written twice. */
import { describe, expect, test } from "vitest";
import { decodeSnapshot } from "../../src/codec/snapshot.ts";
import { SIZES } from "../../src/codec/limits.ts";
import type { Payload } from "../../src/protocol/chain.ts";
import type { World } from "../../src/ports/world.ts";
import { CommitCache } from "../../src/history/commits.ts";
import { ledger, timeline } from "../../src/operations/views.ts";
import { send } from "../../src/operations/steer.ts";
import { verify } from "../../src/history/verify.ts";
import { heard } from "../support/build.ts";
import { attempt, begin, drive, mortal, runnerOf } from "../support/drive.ts";
import { beats, longActor, recorded } from "../support/history.ts";
import { type Stage, beforeCommit, callsThenOver, never, rowOf, stage } from "../support/stage.ts";

const PER_SEAL = SIZES.snapshotsPerSeal;
const LONG = longActor({ reply: callsThenOver(1_000) });

/** A run on a stage after that many beats, each of which committed one snapshot. */
async function after(count: number, on: Stage = stage()) {
  const payload = await begin(on.world, LONG, {});
  const warm = runnerOf(on.world, LONG);
  return { on, warm, payload: await beats(warm, payload, count) };
}

const sealedIn = ({ world }: Stage): readonly string[] =>
  [...world.store.objects.keys()].filter((key) => key.includes("/events/"));

/** What the row's snapshot says of its history. */
function sealOf(on: Stage, { run }: Payload) {
  const { snapshot } = rowOf(on, run);
  const { sealed, unsealed } = decodeSnapshot(snapshot, on.world.store.objects.get(snapshot.key) as Uint8Array);
  return { from: sealed?.from, to: sealed?.to, unsealed };
}

/** The run is as it should be, and its timeline is that of the chain of snapshots, event by event. */
async function isWhole({ world }: Stage, { run }: Payload): Promise<void> {
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
  test("when as many are committed as one object holds, by the one that follows", async () => {
    expect(PER_SEAL).toBe(64);
    const { on, warm, payload } = await after(PER_SEAL);
    const last = rowOf(on, payload.run).version;
    expect(sealedIn(on)).toEqual([]);
    expect(sealOf(on, payload)).toEqual({ unsealed: PER_SEAL });
    const next = await beats(warm, payload, 1);
    expect(sealedIn(on)).toEqual([expect.stringMatching(new RegExp(`/events/1-${last}-[0-9a-f]{16}$`))]);
    expect(sealOf(on, next)).toEqual({ from: 1, to: last, unsealed: 1 });
    await isWhole(on, next);
  });

  test("once for each 64: the 128th still counts, the 129th names a second object", async () => {
    const { on, warm, payload } = await after(2 * PER_SEAL);
    const last = rowOf(on, payload.run).version;
    const first = sealOf(on, payload);
    expect(first).toMatchObject({ from: 1, unsealed: PER_SEAL });
    expect(sealedIn(on)).toHaveLength(1);
    const next = await beats(warm, payload, 1);
    expect(sealOf(on, next)).toEqual({ from: (first.to ?? 0) + 1, to: last, unsealed: 1 });
    expect(sealedIn(on)).toHaveLength(2);
    await isWhole(on, next);
    on.world.store.objects.delete(sealedIn(on)[1] as string);
    expect((await verify(on.world, next))?.findings.map(({ what }) => what)).toEqual([
      expect.stringMatching(/are missing$/),
      "the sealed events before them could not be looked at",
    ]);
  });

  test("before the snapshot that names them, and never twice by one process", async () => {
    const { on, payload, warm } = await after(PER_SEAL);
    const put: World["objects"]["put"] = async (key, bytes) => {
      // Whoever does not wait for it is ahead of it.
      if (key.includes("/events/")) await new Promise((resolve) => setImmediate(resolve));
      return on.world.objects.put(key, bytes);
    };
    const { world, puts } = recorded({ ...on.world, objects: { ...on.world.objects, put } });
    await beats({ ...warm, world }, payload, PER_SEAL);
    const kinds = puts.map(({ key }) => /\/(events|snapshots)\//.exec(key)?.[1]).filter((kind) => kind !== undefined);
    expect(kinds).toEqual(["events", ...Array.from({ length: PER_SEAL }, () => "snapshots")]);
  });

  test("without a read by a process that wrote or read them", async () => {
    const { on, payload, warm } = await after(PER_SEAL);
    const { world, gets } = recorded(on.world);
    await beats({ ...warm, world }, payload, 1);
    expect(gets).toEqual([rowKey(on, payload, PER_SEAL)]);
  });

  test("by a process that never saw them, which reads each once", async () => {
    const { on, payload } = await after(PER_SEAL);
    const { world, gets } = recorded(on.world);
    const next = await beats(runnerOf(world, LONG), payload, 1);
    const read = gets.filter((key) => key.includes("/snapshots/"));
    expect(read).toHaveLength(PER_SEAL);
    expect(new Set(read).size).toBe(PER_SEAL);
    expect(sealOf(on, next)).toMatchObject({ from: 1, unsealed: 1 });
    await isWhole(on, next);
  });
});

/** The key of the snapshot that the beat of that number committed. */
const rowKey = ({ world }: Stage, { run }: Payload, beat: number): string =>
  [...world.store.objects.keys()].filter((key) => key.includes(`${run}/`) && key.includes("/snapshots/"))[beat] ?? "";

describe("several snapshots of one invocation", () => {
  /** Words that do not compress: the journal is full with every reply. */
  const wordy = (world: World) =>
    longActor({
      reply: ({ calls }) => {
        const words = Array.from({ length: 90 }, (_, index) => world.hash(`${calls.length}/${index}`)).join("");
        return calls.length < 200 ? { text: words, calls: [{ tool: "act", args: {} }] } : { text: "over" };
      },
    });

  test("are sealed without a read, too", async () => {
    const on = stage({ beatsPerInvocation: 100 });
    const agent = wordy(on.world);
    const payload = await begin(on.world, agent, {});
    const { world, gets } = recorded(on.world);
    const next = await beats(runnerOf(world, agent), payload, 1);
    expect(sealOf(on, next)).toMatchObject({ from: 1 });
    expect(sealedIn(on)).toHaveLength(1);
    expect(gets).toHaveLength(1);
    await isWhole(on, next);
  });
});

describe("a crash between the sealed events and their snapshot", () => {
  test("leaves what the next epoch writes again: the same object under the same key", async () => {
    const { on, payload } = await after(PER_SEAL);
    const { world, kill } = mortal(on.world);
    let died: () => void = () => undefined;
    const isDead = new Promise<void>((resolve) => {
      died = resolve;
    });
    const put: World["objects"]["put"] = async (key, bytes) => {
      if (!key.includes("/snapshots/")) return world.objects.put(key, bytes);
      kill();
      died();
      return never();
    };
    void attempt(runnerOf({ ...world, objects: { ...world.objects, put } }, LONG), payload);
    await isDead;
    const orphan = sealedIn(on);
    expect(orphan).toHaveLength(1);
    expect(sealOf(on, payload)).toEqual({ unsealed: PER_SEAL });

    const again = recorded(on.world);
    expect(await attempt(runnerOf(again.world, LONG), payload, 1)).toMatchObject({ reply: { route: "beat" } });
    expect(again.puts.filter(({ key }) => key.includes("/events/"))).toEqual([{ key: orphan[0], outcome: "exists" }]);
    expect(sealedIn(on)).toEqual(orphan);
    expect(sealOf(on, payload)).toMatchObject({ from: 1, unsealed: 1 });
    await isWhole(on, payload);
  });

  test("and a commit that is refused as stirred does not move the seal", async () => {
    const on = stage();
    const agent = longActor({ reply: callsThenOver(PER_SEAL) });
    const runner = runnerOf(on.world, agent);
    const payload = await beats(runner, await begin(on.world, agent, {}), PER_SEAL);
    const { run } = payload;
    const act = (): Promise<unknown> => send(on.world, { run, text: "wait", by: "ada", id: "w1" });
    const world = beforeCommit(on, { when: ({ unlessWoken }) => unlessWoken, act });
    expect(await drive({ ...runner, world }, payload)).toMatchObject({ route: "done" });
    expect(sealedIn(on)).toHaveLength(1);
    expect(sealOf(on, payload)).toMatchObject({ from: 1, unsealed: 2 });
    await isWhole(on, payload);
  });
});

describe("a history is left as it is", () => {
  test("where no time is left to read it, and is sealed with what follows", async () => {
    const { on, payload } = await after(PER_SEAL);
    const get: World["objects"]["get"] = async (key) => {
      if (key.includes("/snapshots/")) on.clock.moveTo(on.clock.now() + 100);
      return on.world.objects.get(key);
    };
    const slow = recorded({ ...on.world, objects: { ...on.world.objects, get } });
    const next = await beats(runnerOf(slow.world, LONG), payload, 1);
    expect(slow.gets.length).toBeLessThan(PER_SEAL / 2);
    expect(sealedIn(on)).toEqual([]);
    expect(sealOf(on, next)).toEqual({ unsealed: PER_SEAL + 1 });
    const later = await beats(runnerOf(on.world, LONG), next, PER_SEAL);
    expect(sealOf(on, later)).toMatchObject({ from: 1, unsealed: 1 });
    expect(sealedIn(on)).toHaveLength(1);
    await isWhole(on, later);
  });

  test("where a snapshot of it is missing: the run goes on, with one alarm for each 64", async () => {
    const { on, payload } = await after(PER_SEAL);
    on.world.store.objects.delete(rowKey(on, payload, 10));
    const alarms: string[] = [];
    const record: World["telemetry"]["record"] = ({ level, what }) => {
      if (level === "alarm") alarms.push(what);
    };
    const later = await beats(runnerOf({ ...on.world, telemetry: { record } }, LONG), payload, PER_SEAL + 1);
    expect(alarms).toEqual(["HistoryUnreadable", "HistoryUnreadable"]);
    expect(sealedIn(on)).toEqual([]);
    expect(sealOf(on, later)).toEqual({ unsealed: 2 * PER_SEAL + 1 });
    await expect(timeline(on.world, { run: payload.run, after: 0 })).rejects.toThrow("is missing");
  });
});

test("a warm process keeps the newest commits, and only so many of them", () => {
  const cache = new CommitCache();
  const link = (text: string) => ({ previous: null, commits: [{ version: 1, epoch: 1, events: [heard(text)] }] });
  for (let count = 0; count < 40; count += 1) cache.add(`s${count}`, link("x".repeat(1024 * 1024)));
  const kept = Array.from({ length: 40 }, (_, count) => cache.get(`s${count}`)).map((each) => each !== undefined);
  expect(kept.filter(Boolean).length).toBe(15);
  expect(kept.lastIndexOf(false)).toBe(24);
  cache.add("s39", link("another"));
  expect(cache.get("s39")).toEqual(link("x".repeat(1024 * 1024)));
});

describe("a timeline of 300 beats", () => {
  test("takes tens of reads, and one for what is new", async () => {
    const { on, payload } = await after(300);
    const { world, gets } = recorded(on.world);
    const { run } = payload;
    const all = (await timeline(world, { run, after: 0 })) ?? [];
    expect(all.filter(({ kind }) => kind === "ModelCallCompleted")).toHaveLength(300);
    expect(gets.length).toBeLessThan(80);
    expect(new Set(gets).size).toBe(gets.length);
    const counted = gets.length;
    expect(await ledger(world, run)).toHaveLength(300);
    expect(gets.length).toBe(2 * counted);

    const { version } = rowOf(on, run);
    for (const [from, readsMax] of [[version, 0] as const, [version - 1, 1] as const, [version - 9, 9] as const]) {
      gets.length = 0;
      expect(await timeline(world, { run, after: from })).toEqual(all.filter((entry) => entry.version > from));
      expect(gets.length).toBeLessThanOrEqual(readsMax);
    }
    const { to = 0 } = sealOf(on, payload);
    for (const from of [1, to - 1, to, to + 1]) {
      expect(await timeline(world, { run, after: from })).toEqual(all.filter((entry) => entry.version > from));
    }
    await isWhole(on, payload);
  });
});
