/**
 * The contract of removal: rows are removed by expiry, by purge, or by a new incarnation, and the world announces the
 * removed incarnation to the clean-up.
 */
import type { Row } from "../../protocol/row.ts";
import { COMMIT } from "../../protocol/row-commit.ts";
import { END_NOTIFICATION } from "../../protocol/row-end-notification.ts";
import { CLAIM } from "../../protocol/row-claim.ts";
import { PURGE } from "../../protocol/row-removal.ts";
import { type Case, insist, must, mustBe, mustEqual, rowOf } from "./case.ts";
import { HOSTILE } from "./commits.ts";
import { BORN, HOUR_MS, NOW, onRun, type RunTableWorld, subject, times, words } from "./run.ts";

const LATER = NOW + HOUR_MS;
const NEXT = { born: "bbbbbbbbbb", now: LATER } as const;

/** An ended run whose end is delivered and which expires at `LATER`. */
async function over(world: RunTableWorld, letter = "a") {
  const mine = subject(world, letter);
  await mine.ended();
  const row = await rowOf(
    () => world.table.decide({ ...mine.of, expiresAtSec: LATER / 1_000 }, END_NOTIFICATION),
    "notified",
  );
  return { ...mine, row };
}

export const removalCases: readonly Case<RunTableWorld>[] = [
  {
    name: "purge removes an ended run before it expires, and its removal is announced",
    run: async (world) => {
      const mine = await over(world);
      mustEqual(await world.removedOf(mine.run), [], "what was removed before");
      const gone = await rowOf(() => world.table.decide(mine.of, PURGE), "purged");
      mustEqual(gone, mine.row, "the row that was removed");
      mustEqual(await mine.stored(), null, "the stored row");
      await mustBe(() => world.table.decide(mine.of, PURGE), "missing");
      await mustBe(() => world.inbox.deliver(mine.delivery(words("m"))), "missing");
      mustEqual(distinct(await world.removedOf(mine.run)), [BORN], "incarnations whose removal was announced");
    },
  },
  {
    name: "purge keeps a live run, and one whose end is not delivered (schedule 41)",
    run: async (world) => {
      const [live, untold] = [subject(world, "a"), subject(world, "b")];
      const rows = [await live.granted(), await untold.ended()];
      for (const mine of [live, untold]) {
        const kept = await rowOf(() => world.table.decide(mine.of, PURGE), "kept");
        mustEqual(kept, await mine.stored(), "the row that a refusal returns");
        mustEqual(await world.removedOf(mine.run), [], "what was removed");
      }
      mustEqual([await live.stored(), await untold.stored()], rows, "the stored rows");
    },
  },
  {
    name: "purge removes no row of another incarnation or format, and no expired one (schedules 19 and 31)",
    run: async (world) => {
      const mine = await over(world);
      await mustBe(() => world.table.decide({ ...mine.of, born: "zzzzzzzzzz" }, PURGE), "missing");
      await mustBe(() => world.table.decide({ ...mine.of, now: LATER }, PURGE), "missing");
      await world.setFormat(mine.run, mine.row.format + 1);
      const newer = await mine.stored();
      await mustBe(() => world.table.decide(mine.of, PURGE), "newer");
      mustEqual(await mine.stored(), newer, "the stored row");
      mustEqual(await world.removedOf(mine.run), [], "what was removed");
    },
  },
  {
    name: "removes the row once when 50 purges run at once",
    run: async (world) => {
      const mine = await over(world);
      const outcomes = await Promise.all(times(50, () => insist(() => world.table.decide(mine.of, PURGE))));
      must(outcomes.filter(({ kind }) => kind === "purged").length <= 1, "at most one purge gets `purged`");
      mustEqual(await mine.stored(), null, "the stored row");
      mustEqual(distinct(await world.removedOf(mine.run)), [BORN], "incarnations whose removal was announced");
    },
  },
  {
    name: "a row expires at its time and not before, and its removal is announced",
    run: async (world) => {
      const mine = await over(world);
      await world.expire(LATER - 1);
      must((await world.table.read(mine.run, 0)) !== null, "a row is there until its time is over");
      mustEqual(await world.removedOf(mine.run), [], "what was removed before its time");
      must((await world.table.read(mine.run, LATER)) === null, "an expired row is gone before it is deleted");
      await world.expire(LATER);
      mustEqual(await world.table.read(mine.run, 0), null, "the row, as it was before its time was over");
      mustEqual(distinct(await world.removedOf(mine.run)), [BORN], "incarnations whose removal was announced");
    },
  },
  {
    name: "a live run, or one whose end is not delivered, never expires (schedule 41)",
    run: async (world) => {
      const [live, untold] = [subject(world, "a"), subject(world, "b")];
      const rows: readonly Row[] = [await live.granted(), await untold.ended()];
      await world.expire(NOW + 10_000 * HOUR_MS);
      mustEqual([await live.stored(), await untold.stored()], rows, "the stored rows");
    },
  },
  {
    name: "create over an expired row removes that incarnation, and its removal is announced (schedule 32)",
    run: async (world) => {
      const mine = await over(world);
      await mustBe(() => world.table.create(mine.creation({ ...NEXT, now: LATER - 1 })), "exists");
      mustEqual(await world.removedOf(mine.run), [], "what was removed before its time");
      await mustBe(() => world.table.create(mine.creation(NEXT)), "created");
      mustEqual(distinct(await world.removedOf(mine.run)), [BORN], "incarnations whose removal was announced");
      mustEqual((await world.table.read(mine.run, LATER))?.born, NEXT.born, "the incarnation that is there");
    },
  },
];

