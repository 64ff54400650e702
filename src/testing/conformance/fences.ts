/**
 * The contract of the fence of a child: one transaction that names the parent's epoch, and takes the child from the
 * process that holds it once for each number.
 */
import { PARK } from "../../protocol/row-park.ts";
import { COMMIT } from "../../protocol/row-commit.ts";
import { CLAIM } from "../../protocol/row-claim.ts";
import type { ChildFence } from "../../protocol/row-fence.ts";
import { type Case, must, mustBe, mustEqual, rowOf } from "./case.ts";
import { BORN, ENDED, LEASE_MS, NOW, type RunTableWorld, subject, words } from "./run.ts";

/** A parent and its child. The caller holds both. */
async function family(world: RunTableWorld) {
  const { table } = world;
  const mine = subject(world);
  const child = subject(world, "b");
  const parent = await mine.granted();
  await rowOf(() => table.create(child.creation({ parent: { run: mine.run, born: BORN } })), "created");
  const held = await rowOf(() => table.decide(child.claim(), CLAIM), "granted");
  const fence = (change: Partial<ChildFence> = {}) =>
    table.fenceChild({ ...mine.of, epoch: parent.epoch, child: child.run, dispatch: 2, ...change });
  return { mine, parent, child, held, fence };
}

export const fenceCases: readonly Case<RunTableWorld>[] = [
  {
    name: "fenceChild takes the child from its process, which counts as no death, and keeps the end of its lease",
    run: async (world) => {
      const { mine, parent, child, held, fence } = await family(world);
      const after = {
        ...held,
        dispatch: 2,
        epoch: held.epoch + 1,
        chain: held.chain + 1,
        chainClaims: 0,
        claimedAt: NOW,
        owner: null,
        leaseUntil: null,
        park: null,
        effectsSettleAt: NOW + LEASE_MS,
      };
      mustEqual(await rowOf(() => fence(), "fenced"), after, "the row of the outcome");
      mustEqual(await child.stored(), after, "the stored row");
      mustEqual(await mine.stored(), parent, "the row of the parent");
      await mustBe(() => world.table.decide(child.commit(held), COMMIT), "fenced");
      const next = child.claim({ chain: 2, epoch: after.epoch, owner: "next" });
      await rowOf(() => world.table.decide(next, CLAIM), "granted");
    },
  },
  {
    name: "fenceChild leaves the child to its next process when the same request comes again (schedule 251)",
    run: async (world) => {
      const { child, fence } = await family(world);
      const fenced = await rowOf(() => fence(), "fenced");
      const next = child.claim({ chain: 2, epoch: fenced.epoch, owner: "next" });
      const works = await rowOf(() => world.table.decide(next, CLAIM), "granted");
      mustEqual(await rowOf(() => fence(), "already"), works, "the row of the outcome");
      mustEqual(await child.stored(), works, "the stored row");
      mustEqual((await rowOf(() => fence({ dispatch: 3 }), "fenced")).dispatch, 3, "the number after another request");
    },
  },
  {
    name: "fenceChild is refused to another epoch, and after the end of the parent (schedule 253)",
    run: async (world) => {
      const { mine, parent, child, held, fence } = await family(world);
      await mustBe(() => fence({ epoch: parent.epoch - 1 }), "refused");
      await mustBe(() => fence({ epoch: parent.epoch + 1 }), "refused");
      const end = mine.commit(parent, { ...ENDED, release: true, unlessWoken: true });
      await rowOf(() => world.table.decide(end, COMMIT), "committed");
      await mustBe(() => fence(), "refused");
      mustEqual(await child.stored(), held, "the row of the child");
    },
  },
  {
    name: "fenceChild changes no run of another parent, and none without a row",
    run: async (world) => {
      const { child, held, fence } = await family(world);
      await mustBe(() => fence({ run: subject(world, "z").run }), "missing");
      await mustBe(() => fence({ born: "zzzzzzzzzz" }), "missing");
      await mustBe(() => fence({ child: subject(world, "z").run }), "gone");
      const other = subject(world, "c");
      const row = await rowOf(
        () => world.table.create(other.creation({ parent: { run: child.run, born: BORN } })),
        "created",
      );
      await mustBe(() => fence({ child: other.run }), "gone");
      mustEqual(await other.stored(), row, "the row of the other run");
      mustEqual(await child.stored(), held, "the row of the child");
    },
  },
  {
    name: "fenceChild changes no child that has ended",
    run: async (world) => {
      const { child, held, fence } = await family(world);
      const end = child.commit(held, { ...ENDED, release: true, unlessWoken: true });
      const ended = await rowOf(() => world.table.decide(end, COMMIT), "committed");
      mustEqual(await rowOf(() => fence(), "ended"), ended, "the row of the outcome");
      mustEqual(await child.stored(), ended, "the stored row");
    },
  },
  {
    name: "fenceChild names the execution that waited, and keeps what was asked of the child",
    run: async (world) => {
      const { child, held, fence } = await family(world);
      const { table, inbox } = world;
      const free = await rowOf(() => table.decide(child.commit(held, { release: true }), COMMIT), "committed");
      await rowOf(() => table.decide(child.park(free), PARK), "parked");
      for (const want of ["cancel", "pause"] as const) {
        await rowOf(() => table.request(child.request(want)), "requested");
      }
      await rowOf(() => inbox.deliver(child.delivery(words("m1"))), "delivered");
      const outcome = await fence();
      must(outcome.kind === "fenced", `the outcome is ${outcome.kind}`);
      mustEqual(outcome.parked, "token", "the token of the execution");
      const { cancel, pause, wakeCount, park, effectsSettleAt } = (await child.stored()) ?? held;
      const kept = { cancel: true, pause: true, wakeCount: 3, park: null, effectsSettleAt: 0 };
      mustEqual({ cancel, pause, wakeCount, park, effectsSettleAt }, kept, "the stored row");
      mustEqual((await inbox.unread(child.of)).length, 1, "the unread messages");
    },
  },
  {
    name: "fenceChild changes no child that cannot be read",
    run: async (world) => {
      const { child, fence } = await family(world);
      await world.setFormat(child.run, 999);
      await mustBe(() => fence(), "childUnreadable");
    },
  },
];
