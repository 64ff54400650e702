/**
 * Two versions of cairn on one store, as in a rollout or a rollback: a newer one writes what this one does not know, under
 * the same format, and needs a level that this one lacks. In memory and on the embedded store.
 */
import { describe, expect, test } from "vitest";
import { type Store, openStore } from "../../../src/adapters/local/database.ts";
import { rowOf, storedRow } from "../../../src/adapters/local/row-text.ts";
import { localWorld } from "../../../src/adapters/local/world.ts";
import { canonical, compress, decompress, sha256 } from "../../../src/codec/canonical.ts";
import { undamaged } from "../../../src/codec/row.ts";
import { decodeJournal, encodeJournal } from "../../../src/codec/snapshot.ts";
import { LEVEL } from "../../../src/core/levels.ts";
import { asCliError } from "../../../src/cli/errors.ts";
import { renderList } from "../../../src/cli/render/run.ts";
import type { Reply } from "../../../src/protocol/chain.ts";
import type { Row } from "../../../src/protocol/row.ts";
import type { TelemetryRecord, World } from "../../../src/ports/world.ts";
import { SegmentCache, load } from "../../../src/history/load.ts";
import { show, summaryOf } from "../../../src/operations/views.ts";
import { labelOfRow } from "../../../src/operations/labels.ts";
import { purge } from "../../../src/operations/purge.ts";
import { redrive } from "../../../src/operations/redrive.ts";
import { sendRequest } from "../../../src/engine/loop/request.ts";
import { send } from "../../../src/operations/steer.ts";
import { sweep } from "../../../src/maintenance/sweep.ts";
import { verify } from "../../../src/history/verify.ts";
import { temporaryDir } from "../../process/fixtures/store.ts";
import { attempt, begin, drive, runnerOf } from "../../support/drive.ts";
import { fromFuture, lostFields } from "../../support/future.ts";
import { actor, callsThenOver, replyOf, stage } from "../../support/stage.ts";
import { rewritten } from "../../support/rewritten.ts";

/** A world, and its rows past the port. */
interface Place {
  readonly world: World;
  readonly clock: { moveTo(now: number): void };
  readonly row: (run: string) => Row;
  readonly put: (row: Row) => void;
  /** Everything that the row holds, to the byte. */
  readonly bytes: (run: string) => string;
}

function inMemory(): Place {
  const { world, clock } = stage();
  const { rows } = world.store;
  const row = (run: string): Row => rows.get(run) as Row;
  return { world, clock, row, put: (each) => void rows.set(each.run, each), bytes: (run) => JSON.stringify(row(run)) };
}

