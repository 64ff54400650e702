/** `replay`: silent about a run that is as it was recorded, and never silent about one that is not. */
import { gzipSync } from "node:zlib";
import { beforeAll, describe, expect, test } from "vitest";
import { readArchive } from "../../../src/codec/archive.ts";
import { canonical, sha256 } from "../../../src/codec/canonical.ts";
import { encodeJournal } from "../../../src/codec/journal.ts";
import type { Json } from "../../../src/core/json.ts";
import { exportRun } from "../../../src/features/archive/export.ts";
import { load, SegmentCache } from "../../../src/history/load.ts";
import { ledger, transcript } from "../../../src/operations/views.ts";
import {
  type Recording,
  RecordingDamaged,
  recordingIn,
  recordingOf,
  wrongWithFile,
} from "../../../src/features/archive/recording.ts";
import { KERNEL } from "../../../src/features/compose.ts";
import { replay } from "../../../src/features/archive/replay.ts";
import { BEATS, DamagedCopy, type StoredRun, createLongRun } from "../../support/runs/damaged-copies.ts";
import { beginRun, drive, runnerOf } from "../../support/harness/drive.ts";
import { scriptedAgent, callsThenFinal, createHarness } from "../../support/harness/harness.ts";

let storedRun: StoredRun;
let file: string;

const copy = (): DamagedCopy => new DamagedCopy(storedRun);

async function exported({ world, run }: Pick<DamagedCopy, "world" | "run">, blobBytesMax?: number): Promise<string> {
  const chunks: string[] = [];
  const write = (chunk: string): unknown => chunks.push(chunk);
  const bounded = blobBytesMax === undefined ? {} : { blobBytesMax };
  expect(await exportRun(world, { run, write: (chunk) => void write(chunk), ...bounded })).not.toBeNull();
  return chunks.join("");
}

const read = (text: string) => readArchive(Buffer.from(text));

async function recorded({ world, run }: DamagedCopy): Promise<Recording> {
  return (await recordingIn(world, { run })) as Recording;
}

beforeAll(async () => {
  storedRun = await createLongRun();
  file = await exported(copy());
});

describe("a recorded run", () => {
  test("folds to the stored state without its agent, also during a beat", async () => {
    const of = copy();
    const { state } = await load(of.world, of.row, new SegmentCache());
    const replayed = replay(KERNEL, await recorded(of));
    expect(replayed).toEqual({
      ...{ state, version: of.row.version, epoch: of.row.epoch, differs: null },
      ...{ commits: of.row.version, events: expect.any(Number) as number, snapshots: BEATS + 1 },
    });
  });

  test("folds from its file as from its store, gzipped or not, and the file needs no store", async () => {
    const of = copy();
    const archive = read(file);
    of.store.rows.clear();
    of.store.objects.clear();
    const fromFile = replay(KERNEL, recordingOf(archive));
    expect(fromFile).toEqual(replay(KERNEL, await recorded(copy())));
    expect(wrongWithFile(archive, fromFile.state)).toBeNull();
    expect(readArchive(gzipSync(file))).toEqual(archive);
  });

  test("is complete in its file: transcript, ledger, large values, and the fields of the row", async () => {
    const { world, run, row } = copy();
    const { messages, calls, blobs, leftOut, commits, run: facts } = read(file);
    expect(messages).toEqual(await transcript(world, run));
    expect(calls).toEqual(await ledger(world, run));
    expect({ blobs: blobs.size, leftOut, commits: commits.length }).toEqual({
      blobs: 1,
      leftOut: { blobs: [] },
      commits: row.version,
    });
    expect(facts).toMatchObject({ run, status: "running", phase: "ExecutingTools", endedAt: null, spent: row.spent });
    expect(await exported(copy())).toBe(file);
  });

  test("names the large values that the file omits, and is replayed nevertheless", async () => {
    const archive = read(await exported(copy(), 1_000));
    expect({ blobs: archive.blobs.size, leftOut: archive.leftOut.blobs.length }).toEqual({ blobs: 0, leftOut: 1 });
    const { state, differs } = replay(KERNEL, recordingOf(archive));
    expect({ differs, wrongWithFile: wrongWithFile(archive, state) }).toEqual({ differs: null, wrongWithFile: null });
  });

  test("can be folded up to a version, and no further", async () => {
    const recording = await recorded(copy());
    const { version, state, commits, differs } = replay(KERNEL, recording, { until: 9 });
    expect({ version, commits, differs }).toEqual({ version: 9, commits: 9, differs: null });
    expect(state.spent.beats).toBe(5);
    expect(replay(KERNEL, recording, { until: 0 })).toMatchObject({
      version: 0,
      commits: 0,
      snapshots: 1,
      differs: null,
    });
  });

  test("is not found when its ID is unknown or it expired during the read", async () => {
    const gone = copy();
    expect(await recordingIn(gone.world, { run: "local-nobody" })).toBeNull();
    const onStep = (): void => {
      gone.store.rows.clear();
      gone.store.objects.clear();
    };
    expect(await recordingIn(gone.world, { run: storedRun.run, onStep })).toBeNull();
    const other = copy();
    const clear = (): void => {
      other.store.rows.clear();
      other.store.objects.clear();
    };
    expect(await exportRun(other.world, { run: storedRun.run, write: () => undefined, onStep: clear })).toBeNull();
  });

  test("may have ended or not started", async () => {
    const harness = createHarness();
    const agent = scriptedAgent({ reply: callsThenFinal(3) });
    const payload = await beginRun(harness.world, agent, {});
    const queued = await recordingIn(harness.world, payload);
    expect(replay(KERNEL, queued as Recording)).toMatchObject({ version: 0, commits: 0, differs: null });
    await drive(runnerOf(harness.world, agent), payload);
    const ended = (await recordingIn(harness.world, payload)) as Recording;
    expect(replay(KERNEL, ended)).toMatchObject({ state: { phase: "Completed" }, differs: null });
    expect(ended.run).toMatchObject({ status: "completed", endedAt: expect.any(Number) as number });
  });
});

