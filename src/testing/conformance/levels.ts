/** Two versions of cairn on one store: what the newer one wrote stays, and what only it can go on with waits for it. */
import { LEVEL } from "../../core/levels.ts";
import { type Case, must, mustBe, mustEqual, rowOf } from "./case.ts";
import { LEASE_MS, NOW, onRun, type RunTableWorld, subject, words } from "./run.ts";

const NEWER = LEVEL + 1;

export const levelCases: readonly Case<RunTableWorld>[] = [
  {
    name: "a commit raises the level of its run, and nothing lowers it",
    run: onRun(async ({ mine, table }) => {
      const held = await mine.granted();
      must(!("level" in held), "the lowest level is not written");
      const raised = await rowOf(() => table.commit(mine.commit(held, { level: NEWER })), "committed");
      mustEqual(raised.level, NEWER, "the level after the commit");
      const row = await rowOf(() => table.commit(mine.commit(raised, { release: true })), "committed");
      mustEqual(row.level, NEWER, "the level after a commit that names none");
      mustEqual(await mine.stored(), row, "the stored row");
    }),
  },
  {
    name: "a claim below the level of the row is told so and changes nothing (schedule 102)",
    run: async (world) => {
      const { mine, row } = await above(world);
      const claim = { epoch: row.epoch };
      await mustBe(() => world.table.claim(mine.claim(claim)), "newer");
      mustEqual(await mine.stored(), row, "the stored row");
      const held = await rowOf(() => world.table.claim(mine.claim({ ...claim, level: NEWER })), "granted");
      mustEqual([held.level, held.epoch], [NEWER, row.epoch + 1], "the claimed row");
      await mustBe(() => world.table.claim(mine.claim(claim)), "superseded");
    },
  },
  {
    name: "a claim below the level of an ended row is told so, and not that the run has ended",
    run: onRun(async ({ mine, table }) => {
      const held = await mine.granted();
      const end = { status: "completed", phase: "Completed", release: true, level: NEWER } as const;
      const row = await rowOf(() => table.commit(mine.commit(held, end)), "committed");
      await mustBe(() => table.claim(mine.claim({ epoch: row.epoch })), "newer");
      await mustBe(() => table.claim(mine.claim({ epoch: row.epoch, level: NEWER })), "terminal");
    }),
  },
  {
    name: "messages, wishes, parks and hand-overs reach a run of any level, and keep what they do not know",
    run: onRun(async ({ world, table }) => {
      const { mine, row } = await above(world);
      await world.addField(mine.run);
      await rowOf(() => table.park(mine.park(row)), "parked");
      await rowOf(() => table.deliver(mine.delivery(words("m"))), "delivered");
      await rowOf(() => table.request(mine.request("cancel")), "requested");
      const handed = await rowOf(() => table.handOver(mine.handOver({ now: NOW + LEASE_MS })), "handed");
      mustEqual([handed.level, handed.stirs, handed.cancel], [NEWER, 2, true], "the row");
      must(await world.hasField(mine.run), "a field that this code does not know is kept");
    }),
  },
  {
    name: "claims and commits keep a field of the row that they do not know",
    run: onRun(async ({ world, mine, table }) => {
      await mine.created();
      await world.addField(mine.run);
      const held = await rowOf(() => table.claim(mine.claim()), "granted");
      must(await world.hasField(mine.run), "the claim keeps it");
      await rowOf(() => table.commit(mine.commit(held, { release: true })), "committed");
      must(await world.hasField(mine.run), "the commit keeps it");
    }),
  },
];

/** A run that was released above what this code knows. */
async function above(world: RunTableWorld) {
  const mine = subject(world);
  const held = await mine.granted();
  const released = mine.commit(held, { level: NEWER, release: true });
  return { mine, row: await rowOf(() => world.table.commit(released), "committed") };
}
