/** The contract of redrive: of many concurrent redrives of a failed run one wins, and all older epochs are fenced. */
import type { Commit, Row } from "../../protocol/row.ts";
import { type Redrive, REDRIVE } from "../../protocol/row-redrive.ts";
import { COMMIT } from "../../protocol/row-commit.ts";
import { END_NOTIFICATION } from "../../protocol/row-end-notification.ts";
import { CLAIM } from "../../protocol/row-claim.ts";
import { type Case, insist, must, mustBe, mustEqual, rowOf } from "./case.ts";
import { allOf, HOUR_MS, LEASE_MS, NOW, onRun, type RunTableWorld, subject, times, words } from "./run.ts";

const FAILED = { status: "failed", phase: "Failed" } as const;
const EXPIRES = (NOW + HOUR_MS) / 1_000;

/** A failed run; `change` modifies its last commit. */
async function failed(world: RunTableWorld, change: Partial<Commit> = {}, letter = "a") {
  const mine = subject(world, letter);
  const held = await mine.granted();
  const end = mine.commit(held, { ...FAILED, release: true, unlessWoken: true, ...change });
  const row = await rowOf(() => world.table.decide(end, COMMIT), "committed");
  const redrive = (change: Partial<Redrive> = {}): Redrive => ({
    ...mine.of,
    epoch: row.epoch,
    version: row.version,
    deadline: NOW + 9 * HOUR_MS,
    note: { id: "wish 1", by: "ada", why: "the provider is back" },
    ...change,
  });
  return { ...mine, row, redrive };
}