describe("a replay names the first version that differs, and how,", () => {
  const forged = async (act: (damaged: DamagedCopy) => void) => {
    const damaged = copy();
    act(damaged);
    return replay(KERNEL, await recorded(damaged)).differs;
  };

  test("when a snapshot contains another state", async () => {
    const { version } = copy().newest;
    expect(
      await forged((of) => of.forge((document) => ({ ...document, state: { ...document.state, nudges: 1 } }))),
    ).toEqual({ version, what: "its snapshot differs from the state that its events give: nudges" });
  });

  test("when a commit was changed, added, or moved before another one", async () => {
    const { version, commits } = copy().newest;
    const [first] = commits;
    const [early] = [first?.version ?? 0];
    const withCommits = (to: readonly object[]) =>
      forged((of) => of.forge((document) => ({ ...document, commits: to })));
    const later = commits.map((commit) => ({
      ...commit,
      events: commit.events.map((event) => ({ ...event, at: event.at + 1 })),
    }));
    expect(await withCommits(later)).toMatchObject({ version, what: expect.stringContaining("messages") as string });
    const doubled = commits.map((commit) => ({ ...commit, events: commit.events.flatMap((event) => [event, event]) }));
    expect(await withCommits(doubled)).toMatchObject({
      version: early,
      what: expect.stringMatching(/^its ModelCallCompleted does not follow: /) as string,
    });
    const stale = commits.map((commit) => ({ ...commit, epoch: 1 }));
    expect(await withCommits(stale)).toEqual({
      version: early,
      what: `epoch 1 committed it, after epoch ${BEATS - 1}`,
    });
    const back = commits.map((commit) => ({ ...commit, version: 3 }));
    expect(await withCommits(back)).toEqual({ version: 3, what: `it comes after version ${early - 1}` });
  });

  test.each([
    ["phase", { phase: "Reflecting" }, /^its phase is "Reflecting", and its events give "ExecutingTools"$/],
    ["status", { status: "waiting" }, /^its status is "waiting", and its events give "running"$/],
    ["version", { version: 132 }, /^its version is 132, and 133 is committed$/],
    [
      "epoch",
      { epoch: 66, chainClaims: 66, entry: null, owner: null, leaseUntil: null },
      /^its epoch is 66, and epoch 67 has committed$/,
    ],
  ] as const)("when the row has another %s", async (_, change, says) => {
    const damaged = copy();
    damaged.change(change);
    const { differs } = replay(KERNEL, await recorded(damaged), { until: 133 });
    expect(differs).toEqual({ version: damaged.row.version, what: expect.stringMatching(says) as string });
  });

  test("when the journal does not follow, or a snapshot is missing or has other bytes", async () => {
    const strange = copy();
    strange.change({ journal: encodeJournal([{ version: 133, epoch: 67, events: [] }]) });
    expect(replay(KERNEL, await recorded(strange)).differs).toMatchObject({
      what: expect.stringContaining("phase") as string,
    });
    const key = copy().keys("snapshots")[30] as string;
    const version = Number(/snapshots\/(\d+)/.exec(key)?.[1]);
    for (const harm of ["delete", "flip"] as const) {
      const damaged = copy();
      damaged[harm](key);
      const reading = recorded(damaged);
      await expect(reading).rejects.toBeInstanceOf(RecordingDamaged);
      await expect(reading).rejects.toMatchObject({ version, message: expect.stringContaining(key) as string });
    }
    const segment = copy();
    segment.delete(segment.keys("segments")[0]);
    await expect(recorded(segment)).rejects.toMatchObject({ code: "SegmentMissing" });
    await expect(exported(segment)).rejects.toMatchObject({ code: "SegmentMissing" });
    const blob = copy();
    blob.delete(blob.keys("blobs")[0]);
    await expect(exported(blob)).rejects.toMatchObject({ code: "BlobMissing" });
  });
});

