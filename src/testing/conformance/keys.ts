/**
 * The contract of tombstones: the key of an ended run outlives its data. `create` judges row and tombstone in one
 * atomic step, and a tombstone has its own expiry.
 */
import type { Tombstone } from "../../protocol/tombstone.ts";
import { COMMIT } from "../../protocol/row-commit.ts";
import { PURGE } from "../../protocol/row-removal.ts";
import { type Case, insist, mustBe, mustEqual, rowOf } from "./case.ts";
import { BORN, ENDED, HOUR_MS, NOW, onRun, type RunTableWorld, subject } from "./run.ts";

/** When the row expires, and when its key does. */
const LATER = NOW + HOUR_MS;
const LAST = NOW + 30 * 24 * HOUR_MS;
const NEXT = { born: "bbbbbbbbbb", now: LATER } as const;

const tombstone = (run: string, change: Partial<Tombstone> = {}): Tombstone => ({
  run,
  born: BORN,
  agent: "travel",
  inputDigest: "digest of the input",
  status: "completed",
  endedAt: NOW,
  epoch: 1,
  expiresAtSec: LAST / 1_000,
  ...change,
});

/** A run with a tombstone whose row expires at `LATER`. */
async function kept(world: RunTableWorld) {
  const mine = subject(world);
  const held = await mine.granted();
  const stone = tombstone(mine.run);
  await mustBe(() => world.table.keepKey(stone), "kept");
  const end = mine.commit(held, { ...ENDED, release: true, expiresAtSec: LATER / 1_000 });
  const row = await rowOf(() => world.table.decide(end, COMMIT), "committed");
  return { ...mine, row, stone };
}

async function mustBeEnded(world: RunTableWorld, { create, stone }: { create: object; stone: Tombstone }) {
  const mine = subject(world);
  const outcome = await insist(() => world.table.create(mine.creation(create)));
  mustEqual(outcome, { kind: "ended", tombstone: stone }, "the outcome of a creation");
}

export const keyCases: readonly Case<RunTableWorld>[] = [
  {
    name: "create returns the tombstone once the row is expired, removed and cleaned up (schedule 81)",
    run: async (world) => {
      const { run, of, stone } = await kept(world);
      // Expired but not deleted yet.
      await mustBeEnded(world, { create: NEXT, stone });
      mustEqual(await world.removedOf(run), [], "incarnations whose removal was told");
      await world.expire(LATER);
      await mustBeEnded(world, { create: NEXT, stone });
      await world.inbox.forget(of);
      await mustBeEnded(world, { create: { ...NEXT, inputDigest: "another" }, stone });
      mustEqual(await world.table.readKey(run, LATER), stone, "the tombstone");
    },
  },
  {
    name: "keeps the key of a purged run, and create returns its tombstone",
    run: async (world) => {
      const { of, stone } = await kept(world);
      await mustBe(() => world.table.decide(of, PURGE), "purged");
      await mustBeEnded(world, { create: { ...NEXT, now: NOW }, stone });
    },
  },
  {
    name: "ignores a tombstone while its row exists: create finds the run",
    run: onRun(async ({ mine, table }) => {
      const held = await mine.granted();
      await mustBe(() => table.keepKey(tombstone(mine.run)), "kept");
      mustEqual(await rowOf(() => table.create(mine.creation(NEXT)), "exists"), held, "the row that is there");
      await mustBe(() => table.create(mine.creation({ ...NEXT, inputDigest: "another" })), "conflict");
      await mustBe(() => table.decide(mine.commit(held), COMMIT), "committed");
    }),
  },
  {
    name: "frees a key exactly at its expiry, whether its tombstone is deleted or not",
    run: onRun(async ({ world, mine, table }) => {
      const { run, stone } = await kept(world);
      await world.expire(LATER);
      await mustBeEnded(world, { create: { ...NEXT, now: LAST - 1 }, stone });
      mustEqual(await table.readKey(run, LAST - 1), stone, "the tombstone before its expiry");
      mustEqual(await table.readKey(run, LAST), null, "the tombstone at its expiry");
      await mustBe(() => table.create(mine.creation({ ...NEXT, now: LAST })), "created");
    }),
  },
  {
    name: "the world removes expired tombstones only, and announces no removal of a tombstone",
    run: async (world) => {
      const [mine, other] = [subject(world, "a"), subject(world, "b")];
      await mustBe(() => world.table.keepKey(tombstone(mine.run)), "kept");
      await mustBe(() => world.table.keepKey(tombstone(other.run, { expiresAtSec: LAST / 1_000 + 1 })), "kept");
      await world.expire(LAST - 1);
      mustEqual((await world.table.readKey(mine.run, NOW))?.run, mine.run, "the tombstone before its time is over");
      await world.expire(LAST);
      mustEqual(await world.table.readKey(mine.run, NOW), null, "the tombstone, as it was before its time was over");
      mustEqual((await world.table.readKey(other.run, LAST))?.run, other.run, "the other tombstone");
      mustEqual(await world.removedOf(mine.run), [], "incarnations whose removal was told");
    },
  },
  {
    name: "keeps the tombstone of the newest epoch of an incarnation, then the newest one (schedule 83)",
    run: async (world) => {
      const { run } = subject(world);
      const keep = async (change: Partial<Tombstone>): Promise<Tombstone | null> => {
        await mustBe(() => world.table.keepKey(tombstone(run, change)), "kept");
        return world.table.readKey(run, NOW);
      };
      const second = { epoch: 2, status: "failed", endedAt: NOW + 5 } as const;
      await keep({ epoch: 1 });
      mustEqual(await keep(second), tombstone(run, second), "the tombstone of a later epoch");
      mustEqual(await keep({ epoch: 1, endedAt: NOW + 9 }), tombstone(run, second), "after one of an older epoch");
      mustEqual(await keep({ epoch: 2 }), tombstone(run, second), "after an older one of its epoch");
      const third = { epoch: 2, endedAt: NOW + 6 } as const;
      mustEqual(await keep(third), tombstone(run, third), "after a newer one of its epoch");
      const next = { born: NEXT.born, epoch: 1, endedAt: NOW } as const;
      mustEqual(await keep(next), tombstone(run, next), "after one of another incarnation");
    },
  },
  {
    name: "forgetKey frees the key of one incarnation and of no other",
    run: async (world) => {
      const { of, run, creation, stone } = await kept(world);
      await world.expire(LATER);
      await mustBe(() => world.table.forgetKey({ run, born: NEXT.born }), "forgotten");
      await mustBeEnded(world, { create: NEXT, stone });
      await mustBe(() => world.table.forgetKey(of), "forgotten");
      await mustBe(() => world.table.forgetKey(of), "forgotten");
      mustEqual(await world.table.readKey(run, NOW), null, "the tombstone");
      await mustBe(() => world.table.create(creation(NEXT)), "created");
    },
  },
];
