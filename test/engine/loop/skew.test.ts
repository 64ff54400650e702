/**
 * Two versions of cairn on one store, as in a rollout or a rollback: a newer one writes what this one does not know, under
 * the same format, and needs a level that this one lacks. In memory and on the embedded store.
 */
import { describe, expect, test } from "vitest";
import { journalPartsIn } from "../../../src/adapters/local/store/journal-parts.ts";
import { type Stored, rowInText, storedRow } from "../../../src/adapters/local/store/row-text.ts";
import { withKernel } from "../../../src/features/compose.ts";
import { localWorld } from "../../../src/adapters/local/world.ts";
import { canonical, compress, decompress, sha256 } from "../../../src/codec/canonical.ts";
import { undamaged } from "../../../src/codec/row.ts";
import { decodeJournal, encodeJournal } from "../../../src/codec/journal.ts";
import { LEVEL } from "../../../src/core/levels.ts";
import { asUserError } from "../../../src/cli/thrown-errors.ts";
import { renderList } from "../../../src/render/run-list.ts";
import type { Reply } from "../../../src/protocol/chain.ts";
import type { Row } from "../../../src/protocol/row.ts";
import type { TelemetryRecord, World } from "../../../src/ports/world.ts";
import { SegmentCache, load } from "../../../src/history/load.ts";
import { summaryOf } from "../../../src/operations/summary.ts";
import { show } from "../../../src/operations/views.ts";
import { labelOfRow } from "../../../src/operations/labels.ts";
import { purge } from "../../../src/operations/purge.ts";
import { redrive } from "../../../src/operations/redrive.ts";
import { sendRequest } from "../../../src/engine/loop/request.ts";
import { send } from "../../../src/operations/steer.ts";
import { sweep } from "../../../src/maintenance/sweep.ts";
import { verify } from "../../../src/features/seals/verify.ts";
import { temporaryStore } from "../../process/fixtures/store.ts";
import { attemptBeat, beginRun, drive, runnerOf } from "../../support/harness/drive.ts";
import { withUnknownFields, lostFields } from "../../support/states/unknown-fields.ts";
import { scriptedAgent, callsThenFinal, beatReply, createHarness } from "../../support/harness/harness.ts";
import { rewriteRow } from "../../support/runs/rewrite-row.ts";

/** A world, and its rows past the port. */
interface SkewedRun {
  readonly world: World;
  readonly clock: { moveTo(now: number): void };
  readonly row: (run: string) => Row;
  readonly put: (row: Row) => void;
  /** Everything that the row holds, to the byte. */
  readonly bytes: (run: string) => string;
}

function inMemory(): SkewedRun {
  const { world, clock } = createHarness();
  const { rows } = world.store;
  const row = (run: string): Row => rows.get(run) as Row;
  return { world, clock, row, put: (each) => void rows.set(each.run, each), bytes: (run) => JSON.stringify(row(run)) };
}

function embedded(): SkewedRun {
  const store = temporaryStore();
  const { world: memory, clock } = createHarness();
  const world = withKernel(localWorld({ store, clock, limits: memory.limits, telemetry: memory.telemetry }));
  const select = store.rows.prepare("SELECT row, journal, parts FROM runs WHERE run = ?");
  const update = store.rows.prepare("UPDATE runs SET row = ?, journal = ?, parts = NULL WHERE run = ?");
  const parts = journalPartsIn(store.rows);
  const found = (run: string) => select.get(run) as unknown as Stored;
  return {
    world,
    clock,
    row: (run) => undamaged(rowInText(found(run), run, parts.read)),
    put: (each) => {
      const { row, journal } = storedRow(each);
      update.run(row, journal, each.run);
    },
    bytes: (run) => JSON.stringify(found(run)),
  };
}

const PLACES = [
  { where: "in memory", place: inMemory },
  { where: "on the embedded store", place: embedded },
];

const AGENT = scriptedAgent({ reply: callsThenFinal(3) });

