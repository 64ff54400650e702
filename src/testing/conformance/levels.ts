/**
 * The contract of two cairn versions on one store: data of the newer version is kept, and runs that only it can
 * continue wait for it.
 */
import { LEVEL } from "../../core/levels.ts";
import { type Case, must, mustBe, mustEqual, rowOf } from "./case.ts";
import { LEASE_MS, NOW, onRun, type RunTableWorld, subject, words } from "./run.ts";
import { HAND_OVER } from "../../protocol/row-hand-over.ts";
import { COMMIT } from "../../protocol/row-commit.ts";
import { PARK } from "../../protocol/row-park.ts";
import { CLAIM } from "../../protocol/row-claim.ts";

const NEWER = LEVEL + 1;

export const levelCases: readonly Case<RunTableWorld>[] = [
  {
    name: "a commit raises the level of its run, and no write lowers it",
    run: onRun(async ({ mine, table }) => {
      const held = await mine.granted();
      must(!("level" in held), "the lowest level is not written");
      const raised = await rowOf(() => table.decide(mine.commit(held, { level: NEWER }), COMMIT), "committed");
      mustEqual(raised.level, NEWER, "the level after the commit");
      const row = await rowOf(() => table.decide(mine.commit(raised, { release: true }), COMMIT), "committed");
      mustEqual(row.level, NEWER, "the level after a commit without a level");
      mustEqual(await mine.stored(), row, "the stored row");
    }),
  },
  {
    name: "refuses a claim below the level of the row and changes nothing (schedule 102)",
    run: async (world) => {
      const { mine, row } = await above(world);
      const claim = { epoch: row.epoch };
      await mustBe(() => world.table.decide(mine.claim(claim), CLAIM), "newer");
      mustEqual(await mine.stored(), row, "the stored row");
      const held = await rowOf(() => world.table.decide(mine.claim({ ...claim, level: NEWER }), CLAIM), "granted");
      mustEqual([held.level, held.epoch], [NEWER, row.epoch + 1], "the claimed row");
      await mustBe(() => world.table.decide(mine.claim(claim), CLAIM), "superseded");
    },
  },
  {
    name: "answers a claim below the level of an ended row with the level, not with the end",
    run: onRun(async ({ mine, table }) => {
      const held = await mine.granted();
      const end = { status: "completed", phase: "Completed", release: true, level: NEWER } as const;
      const row = await rowOf(() => table.decide(mine.commit(held, end), COMMIT), "committed");
      await mustBe(() => table.decide(mine.claim({ epoch: row.epoch }), CLAIM), "newer");
      await mustBe(() => table.decide(mine.claim({ epoch: row.epoch, level: NEWER }), CLAIM), "terminal");
    }),
  },
  {
    name: "accepts messages, requests, parks and hand-overs for any level, and keeps unknown fields",
    run: onRun(async ({ world, table, inbox }) => {
      const { mine, row } = await above(world);
      await world.addField(mine.run);
      await rowOf(() => table.decide(mine.park(row), PARK), "parked");
      await rowOf(() => inbox.deliver(mine.delivery(words("m"))), "delivered");
      await rowOf(() => table.request(mine.request("cancel")), "requested");
      const handed = await rowOf(() => table.decide(mine.handOver({ now: NOW + LEASE_MS }), HAND_OVER), "handed");
      mustEqual([handed.level, handed.wakeCount, handed.cancel], [NEWER, 2, true], "the row");
      must(await world.hasField(mine.run), "a field that this code does not know is kept");
    }),
  },
  {
    name: "claims and commits keep unknown fields of the row",
    run: onRun(async ({ world, mine, table }) => {
      await mine.created();
      await world.addField(mine.run);
      const held = await rowOf(() => table.decide(mine.claim(), CLAIM), "granted");
      must(await world.hasField(mine.run), "the claim keeps it");
      await rowOf(() => table.decide(mine.commit(held, { release: true }), COMMIT), "committed");
      must(await world.hasField(mine.run), "the commit keeps it");
    }),
  },
];

/** A released run whose level is above the one of this code. */
async function above(world: RunTableWorld) {
  const mine = subject(world);
  const held = await mine.granted();
  const released = mine.commit(held, { level: NEWER, release: true });
  return { mine, row: await rowOf(() => world.table.decide(released, COMMIT), "committed") };
}