describe("an exported file", () => {
  type Line = { readonly kind: string; readonly [name: string]: Json };
  const lines = (): readonly Line[] =>
    file
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Line);

  /** Changed by somebody who knows how to make its last line fit. */
  function sealed(changed: readonly Line[]): string {
    const [body, end] = [changed.slice(0, -1), changed.at(-1)];
    const text = body.map((line) => `${canonical(line)}\n`).join("");
    return `${text}${canonical({ ...end, digest: sha256(text) })}\n`;
  }

  const wrong = (text: string): string | null => {
    const archive = read(text);
    const { state, differs } = replay(KERNEL, recordingOf(archive));
    return differs?.what ?? wrongWithFile(archive, state);
  };

  const changed = (kind: string, to: (line: Line) => Line): string => {
    const at = lines().findLastIndex((line) => line.kind === kind);
    return sealed(lines().map((line, index) => (index === at ? to(line) : line)));
  };

  test("is refused when a line is changed, missing or moved", () => {
    expect(wrong(sealed(lines()))).toBeNull();
    const all = file.trimEnd().split("\n");
    expect(() => read(file.replace('"beats":67', '"beats":66'))).toThrow(/do not match the digest in its last line/);
    expect(() => read(all.toSpliced(40, 1).join("\n"))).toThrow(/does not hold what its last line says/);
    const [one = "", other = ""] = [all[40], all[41]];
    expect(() => read(all.toSpliced(40, 2, other, one).join("\n"))).toThrow(/do not match the digest/);
    expect(() => read(all.slice(0, -1).join("\n"))).toThrow(/or has no last line/);
  });

  test.each<readonly [string, (line: Line) => Line, RegExp]>([
    [
      "run",
      ({ run, ...line }) => ({ ...line, run: { ...(run as object), failure: { code: "X", message: "y" } } }),
      /failure/,
    ],
    ["run", ({ run, ...line }) => ({ ...line, run: { ...(run as object), born: "z".repeat(10) } }), /^its born is/],
    [
      "message",
      ({ message, ...line }) => ({ ...line, message: { ...(message as object), tokens: 9 } }),
      /^message \d+ of its transcript/,
    ],
    [
      "begun",
      ({ state, ...line }) => ({ ...line, state: { ...(state as object), takeoversMax: 99 } }),
      /takeoversMax$/,
    ],
    ["mark", ({ mark, ...line }) => ({ ...line, mark: { ...(mark as object), fields: {} } }), /differs from the state/],
    ["call", ({ call, ...line }) => ({ ...line, call: { ...(call as object), attempts: 9 } }), /^its ledger/],
    ["blob", (line) => ({ ...line, json: "something else" }), /^blob [0-9a-f]{64} has other content/],
  ])("with another %s is detected, also when its last line fits", (kind, to, says) => {
    expect(wrong(changed(kind, to))).toMatch(says);
  });

  test("without a large value, or without marks, is detected", () => {
    const end = (line: Line, counts: Record<string, number>): Line =>
      line.kind === "end" ? { ...line, counts: { ...(line["counts"] as object), ...counts } } : line;
    const without = (kind: string) => lines().filter((line) => line.kind !== kind);
    expect(wrong(sealed(without("blob").map((line) => end(line, { blobs: 0 }))))).toMatch(
      /^blob [0-9a-f]{64} is missing$/,
    );
    expect(wrong(sealed(without("mark").map((line) => end(line, { marks: 0 }))))).toBe(
      "nothing says what state it began with",
    );
    expect(() => recordingOf(read(sealed(without("begun"))))).toThrow(/only an exported run can be replayed/);
  });
});
