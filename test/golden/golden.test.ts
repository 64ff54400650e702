/**
 * Golden files: what each format wrote is read for ever, and folds to the same states. `make.ts` made them; a file that
 * a release has written does not change any more.
 */
import { withKernel } from "../../src/features/compose.ts";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { rowInText, withoutParts } from "../../src/adapters/local/store/row-text.ts";
import { virtualClock } from "../../src/adapters/memory/clock.ts";
import { foldAll } from "../../src/features/compose.ts";
import { memoryWorld } from "../../src/adapters/memory/world.ts";
import { readArchive } from "../../src/codec/archive.ts";
import { canonical, sha256 } from "../../src/codec/canonical.ts";
import { decodeJournal } from "../../src/codec/journal.ts";
import { decodeSnapshot, wholeState } from "../../src/codec/snapshot.ts";
import { decodeSegment } from "../../src/codec/transcript.ts";
import { limitsFor } from "../../src/protocol/limits.ts";
import { PHASE_NAMES } from "../../src/core/phases.ts";
import { FORMAT, type Row } from "../../src/protocol/row.ts";
import { undamaged } from "../../src/codec/row.ts";
import { SegmentCache, load } from "../../src/history/load.ts";
import { ledger, show, timeline } from "../../src/operations/views.ts";
import { verify } from "../../src/features/seals/verify.ts";
import { EVENT_KINDS } from "../support/states/states-and-events.ts";
import {
  type GoldenArchive,
  type GoldenMoment,
  type GoldenPhase,
  type GoldenRun,
  folderOf,
  stateDigest,
} from "./make.ts";

const unpacked = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text, "base64"));
/** The format of the first release. Runs of format 1 are refused by name. */
const FIRST_FORMAT = 2;
const FORMATS = readdirSync(import.meta.dirname).flatMap((name) => /^format-(\d+)$/.exec(name)?.[1] ?? []);

const read = (format: string, name: string): unknown =>
  JSON.parse(readFileSync(join(folderOf(Number(format)), name), "utf8"));
const phasesOf = (format: string) => read(format, "phases.json") as readonly GoldenPhase[];

const momentsOf = (format: string) =>
  [
    "saga.json",
    "decisions.json",
    "outage.json",
    "topology.json",
    "children.json",
    "before-images.json",
    "waits.json",
    "files.json",
    "detached-calls.json",
    "choices.json",
    "memory.json",
    "result-summaries.json",
  ].flatMap((name) => read(format, name) as readonly GoldenMoment[]);

test("every format since the one of the first release has golden files", () => {
  const since = Array.from({ length: FORMAT - FIRST_FORMAT + 1 }, (_, index) => FIRST_FORMAT + index);
  expect(FORMATS.map(Number).toSorted((one, other) => one - other)).toEqual(since);
});

test("the newest format has every phase and event: a new one needs its own file", () => {
  const phases = phasesOf(String(FORMAT));
  expect(phases.map(({ phase }) => phase).toSorted()).toEqual([...PHASE_NAMES].toSorted());
  const known = [...phases, ...momentsOf(String(FORMAT))];
  const kinds = new Set(known.flatMap(({ journals }) => journals.map(({ kind }) => kind)));
  expect([...kinds].toSorted()).toEqual([...EVENT_KINDS].toSorted());
});

describe.each(FORMATS)("format %s", (format) => {
  const states = [
    ...phasesOf(format).map((golden) => ({ at: golden.phase, golden })),
    ...momentsOf(format).map((golden) => ({ at: golden.moment, golden })),
  ];

  test.each(states)("in $at", ({ at, golden }) => {
    const { snapshot, segments, journals } = golden;
    const pointer = { version: 0, key: at, digest: snapshot.digest };
    const { state: stored } = decodeSnapshot(pointer, unpacked(snapshot.bytes));
    const state = wholeState(stored, (ref) => decodeSegment(ref, unpacked(segments[ref.sha256] ?? "")));
    expect(stateDigest(state)).toBe(golden.state);
    for (const journal of journals) {
      const events = decodeJournal(unpacked(journal.bytes)).flatMap((commit) => commit.events);
      expect(events.map(({ kind }) => kind)).toEqual([journal.kind]);
      expect(stateDigest(foldAll(state, events))).toBe(journal.state);
    }
  });

  test("reads a whole run at each of its versions, shows and verifies it", async () => {
    const { rows, objects, result } = read(format, "run.json") as GoldenRun;
    const world = withKernel(
      memoryWorld({
        clock: virtualClock(rows.at(-1)?.lastCheckpointAt ?? 0),
        limits: limitsFor(3_000),
      }),
    );
    for (const [key, bytes] of Object.entries(objects)) world.store.objects.set(key, unpacked(bytes));
    const stored = rows.map(({ run, text, journal }): Row => {
      const bytes = journal === null ? null : unpacked(journal);
      return undamaged(rowInText({ row: text, journal: bytes, parts: null }, run, withoutParts));
    });
    for (const row of stored) {
      const { state } = await load(world, row, new SegmentCache());
      expect(state).toMatchObject({ phase: row.phase, spent: row.spent });
      world.store.rows.set(row.run, row);
      expect(await verify(world, { run: row.run })).toMatchObject({ findings: [] });
    }
    const run = stored[0]?.run ?? "";
    expect(await show(world, run)).toMatchObject({ status: "completed", result });
    const events = (await timeline(world, { run, after: 0 })) ?? [];
    expect(events.at(0)?.kind).toBe("RunStarted");
    expect(events.at(-1)).toMatchObject({ kind: "RunEnded", version: stored.at(-1)?.version });
    expect((await ledger(world, run))?.map(({ tool, status }) => `${tool} ${status}`)).toMatchInlineSnapshot(`
      [
        "look succeeded",
        "keyed succeeded",
        "probed succeeded",
        "unsafe succeeded",
        "unsafe reconciled",
        "keyed succeeded",
      ]
    `);
  });

  test("reads an archive with its original content", () => {
    const golden = read(format, "archive.json") as GoldenArchive;
    const { blobs, files: _, ...rest } = readArchive(unpacked(golden.bytes));
    expect(sha256(canonical({ ...rest, blobs: [...blobs] }))).toBe(golden.holds);
    expect(rest.run).toMatchObject({ status: "completed", agent: "actor" });
    expect(golden.key).toContain(`/${rest.run.run}/${rest.run.born}.`);
    expect(rest.calls.map(({ status }) => status)).toContain("reconciled");
  });
});