export const forgetCases: readonly Case<RunTableWorld>[] = [
  {
    name: "forget removes the items of one incarnation, whatever their IDs, and never a row",
    run: onRun(async ({ world, inbox }) => {
      const [mine, other] = [subject(world, "a"), subject(world, "b")];
      await mine.created();
      const kept = await other.created();
      for (const id of HOSTILE) await mustBe(() => inbox.deliver(mine.delivery(words(id))), "delivered");
      await mustBe(() => inbox.deliver(other.delivery(words("m"))), "delivered");
      const before = await mine.stored();
      await inbox.forget(mine.of);
      await inbox.forget(mine.of);
      mustEqual(await inbox.unread(mine.of), [], "the inbox");
      mustEqual(await mine.stored(), before, "the row");
      for (const id of HOSTILE) await mustBe(() => inbox.deliver(mine.delivery(words(id))), "delivered");
      mustEqual((await inbox.unread(other.of)).length, 1, "messages in the inbox of another run");
      await mustBe(() => inbox.deliver(other.delivery(words("m"))), "duplicate");
      mustEqual((await other.stored())?.born, kept.born, "the other run");
    }),
  },
  {
    name: "forget touches nothing of the next incarnation of the same run (schedule 19)",
    run: onRun(async ({ mine, table, inbox }) => {
      await mine.created();
      await mustBe(() => inbox.deliver(mine.delivery(words("m"))), "delivered");
      const held = await rowOf(() => table.decide(mine.claim(), CLAIM), "granted");
      const end = mine.commit(held, { status: "completed", phase: "Completed", release: true });
      await rowOf(() => table.decide(end, COMMIT), "committed");
      await rowOf(() => table.decide({ ...mine.of, expiresAtSec: LATER / 1_000 }, END_NOTIFICATION), "notified");
      await mustBe(() => table.create(mine.creation(NEXT)), "created");
      await mustBe(() => inbox.deliver(mine.delivery(words("m"), NEXT)), "delivered");
      const row = await mine.stored(LATER);
      await inbox.forget(mine.of);
      mustEqual(await mine.stored(LATER), row, "the new row");
      const left = await inbox.unread({ ...mine.of, ...NEXT });
      mustEqual(
        left.map(({ id }) => id),
        ["m"],
        "the inbox of the new incarnation",
      );
      await mustBe(() => inbox.deliver(mine.delivery(words("m"), NEXT)), "duplicate");
    }),
  },
  {
    name: "storeId returns the same ID every time",
    run: async ({ table }) => {
      const id = await table.storeId();
      must(id.length > 0, "a store has an ID");
      mustEqual(await table.storeId(), id, "the ID at the next call");
    },
  },
];

/** A removal may be announced more than once. */
const distinct = (borns: readonly string[]): readonly string[] => [...new Set(borns)];
