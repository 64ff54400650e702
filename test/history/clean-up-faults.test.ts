/**
 * Every fault at every call of a purge and of a clean-up. Whatever happened, a row that is there has its objects, and
 * after the repetition nothing is left of the run and everything of its neighbour.
 */
import { describe, expect, test } from "vitest";
import type { Row } from "../../src/protocol/row.ts";
import { StoreUnreachable, type World } from "../../src/ports/world.ts";
import { cleanUp } from "../../src/history/clean-up.ts";
import { purge } from "../../src/operations/purge.ts";
import { type FaultKind, faultsOf } from "../slow/crash/actor.ts";
import { cleanRemoved } from "../support/drive.ts";
import { NOTHING, endedRun, readable, remains, upkeep } from "../support/remains.ts";
import { type Stage, rowOf, stage } from "../support/stage.ts";

class Crashed extends Error {}

interface Fault {
  readonly at: number;
  readonly kind: FaultKind;
}

/** The world as one process sees it that meets that fault; `points` are the calls that it made. */
function meeting(world: World, fault: Fault | null): { readonly world: World; readonly points: readonly string[] } {
  const points: string[] = [];
  let isDead = false;
  const guarded = <T extends object>(name: string, port: T): T =>
    new Proxy(port, {
      get: (target, member) => {
        const call = Reflect.get(target, member) as (...of: readonly unknown[]) => Promise<unknown>;
        return async (...of: readonly unknown[]): Promise<unknown> => {
          const kind = points.push(`${name}.${String(member)}`) - 1 === fault?.at ? fault.kind : null;
          if (isDead || kind === "crash before") throw new Crashed();
          if (kind === "unavailable") throw new StoreUnreachable("the store does not answer");
          if (kind === "not applied") return { kind: "ambiguous", why: "503" };
          const outcome = await Reflect.apply(call, target, of);
          isDead ||= kind === "crash after";
          if (isDead) throw new Crashed();
          return kind === "answer lost" ? { kind: "ambiguous", why: "timeout" } : outcome;
        };
      },
    });
  return {
    world: { ...world, table: guarded("table", world.table), objects: guarded("objects", world.objects) },
    points,
  };
}

type Act = (world: World, row: Row) => Promise<unknown>;

interface Scene {
  readonly on: Stage;
  /** Ended; its end is not told yet. */
  readonly row: Row;
  readonly neighbour: Row;
}

async function scene(): Promise<Scene> {
  const on = stage();
  const [ended, neighbour] = [await endedRun(on, "key"), await endedRun(on, "neighbour")];
  const row = { ...ended, endNotified: false, expiresAtSec: null };
  on.world.store.rows.set(row.run, row);
  return { on, row, neighbour };
}

/** Acts once with that fault; the calls that were made. */
async function actWith(act: Act, { on, row }: Scene, fault: Fault | null): Promise<readonly string[]> {
  const { world, points } = meeting(on.world, fault);
  await act(world, row).catch((error: unknown) => {
    if (!(error instanceof Crashed || error instanceof StoreUnreachable)) throw error;
  });
  if (on.world.store.rows.has(row.run)) await readable(on, rowOf(on, row.run));
  return points;
}

async function faultsIn(act: Act, fresh: () => Promise<Scene>): Promise<readonly (Fault & { name: string })[]> {
  const points = await actWith(act, await fresh(), null);
  return points.flatMap((name, at) => faultsOf(name).map((kind) => ({ at, kind, name })));
}

const purging: Act = (world, { run }) => purge(world, run);
const forgetting: Act = (world, { run }) => purge(world, run, { forgetKey: true });
const cleaning: Act = (world, row) => cleanUp(world, row);

