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
import { cleanUpRemovedRuns } from "../support/harness/drive.ts";
import {
  NO_LEFTOVERS,
  endedRun,
  loadObjects,
  countLeftovers,
  performMaintenance,
} from "../support/runs/leftover-objects.ts";
import { nameOfCall } from "../support/harness/ports.ts";
import { type Harness, createHarness } from "../support/harness/harness.ts";

class Crashed extends Error {}

interface Fault {
  readonly at: number;
  readonly kind: FaultKind;
}

/** The world as one process sees it that meets that fault; `points` are the calls that it made. */
function withFault(world: World, fault: Fault | null): { readonly world: World; readonly points: readonly string[] } {
  const points: string[] = [];
  let isDead = false;
  const guarded = <T extends object>(name: string, port: T): T =>
    new Proxy(port, {
      get: (target, member) => {
        const call = Reflect.get(target, member) as (...of: readonly unknown[]) => Promise<unknown>;
        return async (...of: readonly unknown[]): Promise<unknown> => {
          const kind = points.push(`${name}.${nameOfCall(member, of)}`) - 1 === fault?.at ? fault.kind : null;
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
    world: {
      ...world,
      table: guarded("table", world.table),
      inbox: guarded("inbox", world.inbox),
      objects: guarded("objects", world.objects),
    },
    points,
  };
}

type Act = (world: World, row: Row) => Promise<unknown>;

interface Removal {
  readonly harness: Harness;
  /** Ended; its end is not told yet. */
  readonly row: Row;
  readonly neighbour: Row;
}

async function createRemoval(): Promise<Removal> {
  const harness = createHarness();
  const [ended, neighbour] = [await endedRun(harness, "key"), await endedRun(harness, "neighbour")];
  const row = { ...ended, endNotified: false, expiresAtSec: null };
  harness.world.store.rows.set(row.run, row);
  return { harness, row, neighbour };
}

/** Acts once with that fault; the calls that were made. */
async function actWith(act: Act, { harness, row }: Removal, fault: Fault | null): Promise<readonly string[]> {
  const { world, points } = withFault(harness.world, fault);
  await act(world, row).catch((error: unknown) => {
    if (!(error instanceof Crashed || error instanceof StoreUnreachable)) throw error;
  });
  if (harness.world.store.rows.has(row.run)) await loadObjects(harness, harness.row(row.run));
  return points;
}

async function faultsIn(act: Act, fresh: () => Promise<Removal>): Promise<readonly (Fault & { name: string })[]> {
  const points = await actWith(act, await fresh(), null);
  return points.flatMap((name, at) => faultsOf(name).map((kind) => ({ at, kind, name })));
}

const purging: Act = (world, { run }) => purge(world, run);
const forgetting: Act = (world, { run }) => purge(world, run, { forgetKey: true });
const cleaning: Act = (world, row) => cleanUp(world, row);

describe("a purge", () => {
  test("that meets a fault is complete after its repetition and the clean-up of its removal", async () => {
    const faults = await faultsIn(purging, createRemoval);
    expect(new Set(faults.map(({ name }) => name))).toEqual(
      new Set([
        ...["table.read", "objects.get", "table.keepKey", "table.recordEndNotified", "table.purge"],
        ...["objects.removeUnder", "inbox.forget"],
      ]),
    );
    for (const fault of faults) {
      const at = await createRemoval();
      await actWith(purging, at, fault);
      await purging(at.harness.world, at.row);
      await cleanUpRemovedRuns(at.harness.world, performMaintenance(at.harness.world));
      expect(countLeftovers(at.harness, at.row), `${fault.name} ${fault.kind}`).toEqual(NO_LEFTOVERS);
      expect(at.harness.world.store.tombstones.get(at.row.run)).toMatchObject({ born: at.row.born });
      await loadObjects(at.harness, at.neighbour);
    }
    expect(faults.length).toBeGreaterThan(15);
  });

  test("that forgets the key and meets a fault has forgotten it after its repetition", async () => {
    const faults = await faultsIn(forgetting, createRemoval);
    expect(faults.map(({ name }) => name)).toContain("table.forgetKey");
    for (const fault of faults) {
      const at = await createRemoval();
      await actWith(forgetting, at, fault);
      await forgetting(at.harness.world, at.row);
      await cleanUpRemovedRuns(at.harness.world, performMaintenance(at.harness.world));
      expect(countLeftovers(at.harness, at.row), `${fault.name} ${fault.kind}`).toEqual(NO_LEFTOVERS);
      expect([...at.harness.world.store.tombstones.keys()], `${fault.name} ${fault.kind}`).toEqual([at.neighbour.run]);
    }
  });

  test("that is not repeated has removed everything or nothing", async () => {
    const seen = new Set<string>();
    for (const fault of await faultsIn(purging, createRemoval)) {
      const at = await createRemoval();
      const before = countLeftovers(at.harness, at.row);
      await actWith(purging, at, fault);
      await cleanUpRemovedRuns(at.harness.world, performMaintenance(at.harness.world));
      const after = countLeftovers(at.harness, at.row);
      expect([before, NO_LEFTOVERS], `${fault.name} ${fault.kind}`).toContainEqual(after);
      seen.add(after.rows === 0 ? "everything" : "nothing");
    }
    expect(seen.size).toBe(2);
  });

  test("whose response is lost reports that the run was removed", async () => {
    const at = await createRemoval();
    const lost = (await faultsIn(purging, createRemoval)).find(
      ({ name, kind }) => name === "table.purge" && kind === "answer lost",
    );
    const { world } = withFault(at.harness.world, lost ?? null);
    expect(lost).toBeDefined();
    expect(await purge(world, at.row.run)).toMatchObject({ kind: "purged" });
  });
});

describe("a clean-up", () => {
  const removed = async (): Promise<Removal> => {
    const at = await createRemoval();
    at.harness.world.store.rows.delete(at.row.run);
    return at;
  };

  test("that meets a fault is complete after the next one", async () => {
    const faults = await faultsIn(cleaning, removed);
    expect(new Set(faults.map(({ name }) => name))).toEqual(
      new Set(["table.read", "objects.removeUnder", "inbox.forget"]),
    );
    for (const fault of faults) {
      const at = await removed();
      await actWith(cleaning, at, fault);
      await cleaning(at.harness.world, at.row);
      expect(countLeftovers(at.harness, at.row), `${fault.name} ${fault.kind}`).toEqual(NO_LEFTOVERS);
      await loadObjects(at.harness, at.neighbour);
    }
  });

  test("that died among the objects is complete after the next one", async () => {
    const at = await removed();
    const { objects } = at.harness.world;
    const half: typeof objects.removeUnder = async (prefix) => {
      const [found] = await objects.keysAfter(prefix, 1);
      await objects.removeUnder(found?.key ?? prefix);
      throw new Crashed();
    };
    const { objects: before } = countLeftovers(at.harness, at.row);
    await actWith((world, row) => cleaning({ ...world, objects: { ...objects, removeUnder: half } }, row), at, null);
    expect(countLeftovers(at.harness, at.row).objects).toBe(before - 1);
    await cleaning(at.harness.world, at.row);
    expect(countLeftovers(at.harness, at.row)).toEqual(NO_LEFTOVERS);
    await loadObjects(at.harness, at.neighbour);
  });

  test("of an existing row does nothing, whatever fault it meets", async () => {
    for (const fault of await faultsIn(cleaning, createRemoval)) {
      const at = await createRemoval();
      const before = countLeftovers(at.harness, at.row);
      await actWith(cleaning, at, fault);
      expect(countLeftovers(at.harness, at.row), `${fault.name} ${fault.kind}`).toEqual(before);
    }
  });
});
