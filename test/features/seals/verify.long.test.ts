/** `verify`: silent about a run that is as it was written, and never silent about one that is not. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { travel } from "../../../agents/travel/agent.ts";
import type { Agent } from "../../../src/ports/agent.ts";
import { type SealedEvents, decodeSealed, encodeSealed } from "../../../src/codec/sealed.ts";
import { decodeJournal, encodeJournal } from "../../../src/codec/journal.ts";
import { type Snapshot, encodeCommits } from "../../../src/codec/snapshot.ts";
import type { Row } from "../../../src/protocol/row.ts";
import { transcript } from "../../../src/operations/views.ts";
import { verify } from "../../../src/features/seals/verify.ts";
import type { Event } from "../../../src/core/event.ts";
import { SHA, EVENT } from "../../support/states/states-and-events.ts";
import { BEATS, DamagedCopy, type StoredRun, createLongRun } from "../../support/runs/damaged-copies.ts";
import { beginRun, drive, runnerOf } from "../../support/harness/drive.ts";
import { createHarness } from "../../support/harness/harness.ts";
import { STRIDE } from "../../support/gate/stride.ts";

let storedRun: StoredRun;

beforeAll(async () => {
  storedRun = await createLongRun();
});

const copy = (): DamagedCopy => new DamagedCopy(storedRun);

describe("a healthy run", () => {
  test("of the travel example has no findings", async () => {
    const dir = mkdtempSync(join(tmpdir(), "travel-"));
    vi.stubEnv("TRAVEL_SERVICES", dir);
    vi.stubEnv("TRAVEL_PACE", "0");
    onTestFinished(() => {
      vi.unstubAllEnvs();
      rmSync(dir, { recursive: true });
    });
    const { world } = createHarness();
    const agent = travel as Agent;
    const payload = await beginRun(world, agent, { from: "Berlin", to: "Lisbon" });
    expect(await verify(world, payload)).toMatchObject({ commits: 0, snapshots: 1, findings: [] });
    expect(await drive(runnerOf(world, agent), payload)).toMatchObject({ route: "done" });
    const { run } = payload;
    const steps: number[] = [];
    const onStep = (version: number): unknown => steps.push(version);
    const verified = await verify(world, { run, onStep: (version) => void onStep(version) });
    expect(verified).toEqual({
      ...{ run, agent: "travel", findings: [], readable: true, advice: null },
      seal: { is: "unsealed", from: null, keys: [] },
      ...{ snapshots: 9, commits: expect.any(Number) as number, sealed: 0, segments: 0, blobs: 0, files: 0 },
    });
    expect(steps).toHaveLength(9);
    expect(steps).toEqual(steps.toSorted((one, other) => other - one));
    expect(verified?.commits).toBe(world.store.rows.get(run)?.version);
  });

  test("has none during a beat either, with sealed events, segments, blobs and a journal", async () => {
    const { world, row } = copy();
    expect(row.journal).not.toBeNull();
    const verified = await verify(world, { run: storedRun.run });
    expect(verified?.findings).toEqual([]);
    expect(verified).toMatchObject({ snapshots: BEATS + 1, sealed: 1, blobs: 1 });
    expect(verified?.segments).toBeGreaterThan(8);
  });

  test("is not found when its ID is unknown or it expired during the check", async () => {
    const gone = copy();
    expect(await verify(gone.world, { run: "local-nobody" })).toBeNull();
    const onStep = (): void => {
      gone.store.rows.clear();
      gone.store.objects.clear();
    };
    expect(await verify(gone.world, { run: storedRun.run, onStep })).toBeNull();
  });
});

describe("an object", () => {
  test("is reported when it is missing or has other bytes, whichever it is", async () => {
    const whole = copy();
    const snapshots = whole.keys("snapshots");
    const some = [0, 1, 30, 64, 65, BEATS].map((index) => snapshots[index] as string);
    const all = [...some, ...["segments", "blobs", "events"].flatMap((folder) => whole.keys(folder))];
    expect(all.length).toBeGreaterThan(9);
    for (const key of all.filter((_, index) => index % STRIDE === 0)) {
      const missing = copy();
      missing.delete(key);
      expect(await missing.findings()).toContainEqual(expect.stringMatching(/(is|are) missing$/));
      const damaged = copy();
      damaged.flip(key);
      expect(await damaged.findings()).toContainEqual(
        expect.stringMatching(/not match the digest|cannot be decompressed/) as string,
      );
    }
  });

  test("that is a snapshot ends the check of the chain, and not of the sealed events", async () => {
    const damaged = copy();
    const key = damaged.keys("snapshots")[30] as string;
    damaged.delete(key);
    const version = Number(/snapshots\/(\d+)/.exec(key)?.[1]);
    expect(await damaged.findings()).toEqual([
      `snapshot ${version}: snapshot ${key} is missing`,
      `snapshot ${version}: what comes before it in the chain could not be looked at`,
    ]);
    damaged.delete(damaged.keys("events")[0]);
    expect(await damaged.findings()).toHaveLength(3);
  });

  test("that is a segment or a blob is reported once, by the newest snapshot that names it", async () => {
    const damaged = copy();
    const { newest } = damaged;
    const { sha256: segment } = newest.state.manifest[0] ?? { sha256: "" };
    damaged.delete(damaged.keys("segments").find((key) => key.endsWith(segment)));
    expect(await damaged.findings()).toEqual([`snapshot ${newest.version}: segment ${segment} is missing`]);
    const other = copy();
    other.delete(other.keys("blobs")[0]);
    expect(await other.findings()).toEqual([
      expect.stringMatching(/^segment [0-9a-f]{64}: blob [0-9a-f]{64} is missing$/),
    ]);
  });

  test("that is a blob is found wherever it is referenced", async () => {
    const blob = { kind: "blob", sha256: SHA, bytes: 9, head: "", tail: "" } as const;
    const damaged = copy();
    damaged.forge((document) => ({ ...document, state: { ...document.state, task: blob } }));
    const { version } = damaged.newest;
    expect(await damaged.findings()).toContainEqual(`snapshot ${version}: blob ${SHA} is missing`);
    const other = copy();
    const journal = decodeJournal(other.row.journal);
    const result = { ...EVENT.resulted("c67"), value: blob } as Event;
    other.change({ journal: encodeJournal([...journal, { version: version + 2, epoch: 99, events: [result] }]) });
    expect(await other.findings()).toContainEqual(`the journal: blob ${SHA} is missing`);
  });

  test("that belongs to another run is refused", async () => {
    const damaged = copy();
    damaged.forge((document) => ({ ...document, state: { ...document.state, born: "z".repeat(10) } }));
    expect((await damaged.findings())[0]).toMatch(/belongs to run/);
  });
});

describe("a snapshot", () => {
  const forged = async (to: (document: Snapshot) => object): Promise<readonly string[]> => {
    const damaged = copy();
    damaged.forge(to);
    return damaged.findings();
  };
  const at = (): string => `snapshot ${storedRun.store.rows.get(storedRun.run)?.snapshot.version}`;

  test("whose state is not the fold of its commits is found", async () => {
    const edited = await forged((document) => ({ ...document, state: { ...document.state, nudges: 1 } }));
    expect(edited).toEqual([`${at()}: its state is not what its commits make of the state before it`]);
    const unfolded = await forged((document) => ({
      ...document,
      commits: document.commits.map((commit) => ({ ...commit, events: [...commit.events, EVENT.started] })),
    }));
    expect(unfolded).toEqual([`${at()}: RunStarted does not happen in ExecutingTools`]);
  });

  test("whose transcript is cut at other places has no findings", async () => {
    const tail = (await transcript(copy().world, storedRun.run)) ?? [];
    const journalled = 1;
    const uncut = { manifest: [], tail: tail.slice(0, -journalled) };
    expect(await forged((document) => ({ ...document, state: { ...document.state, ...uncut } }))).toEqual([]);
  });

  test("whose transcript has a gap is found", async () => {
    const gap = await forged((document) => ({
      ...document,
      state: { ...document.state, tail: document.state.tail.slice(1) },
    }));
    expect(gap).toContainEqual(expect.stringContaining(`${at()}: the transcript has a gap at message`));
  });

  test("whose commits fall back in epoch or version, or are not its own, is found", async () => {
    const earlier = await forged((document) => ({
      ...document,
      commits: document.commits.map((commit) => ({ ...commit, epoch: 3 })),
    }));
    expect(earlier).toContainEqual(expect.stringMatching(/^version \d+: epoch 3 committed it, after epoch \d+$/));
    const stray = await forged((document) => ({
      ...document,
      commits: document.commits.map((commit) => ({ ...commit, version: 7 })),
    }));
    expect(stray).toContainEqual(`${at()}: it holds version 7, which is not its own`);
    expect(stray).toContainEqual(expect.stringMatching(/^version 7: it comes after version \d+$/));
  });

  test("in the wrong place is found", async () => {
    expect(await forged((document) => ({ ...document, version: document.version + 1 }))).toContainEqual(
      expect.stringMatching(/it says that it is snapshot \d+$/),
    );
    const later = (document: Snapshot) => ({ ...document.previous, version: document.version + 1 });
    expect(await forged((document) => ({ ...document, previous: later(document) }))).toContainEqual(
      expect.stringMatching(/it names snapshot \d+ as the one before it$/),
    );
    expect(await forged((document) => ({ ...document, previous: null }))).toEqual([
      `${at()}: it names no snapshot before it`,
    ]);
  });

  test("that skips a seal, or counts wrong, is found", async () => {
    const what = "the sealed events that it names do not follow from the snapshot before it";
    expect(await forged((document) => ({ ...document, unsealed: 9 }))).toEqual([`${at()}: ${what}`]);
    expect(await forged((document) => ({ ...document, sealed: null, unsealed: 66 }))).toEqual([`${at()}: ${what}`]);
  });
});

describe("sealed events", () => {
  /** Other sealed events, named by the newest snapshot. */
  async function resealed(to: (sealed: SealedEvents) => SealedEvents) {
    const damaged = copy();
    const known = damaged.newest.sealed;
    if (known === null) throw new Error("nothing is sealed");
    const sealed = to(decodeSealed(known, damaged.object(known.key)));
    const { ref, bytes } = encodeSealed({ ...sealed, commits: [encodeCommits(sealed.commits)] });
    damaged.store.objects.set("elsewhere", bytes);
    damaged.forge((document) => ({ ...document, sealed: { ...ref, key: "elsewhere" } }));
    return damaged.findings();
  }

  test("with other commits than the snapshots are found", async () => {
    const what = /^sealed events 1 to \d+: they are not the commits of the snapshots that they stand for$/;
    const fewer = await resealed((sealed) => ({ ...sealed, commits: sealed.commits.slice(1) }));
    expect(fewer).toContainEqual(expect.stringMatching(what));
    const other = await resealed((sealed) => ({
      ...sealed,
      commits: sealed.commits.map((commit, index) => (index === 9 ? { ...commit, events: [] } : commit)),
    }));
    expect(other).toContainEqual(expect.stringMatching(what));
  });

  test("that do not follow on others are found", async () => {
    expect(await resealed((sealed) => ({ ...sealed, from: 2 }))).toContainEqual(
      expect.stringMatching(/^sealed events 2 to \d+: they do not follow on those before them$/),
    );
  });
});