/** A newer process has the run in its hands, and commits the same with fields that this code does not know. */
async function writtenByNewer({ world, row, put }: SkewedRun, run: string): Promise<void> {
  const before = row(run);
  const bytes = (await world.objects.get(before.snapshot.key)) as Uint8Array;
  const document: unknown = JSON.parse(decompress(bytes, { what: "it", bytesMax: 1_000_000 }).toString());
  const text = canonical(withUnknownFields(document));
  const snapshot = { ...before.snapshot, key: `${before.snapshot.key}-newer`, digest: sha256(text) };
  await world.objects.put(snapshot.key, compress(text));
  const journal = before.journal === null ? null : encodeJournal(withUnknownFields(decodeJournal(before.journal)));
  put(rewriteRow({ ...withUnknownFields(before), snapshot, journal }));
}

const stateOf = async ({ world, row }: SkewedRun, run: string) =>
  (await load(world, row(run), new SegmentCache())).state;

const oneBeat = async (
  harness: SkewedRun,
  payload: Reply | Awaited<ReturnType<typeof beginRun>>,
  level = LEVEL,
): Promise<Reply> => beatReply(attemptBeat({ ...runnerOf(harness.world, AGENT), level }, payload));

describe.each(PLACES)("$where", ({ place: skewedRun }) => {
  test("this version keeps unknown fields of a newer one before each of its beats", async () => {
    const harness = skewedRun();
    const payload = await beginRun(harness.world, AGENT, {});
    const { run } = payload;
    let reply: Reply = { ...payload, route: "beat", seconds: 1 };
    let beats = 0;
    for (; reply.route === "beat"; beats += 1) {
      await writtenByNewer(harness, run);
      const [row, state] = [harness.row(run), await stateOf(harness, run)];
      reply = await oneBeat(harness, reply);
      expect(lostFields(state, await stateOf(harness, run))).toEqual([]);
      expect(harness.row(run)).toMatchObject({ future: (row as Row & { readonly future: unknown }).future });
    }
    expect({ route: reply.route, beats }).toEqual({ route: "done", beats: 4 });
    expect(await show(harness.world, run)).toMatchObject({ status: "completed", result: "over" });
  });

  test("a run that a newer version started is completed by this one without loss", async () => {
    const harness = skewedRun();
    const payload = await beginRun(harness.world, AGENT, {});
    await writtenByNewer(harness, payload.run);
    const begun = await stateOf(harness, payload.run);
    expect(await drive(runnerOf(harness.world, AGENT), payload)).toMatchObject({ route: "done" });
    expect(lostFields(begun, await stateOf(harness, payload.run))).toEqual([]);
    expect(await verify(harness.world, { run: payload.run })).toMatchObject({ findings: [], readable: true });
  });

  test("a run above this version's level waits, unchanged to the byte, and a newer process completes it", async () => {
    const harness = skewedRun();
    const payload = await beginRun(harness.world, AGENT, {});
    const { run } = payload;
    const reply = await oneBeat(harness, payload);
    harness.put(rewriteRow(harness.row(run), { level: LEVEL + 1 }));
    const [before, since] = [harness.bytes(run), harness.world.clock.now()];
    const waits: number[] = [];
    for (const waitedMs of [0, 5_000, 40_000, 7_200_000]) {
      harness.clock.moveTo(since + waitedMs);
      const { route, seconds, ...same } = await oneBeat(harness, reply);
      expect({ route, same }).toEqual({
        route: "wait",
        same: { behind: true, run, born: reply.born, chain: reply.chain, epoch: reply.epoch, agent: reply.agent },
      });
      waits.push(seconds);
    }
    expect(waits).toEqual([2, 5, 40, 60]);
    expect(harness.bytes(run)).toBe(before);
    const invocation = { deadline: harness.world.clock.now() + 3_000, drain: new AbortController().signal };
    await sweep(harness.world, invocation);
    expect(harness.bytes(run)).toBe(before);
    expect(await drive({ ...runnerOf(harness.world, AGENT), level: LEVEL + 1 }, reply)).toMatchObject({
      route: "done",
    });
    expect(harness.row(run)).toMatchObject({ status: "completed", level: LEVEL + 1 });
  });

  test("a run above this version's level accepts messages and requests, and other commands name the required version", async () => {
    const harness = skewedRun();
    const { run } = await beginRun(harness.world, AGENT, {});
    harness.put(rewriteRow(harness.row(run), { level: LEVEL + 1 }));
    const row = harness.row(run);
    expect(labelOfRow(row)).toBe("waiting: a newer version of cairn");
    const style = { now: 0, width: 200, paint: (_: string, text: string) => text };
    expect(renderList([summaryOf(row, { now: 0, modelMs: 1 })], style)).toContain("queued, needs a newer cairn");
    expect(await send(harness.world, { run, text: "hello", by: "ada", id: "1" })).toEqual({ kind: "delivered" });
    expect(await sendRequest(harness.world, { run, want: "cancel" })).toBe("requested");
    expect(harness.row(run)).toMatchObject({ level: LEVEL + 1, wakeCount: 2, cancel: true });
    const before = harness.bytes(run);
    const refusal = {
      code: "RowNewer",
      message: expect.stringMatching(/^run local-\S+ waits for a newer version of cairn: /),
    };
    await expect(show(harness.world, run)).rejects.toMatchObject(refusal);
    const refused: unknown = await show(harness.world, run).catch((error: unknown) => error);
    expect(asUserError(refused, ["show", run]).trouble).toMatchObject({ code: "RowNewer", exit: 5, facts: { run } });
    await expect(verify(harness.world, { run })).rejects.toMatchObject(refusal);
    await expect(purge(harness.world, run)).rejects.toMatchObject(refusal);
    await expect(redrive(harness.world, { run, by: "ada", why: "" })).rejects.toMatchObject(refusal);
    expect(harness.bytes(run)).toBe(before);
  });

  test("the end of a run above this version's level is notified by a newer process alone", async () => {
    const harness = skewedRun();
    const payload = await beginRun(harness.world, AGENT, {});
    const { run } = payload;
    await drive(runnerOf(harness.world, AGENT), payload);
    const { expiresAtSec: _, ...told } = harness.row(run);
    harness.put(rewriteRow({ ...told, endNotified: false, expiresAtSec: null, level: LEVEL + 1 }));
    const before = harness.bytes(run);
    const last = { ...payload, epoch: told.epoch };
    expect(await oneBeat(harness, last)).toMatchObject({ route: "wait" });
    const alarms: string[] = [];
    const record = ({ level, what }: TelemetryRecord) => void (level === "alarm" && alarms.push(what));
    await sweep(
      { ...harness.world, telemetry: { record } },
      { deadline: harness.world.clock.now() + 3_000, drain: new AbortController().signal },
    );
    expect({ bytes: harness.bytes(run), alarms }).toEqual({ bytes: before, alarms: [] });
  });

  test("a row whose shape only a newer version knows is reported as newer, not damaged, and stays unchanged", async () => {
    const harness = skewedRun();
    const payload = await beginRun(harness.world, AGENT, {});
    const { run } = payload;
    const newer = rewriteRow(harness.row(run), { level: LEVEL + 1, phase: "Voting" as Row["phase"] });
    harness.put(newer);
    const before = harness.bytes(run);
    expect(await oneBeat(harness, payload)).toMatchObject({ route: "wait" });
    await expect(harness.world.table.read(run, 0)).rejects.toMatchObject({ code: "RowNewer", run });
    await expect(send(harness.world, { run, text: "hello", by: "ada", id: "1" })).rejects.toMatchObject({
      code: "RowNewer",
    });
    await expect(sendRequest(harness.world, { run, want: "cancel" })).rejects.toMatchObject({ code: "RowNewer" });
    expect(harness.bytes(run)).toBe(before);
    harness.put(rewriteRow(newer, { level: LEVEL }));
    await expect(harness.world.table.read(run, 0)).rejects.toMatchObject({ code: "RowDamaged", run });
  });
});