function embedded(): Place {
  const store: Store = openStore({ dir: temporaryDir(), create: true });
  const { world: memory, clock } = stage();
  const world = localWorld({ store, limits: memory.limits, telemetry: memory.telemetry });
  const select = store.rows.prepare("SELECT row, journal FROM runs WHERE run = ?");
  const update = store.rows.prepare("UPDATE runs SET row = ?, journal = ? WHERE run = ?");
  const found = (run: string) => select.get(run) as { readonly row: string; readonly journal: Uint8Array | null };
  return {
    world: { ...world, clock: memory.clock },
    clock,
    row: (run) => undamaged(rowOf(found(run), run)),
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

const AGENT = actor({ reply: callsThenOver(3) });

/** A newer process has the run in its hands, and commits the same with fields that this code does not know. */
async function writtenByNewer({ world, row, put }: Place, run: string): Promise<void> {
  const before = row(run);
  const bytes = (await world.objects.get(before.snapshot.key)) as Uint8Array;
  const document: unknown = JSON.parse(decompress(bytes, { what: "it", bytesMax: 1_000_000 }).toString());
  const text = canonical(fromFuture(document));
  const snapshot = { ...before.snapshot, key: `${before.snapshot.key}-newer`, digest: sha256(text) };
  await world.objects.put(snapshot.key, compress(text));
  const journal = before.journal === null ? null : encodeJournal(fromFuture(decodeJournal(before.journal)));
  put(rewritten({ ...fromFuture(before), snapshot, journal }));
}

const stateOf = async ({ world, row }: Place, run: string) =>
  (await load(world.objects, row(run), new SegmentCache())).state;

const oneBeat = async (on: Place, payload: Reply | Awaited<ReturnType<typeof begin>>, level = LEVEL): Promise<Reply> =>
  replyOf(attempt({ ...runnerOf(on.world, AGENT), level }, payload));

describe.each(PLACES)("$where", ({ place }) => {
  test("this version keeps what a newer one writes before each of its beats", async () => {
    const on = place();
    const payload = await begin(on.world, AGENT, {});
    const { run } = payload;
    let reply: Reply = { ...payload, route: "beat", seconds: 1 };
    let beats = 0;
    for (; reply.route === "beat"; beats += 1) {
      await writtenByNewer(on, run);
      const [row, state] = [on.row(run), await stateOf(on, run)];
      reply = await oneBeat(on, reply);
      expect(lostFields(state, await stateOf(on, run))).toEqual([]);
      expect(on.row(run)).toMatchObject({ future: (row as Row & { readonly future: unknown }).future });
    }
    expect([reply.route, beats]).toEqual(["done", 4]);
    expect(await show(on.world, run)).toMatchObject({ status: "completed", result: "over" });
  });

  test("a run that a newer version began is finished by this one, and whole", async () => {
    const on = place();
    const payload = await begin(on.world, AGENT, {});
    await writtenByNewer(on, payload.run);
    const begun = await stateOf(on, payload.run);
    expect(await drive(runnerOf(on.world, AGENT), payload)).toMatchObject({ route: "done" });
    expect(lostFields(begun, await stateOf(on, payload.run))).toEqual([]);
    expect(await verify(on.world, { run: payload.run })).toMatchObject({ findings: [], readable: true });
  });

  test("a run above the level of this version waits, unchanged to the byte, and a newer process finishes it", async () => {
    const on = place();
    const payload = await begin(on.world, AGENT, {});
    const { run } = payload;
    const reply = await oneBeat(on, payload);
    on.put(rewritten(on.row(run), { level: LEVEL + 1 }));
    const [before, since] = [on.bytes(run), on.world.clock.now()];
    const waits: number[] = [];
    for (const waitedMs of [0, 5_000, 40_000, 7_200_000]) {
      on.clock.moveTo(since + waitedMs);
      const { route, seconds, ...same } = await oneBeat(on, reply);
      expect([route, same]).toEqual([
        "wait",
        { behind: true, run, born: reply.born, chain: reply.chain, epoch: reply.epoch, agent: reply.agent },
      ]);
      waits.push(seconds);
    }
    expect(waits).toEqual([2, 5, 40, 60]);
    expect(on.bytes(run)).toBe(before);
    const invocation = { deadline: on.world.clock.now() + 3_000, drain: new AbortController().signal };
    await sweep(on.world, invocation);
    expect(on.bytes(run)).toBe(before);
    expect(await drive({ ...runnerOf(on.world, AGENT), level: LEVEL + 1 }, reply)).toMatchObject({ route: "done" });
    expect(on.row(run)).toMatchObject({ status: "completed", level: LEVEL + 1 });
  });

  test("a run above the level of this version takes messages and wishes, and every other command says what it needs", async () => {
    const on = place();
    const { run } = await begin(on.world, AGENT, {});
    on.put(rewritten(on.row(run), { level: LEVEL + 1 }));
    const row = on.row(run);
    expect(labelOfRow(row)).toBe("waiting: a newer version of cairn");
    const style = { now: 0, width: 200, paint: (_: string, text: string) => text };
    expect(renderList([summaryOf(row, 0)], style)).toContain("queued, needs a newer cairn");
    expect(await send(on.world, { run, text: "hello", by: "ada", id: "1" })).toEqual({ kind: "delivered" });
    expect(await sendRequest(on.world, { run, want: "cancel" })).toBe("requested");
    expect(on.row(run)).toMatchObject({ level: LEVEL + 1, wakeCount: 2, cancel: true });
    const before = on.bytes(run);
    const refusal = {
      code: "RowNewer",
      message: expect.stringMatching(/^run local-\S+ waits for a newer version of cairn: /),
    };
    await expect(show(on.world, run)).rejects.toMatchObject(refusal);
    const refused: unknown = await show(on.world, run).catch((error: unknown) => error);
    expect(asCliError(refused, ["show", run]).trouble).toMatchObject({ code: "RowNewer", exit: 5, facts: { run } });
    await expect(verify(on.world, { run })).rejects.toMatchObject(refusal);
    await expect(purge(on.world, run)).rejects.toMatchObject(refusal);
    await expect(redrive(on.world, { run, by: "ada", why: "" })).rejects.toMatchObject(refusal);
    expect(on.bytes(run)).toBe(before);
  });

  test("the end of a run above the level of this version is told by a newer process alone", async () => {
    const on = place();
    const payload = await begin(on.world, AGENT, {});
    const { run } = payload;
    await drive(runnerOf(on.world, AGENT), payload);
    const { expiresAtSec: _, ...told } = on.row(run);
    on.put(rewritten({ ...told, endNotified: false, expiresAtSec: null, level: LEVEL + 1 }));
    const before = on.bytes(run);
    const last = { ...payload, epoch: told.epoch };
    expect(await oneBeat(on, last)).toMatchObject({ route: "wait" });
    const alarms: string[] = [];
    const record = ({ level, what }: TelemetryRecord) => void (level === "alarm" && alarms.push(what));
    await sweep(
      { ...on.world, telemetry: { record } },
      { deadline: on.world.clock.now() + 3_000, drain: new AbortController().signal },
    );
    expect([on.bytes(run), alarms]).toEqual([before, []]);
  });

  test("a row whose shape only a newer version knows is named so, not damaged, and is left as it is", async () => {
    const on = place();
    const payload = await begin(on.world, AGENT, {});
    const { run } = payload;
    const newer = rewritten(on.row(run), { level: LEVEL + 1, phase: "Voting" as Row["phase"] });
    on.put(newer);
    const before = on.bytes(run);
    expect(await oneBeat(on, payload)).toMatchObject({ route: "wait" });
    await expect(on.world.table.read(run, 0)).rejects.toMatchObject({ code: "RowNewer", run });
    await expect(send(on.world, { run, text: "hello", by: "ada", id: "1" })).rejects.toMatchObject({
      code: "RowNewer",
    });
    await expect(sendRequest(on.world, { run, want: "cancel" })).rejects.toMatchObject({ code: "RowNewer" });
    expect(on.bytes(run)).toBe(before);
    on.put(rewritten(newer, { level: LEVEL }));
    await expect(on.world.table.read(run, 0)).rejects.toMatchObject({ code: "RowDamaged", run });
  });
});