describe("a journal", () => {
  test("that is damaged, or does not follow from its snapshot, is found", async () => {
    const damaged = copy();
    damaged.change({ journal: new Uint8Array([9, 9]) });
    expect(await damaged.findings()).toEqual([
      expect.stringMatching(/^the journal: the journal cannot be decompressed/),
    ]);
    const strange = copy();
    const version = strange.row.version;
    strange.change({ journal: encodeJournal([{ version, epoch: 67, events: [EVENT.resulted("c99")] }]) });
    expect(await strange.findings()).toEqual([expect.stringMatching(/^the journal: .+/)]);
  });

  test("of the future is found", async () => {
    const damaged = copy();
    const commits = decodeJournal(damaged.row.journal);
    const later = commits.map((commit) => ({ ...commit, version: commit.version + 5, epoch: 99 }));
    damaged.change({ journal: encodeJournal(later) });
    expect(await damaged.findings()).toEqual([
      expect.stringMatching(/^the row: its version is \d+, and \d+ is committed$/),
      expect.stringMatching(/^the row: its epoch is \d+, and epoch 99 has committed$/),
    ]);
  });
});

describe("a row", () => {
  test.each<readonly [string, (row: Row) => Partial<Row>, RegExp]>([
    ["phase", () => ({ phase: "Reflecting" }), /its phase is "Reflecting", and its events give "ExecutingTools"$/],
    ["status", () => ({ status: "queued" }), /its status is "queued", and its events give "running"$/],
    ["spent", ({ spent }) => ({ spent: { ...spent, beats: 1 } }), /its spent is \{"beats":1,.*give \{"beats":67,/],
    ["agent version", () => ({ agentVersion: "2" }), /its agent version is "2", and its events give "1"$/],
    ["agent", () => ({ agent: "other" }), /its agent is "other", and its events give "actor"$/],
    ["version", ({ version }) => ({ version: version - 1 }), /its version is \d+, and \d+ is committed$/],
    [
      "epoch",
      () => ({ epoch: 5, chainClaims: 5, entry: null, owner: null, leaseUntil: null }),
      /its epoch is 5, and epoch \d+ has committed$/,
    ],
    ["task", () => ({ inputDigest: SHA }), /its task has another digest than the one that the run was started with$/],
    ["format", () => ({ format: 0 }), /was written by a cairn before its first release/],
  ])("with another %s is found", async (_, change, says) => {
    const damaged = copy();
    damaged.change(change(damaged.row));
    const found = await damaged.findings();
    expect(found).toHaveLength(1);
    expect(found[0]).toMatch(/^the row: /);
    expect(found[0]).toMatch(says);
  });
});

test("an unreachable store is an error, not a finding", async () => {
  const { world } = copy();
  const get = (): Promise<never> => Promise.reject(new Error("the store is away"));
  await expect(verify({ ...world, objects: { ...world.objects, get } }, { run: storedRun.run })).rejects.toThrow(
    "away",
  );
});