export const redriveCases: readonly Case<RunTableWorld>[] = [
  {
    name: "redrive gives a failed run the next epoch and execution, and removes its expiry",
    run: async (world) => {
      const mine = await failed(world, { expiresAtSec: EXPIRES });
      const row = await rowOf(() => world.table.decide(mine.redrive({ now: NOW + 5 }), REDRIVE), "redriven");
      const { redrive, ...rest } = row;
      mustEqual(
        rest,
        {
          ...mine.row,
          status: "running",
          statusSince: NOW + 5,
          epoch: mine.row.epoch + 1,
          chain: mine.row.chain + 1,
          chainClaims: 0,
          claimedAt: NOW + 5,
          endNotified: false,
          expiresAtSec: null,
          deadline: NOW + 9 * HOUR_MS,
        },
        "the redriven row",
      );
      mustEqual(redrive, { id: "wish 1", by: "ada", why: "the provider is back" }, "what it remembers");
      mustEqual(await mine.stored(NOW + 2 * HOUR_MS), row, "the stored row, after its old expiry");
      await world.expire(NOW + 10_000 * HOUR_MS);
      mustEqual(await mine.stored(), row, "a live row, which does not expire");
    },
  },
  {
    name: "the next execution claims a redriven run, and its first commit clears the redrive record",
    run: async (world) => {
      const mine = await failed(world, { expiresAtSec: EXPIRES });
      const { table, inbox, tenant } = world;
      const { epoch, chain } = await rowOf(() => table.decide(mine.redrive(), REDRIVE), "redriven");
      const listed = async (status: Row["status"]): Promise<readonly string[]> =>
        (await table.list({ tenant, status, limit: 9, after: null, now: NOW })).rows.map(({ run }) => run);
      mustEqual([await listed("running"), await listed("failed")], [[mine.run], []], "the lists");
      const alive = await allOf((after) => table.alive({ limit: 50, after, now: NOW }));
      must(alive.rows.includes(mine.run), "the sweeper's list contains the redriven run");
      await mustBe(() => inbox.deliver(mine.delivery(words("m"))), "delivered");
      await mustBe(() => table.decide(mine.claim({ epoch: mine.row.epoch }), CLAIM), "superseded");
      const held = await rowOf(() => table.decide(mine.claim({ epoch, chain }), CLAIM), "granted");
      mustEqual([held.epoch, held.redrive?.by], [epoch + 1, "ada"], "the claimed row");
      const row = await rowOf(() => table.decide(mine.commit(held, { release: true }), COMMIT), "committed");
      must(!("redrive" in row), "the first commit clears the redrive record");
      mustEqual(await mine.stored(), row, "the stored row");
    },
  },
  {
    name: "keeps the redrive record when the first beat meets a store outage",
    run: onRun(async ({ world, table }) => {
      const mine = await failed(world);
      const { epoch, chain } = await rowOf(() => table.decide(mine.redrive(), REDRIVE), "redriven");
      const held = await rowOf(() => table.decide(mine.claim({ epoch, chain }), CLAIM), "granted");
      const storeOutage = { store: "the objects", since: NOW };
      const back = mine.commit(held, { ...FAILED, status: "running", release: true, storeOutage });
      const row = await rowOf(() => table.decide(back, COMMIT), "committed");
      mustEqual([row.redrive?.by, row.owner, row.storeOutage], ["ada", null, storeOutage], "the row given back");
      mustEqual(await mine.stored(), row, "the stored row");
    }),
  },
  {
    name: "refuses to redrive a run that has not failed, or that changed since it was read (schedule 87)",
    run: onRun(async ({ world, table }) => {
      const mine = await failed(world);
      const done = subject(world, "b");
      const completed = await done.ended();
      const of = { ...done.of, epoch: completed.epoch, version: completed.version };
      mustEqual(await rowOf(() => table.decide(mine.redrive(of), REDRIVE), "late"), completed, "a run that is done");
      await mustBe(() => table.decide(mine.redrive({ epoch: mine.row.epoch - 1 }), REDRIVE), "late");
      await mustBe(() => table.decide(mine.redrive({ version: mine.row.version + 1 }), REDRIVE), "late");
      mustEqual([await mine.stored(), await done.stored()], [mine.row, completed], "the stored rows");
      const row = await rowOf(() => table.decide(mine.redrive(), REDRIVE), "redriven");
      const note = { id: "wish 2", by: "bob", why: "" };
      mustEqual(await rowOf(() => table.decide(mine.redrive({ note }), REDRIVE), "late"), row, "a second redrive");
    }),
  },
  {
    name: "grants one redrive when 50 redrives run at once",
    run: async (world) => {
      const mine = await failed(world);
      const notes = times(50, (index) => ({ id: `wish ${index}`, by: "ada", why: "" }));
      const outcomes = await Promise.all(
        notes.map((note) => insist(() => world.table.decide(mine.redrive({ note }), REDRIVE))),
      );
      const row = (await mine.stored()) as Row;
      mustEqual([row.epoch, row.chain], [mine.row.epoch + 1, mine.row.chain + 1], "the row after fifty redrives");
      const winners = outcomes.flatMap((each) => (each.kind === "redriven" ? [each.row.redrive?.id] : []));
      must(winners.length <= 1 && winners.every((id) => id === row.redrive?.id), "at most one redrive is granted");
    },
  },
  {
    name: "refuses to redrive a run that is expired, or of another incarnation or format",
    run: onRun(async ({ world, table }) => {
      const mine = await failed(world, { expiresAtSec: EXPIRES });
      await mustBe(() => table.decide(mine.redrive({ now: EXPIRES * 1_000 }), REDRIVE), "missing");
      await mustBe(() => table.decide(mine.redrive({ born: "zzzzzzzzzz" }), REDRIVE), "missing");
      await world.setFormat(mine.run, mine.row.format + 1);
      await mustBe(() => table.decide(mine.redrive(), REDRIVE), "newer");
    }),
  },
  {
    name: "redrive keeps `effectsSettleAt`, the counters and the pending requests",
    run: onRun(async ({ mine, table }) => {
      await mine.granted();
      const retry = { retry: 1, owner: "second", leaseUntil: NOW + 2 * LEASE_MS };
      const held = await rowOf(() => table.decide(mine.claim(retry), CLAIM), "granted");
      await mustBe(() => table.request(mine.request("pause")), "requested");
      const end = mine.commit(held, { ...FAILED, release: true, raiseEffectsSettleAt: true, wakeCountSeen: 1 });
      const row = await rowOf(() => table.decide(end, COMMIT), "committed");
      const note = { id: "wish 1", by: "ada", why: "" };
      const of = { epoch: row.epoch, version: row.version, deadline: NOW, note };
      const again = await rowOf(() => table.decide({ ...mine.of, ...of }, REDRIVE), "redriven");
      mustEqual(
        [again.effectsSettleAt, again.takeovers, again.pause],
        [NOW + 2 * LEASE_MS, 1, true],
        "the redriven row",
      );
      mustEqual(again.deaths, 0, "the deaths that count");
    }),
  },
  {
    name: "ignores a late delivery of the first end after a redrive (schedule 89)",
    run: onRun(async ({ world, table }) => {
      const mine = await failed(world);
      const late = { ...mine.of, epoch: mine.row.epoch, expiresAtSec: EXPIRES };
      const { epoch, chain } = await rowOf(() => table.decide(mine.redrive(), REDRIVE), "redriven");
      must(
        !(await rowOf(() => table.decide(late, END_NOTIFICATION), "notified")).endNotified,
        "the end of a live run is not delivered",
      );
      const held = await rowOf(() => table.decide(mine.claim({ epoch, chain }), CLAIM), "granted");
      const end = mine.commit(held, { ...FAILED, release: true });
      const second = await rowOf(() => table.decide(end, COMMIT), "committed");
      mustEqual(
        await rowOf(() => table.decide(late, END_NOTIFICATION), "notified"),
        second,
        "the row after the late delivery",
      );
      const own = await rowOf(() => table.decide({ ...late, epoch: second.epoch }, END_NOTIFICATION), "notified");
      mustEqual([own.endNotified, own.expiresAtSec], [true, EXPIRES], "the second end, told");
    }),
  },
];