describe("a purge", () => {
  test("that meets a fault anywhere is whole once somebody asks again and its removal was followed", async () => {
    const faults = await faultsIn(purging, scene);
    expect(new Set(faults.map(({ name }) => name))).toEqual(
      new Set([
        ...["table.read", "objects.get", "table.keepKey", "table.recordEndNotified", "table.purge"],
        ...["objects.removeUnder", "table.forget"],
      ]),
    );
    for (const fault of faults) {
      const at = await scene();
      await actWith(purging, at, fault);
      await purging(at.on.world, at.row);
      await cleanRemoved(at.on.world, upkeep(at.on.world));
      expect(remains(at.on, at.row), `${fault.name} ${fault.kind}`).toEqual(NOTHING);
      expect(at.on.world.store.tombstones.get(at.row.run)).toMatchObject({ born: at.row.born });
      await readable(at.on, at.neighbour);
    }
    expect(faults.length).toBeGreaterThan(15);
  });

  test("that forgets the key and meets a fault anywhere has forgotten it once the operator asks again", async () => {
    const faults = await faultsIn(forgetting, scene);
    expect(faults.map(({ name }) => name)).toContain("table.forgetKey");
    for (const fault of faults) {
      const at = await scene();
      await actWith(forgetting, at, fault);
      await forgetting(at.on.world, at.row);
      await cleanRemoved(at.on.world, upkeep(at.on.world));
      expect(remains(at.on, at.row), `${fault.name} ${fault.kind}`).toEqual(NOTHING);
      expect([...at.on.world.store.tombstones.keys()], `${fault.name} ${fault.kind}`).toEqual([at.neighbour.run]);
    }
  });

  test("that nobody repeats has removed everything or nothing", async () => {
    const seen = new Set<string>();
    for (const fault of await faultsIn(purging, scene)) {
      const at = await scene();
      const before = remains(at.on, at.row);
      await actWith(purging, at, fault);
      await cleanRemoved(at.on.world, upkeep(at.on.world));
      const after = remains(at.on, at.row);
      expect([before, NOTHING], `${fault.name} ${fault.kind}`).toContainEqual(after);
      seen.add(after.rows === 0 ? "everything" : "nothing");
    }
    expect(seen.size).toBe(2);
  });

  test("whose answer is lost says that the run was removed", async () => {
    const at = await scene();
    const lost = (await faultsIn(purging, scene)).find(
      ({ name, kind }) => name === "table.purge" && kind === "answer lost",
    );
    const { world } = meeting(at.on.world, lost ?? null);
    expect(lost).toBeDefined();
    expect(await purge(world, at.row.run)).toMatchObject({ kind: "purged" });
  });
});

describe("a clean-up", () => {
  const removed = async (): Promise<Scene> => {
    const at = await scene();
    at.on.world.store.rows.delete(at.row.run);
    return at;
  };

  test("that meets a fault anywhere is whole after the next one", async () => {
    const faults = await faultsIn(cleaning, removed);
    expect(new Set(faults.map(({ name }) => name))).toEqual(
      new Set(["table.read", "objects.removeUnder", "table.forget"]),
    );
    for (const fault of faults) {
      const at = await removed();
      await actWith(cleaning, at, fault);
      await cleaning(at.on.world, at.row);
      expect(remains(at.on, at.row), `${fault.name} ${fault.kind}`).toEqual(NOTHING);
      await readable(at.on, at.neighbour);
    }
  });

  test("that died in the middle of the objects is whole after the next one", async () => {
    const at = await removed();
    const { objects } = at.on.world;
    const half: typeof objects.removeUnder = async (prefix) => {
      const found = await objects.next(prefix);
      await objects.removeUnder(found?.key ?? prefix);
      throw new Crashed();
    };
    const { objects: before } = remains(at.on, at.row);
    await actWith((world, row) => cleaning({ ...world, objects: { ...objects, removeUnder: half } }, row), at, null);
    expect(remains(at.on, at.row).objects).toBe(before - 1);
    await cleaning(at.on.world, at.row);
    expect(remains(at.on, at.row)).toEqual(NOTHING);
    await readable(at.on, at.neighbour);
  });

  test("of a row that is there does nothing, whatever it meets", async () => {
    for (const fault of await faultsIn(cleaning, scene)) {
      const at = await scene();
      const before = remains(at.on, at.row);
      await actWith(cleaning, at, fault);
      expect(remains(at.on, at.row), `${fault.name} ${fault.kind}`).toEqual(before);
    }
  });
});
