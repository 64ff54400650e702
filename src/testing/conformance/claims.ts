/**
 * The contract of creation and claims: of many concurrent invocations one wins, and the epoch decides which, never a
 * clock.
 */
import type { Row } from "../../protocol/row.ts";
import { CLAIM } from "../../protocol/row-claim.ts";
import { COMMIT } from "../../protocol/row-commit.ts";
import { PARK } from "../../protocol/row-park.ts";
import { END_NOTIFICATION } from "../../protocol/row-end-notification.ts";
import { HAND_OVER } from "../../protocol/row-hand-over.ts";
import { type Case, insist, must, mustBe, mustEqual, rowOf } from "./case.ts";
import { BORN, ENDED, HOUR_MS, LEASE_MS, NOW, onRun, type RunTableWorld, subject, times } from "./run.ts";

export const createCases: readonly Case<RunTableWorld>[] = [
  {
    name: "create writes a queued row that reads back as it was returned",
    run: onRun(async ({ mine }) => {
      mustEqual(await mine.stored(), null, "a run that was not created");
      const row = await mine.created();
      mustEqual([row.status, row.version, row.epoch, row.chain], ["queued", 0, 0, 1], "the new row");
      mustEqual(await mine.stored(), row, "the row that is read back");
    }),
  },
  {
    name: "create stores the parent, and no later write changes it",
    run: onRun(async ({ world, table }) => {
      const parent = { run: subject(world, "p").run, born: "pppppppppp" };
      const [child, alone] = [subject(world, "a"), subject(world, "b")];
      const row = await rowOf(() => table.create(child.creation({ parent })), "created");
      mustEqual([row.parent, (await child.stored())?.parent], [parent, parent], "the parent");
      mustEqual((await alone.created()).parent, null, "the parent of a run of its own");
      const held = await rowOf(() => table.decide(child.claim(), CLAIM), "granted");
      const ended = await rowOf(
        () => table.decide(child.commit(held, { ...ENDED, release: true }), COMMIT),
        "committed",
      );
      mustEqual([held.parent, ended.parent], [parent, parent], "the parent after a claim and after the end");
      const page = await table.list({ tenant: world.tenant, status: "completed", limit: 9, after: null, now: NOW });
      mustEqual(
        page.rows.map((each) => each.parent),
        [parent],
        "the parent in a list",
      );
    }),
  },
  {
    name: "a second create finds the existing run and changes nothing",
    run: onRun(async ({ mine, table }) => {
      const row = await mine.created();
      const again = await rowOf(() => table.create(mine.creation({ born: "bbbbbbbbbb" })), "exists");
      mustEqual(again, row, "the row of the first creation");
      await mustBe(() => table.create(mine.creation({ inputDigest: "another" })), "conflict");
      await mustBe(() => table.create(mine.creation({ agent: "another" })), "conflict");
      mustEqual(await mine.stored(), row, "the stored row");
    }),
  },
  {
    name: "creates one run when 50 creations run at once",
    run: onRun(async ({ mine, table }) => {
      const borns = times(50, (index) => `b${String(index).padStart(9, "0")}`);
      const outcomes = await Promise.all(borns.map((born) => insist(() => table.create(mine.creation({ born })))));
      const rows = outcomes.map((each) => ("row" in each ? each.row.born : each.kind));
      mustEqual(new Set(rows).size, 1, "incarnations that were seen");
      must(outcomes.filter(({ kind }) => kind === "created").length <= 1, "at most one creation gets `created`");
    }),
  },
  {
    name: "create replaces an expired row and does not inherit its messages (schedules 19 and 32)",
    run: onRun(async ({ mine, table, inbox }) => {
      await mine.created();
      await mustBe(() => inbox.deliver(mine.delivery({ ...MESSAGE })), "delivered");
      const held = await rowOf(() => table.decide(mine.claim(), CLAIM), "granted");
      const end = mine.commit(held, { status: "completed", phase: "Completed", release: true });
      await rowOf(() => table.decide(end, COMMIT), "committed");
      await rowOf(
        () => table.decide({ ...mine.of, expiresAtSec: (NOW + HOUR_MS) / 1_000 }, END_NOTIFICATION),
        "notified",
      );
      const now = NOW + HOUR_MS;
      await mustBe(() => table.create(mine.creation({ now: now - 1, inputDigest: "another" })), "conflict");
      const next = { born: "bbbbbbbbbb", now };
      await mustBe(() => table.create(mine.creation({ ...next, inputDigest: "another" })), "created");
      await mustBe(() => table.decide(mine.claim({ now }), CLAIM), "missing");
      mustEqual(await inbox.unread({ ...mine.of, ...next }), [], "the inbox of the new incarnation");
      await mustBe(() => inbox.deliver(mine.delivery({ ...MESSAGE }, next)), "delivered");
    }),
  },
];

const MESSAGE = { id: "m", sentAt: NOW, body: { kind: "user", text: "hello", by: "conformance" } } as const;

export const claimCases: readonly Case<RunTableWorld>[] = [
  {
    name: "claim grants the epoch of the payload once",
    run: onRun(async ({ mine, table }) => {
      const row = await mine.granted();
      mustEqual([row.epoch, row.owner, row.claims, row.takeovers], [1, "owner", 1, 0], "the granted row");
      mustEqual(row.leaseUntil, NOW + LEASE_MS, "the lease");
      const second = await rowOf(() => table.decide(mine.claim({ owner: "other" }), CLAIM), "superseded");
      mustEqual(second, row, "the row that a refusal returns");
      mustEqual(await mine.stored(), row, "the stored row");
    }),
  },
  {
    name: "grants one claim when 50 claims run at once",
    run: onRun(async ({ mine, table }) => {
      await mine.created();
      const owners = times(50, (index) => `owner ${index}`);
      const outcomes = await Promise.all(
        owners.map((owner) => insist(() => table.decide(mine.claim({ owner }), CLAIM))),
      );
      const row = (await mine.stored()) as Row;
      mustEqual([row.epoch, row.claims, row.takeovers], [1, 1, 0], "the row after fifty claims");
      const winners = outcomes.flatMap((each) => (each.kind === "granted" ? [each.row.owner] : []));
      must(winners.length <= 1 && winners.every((owner) => owner === row.owner), "at most one claim is granted");
    }),
  },
  {
    name: "refuses an attempt that was frozen before its claim (schedule 1)",
    run: onRun(async ({ mine, table }) => {
      await mine.created();
      const held = await rowOf(() => table.decide(mine.claim({ retry: 1 }), CLAIM), "granted");
      const row = await rowOf(() => table.decide(mine.commit(held, { release: true }), COMMIT), "committed");
      await mustBe(() => table.decide(mine.claim({ owner: "frozen" }), CLAIM), "superseded");
      await mustBe(() => table.decide(mine.claim({ owner: "frozen", retry: 1 }), CLAIM), "superseded");
      mustEqual(await mine.stored(), row, "the stored row");
    }),
  },
  {
    name: "a retry of the same entry takes over at once and raises `effectsSettleAt` to the old lease (schedules 3 to 5)",
    run: onRun(async ({ mine, table }) => {
      await mine.granted();
      const retry = { retry: 1, owner: "second", leaseUntil: NOW + 2 * LEASE_MS };
      const outcome = await insist(() => table.decide(mine.claim(retry), CLAIM));
      must(outcome.kind === "granted", "a retry of the entry that holds the run is granted");
      const { row } = outcome;
      mustEqual(outcome.overtook, "owner", "the fenced owner");
      mustEqual(
        [row.epoch, row.owner, row.effectsSettleAt],
        [2, "second", NOW + LEASE_MS],
        "the row of the second owner",
      );
      mustEqual([row.takeovers, row.claims], [1, 2], "takeovers and claims");
      const third = { retry: 2, owner: "third", leaseUntil: NOW + 1, now: NOW + 9 * LEASE_MS };
      const last = await rowOf(() => table.decide(mine.claim(third), CLAIM), "granted");
      mustEqual(last.effectsSettleAt, NOW + 2 * LEASE_MS, "`effectsSettleAt` after a lease that has expired");
      const fourth = await rowOf(() => table.decide(mine.claim({ retry: 3, owner: "fourth" }), CLAIM), "granted");
      mustEqual(fourth.effectsSettleAt, NOW + 2 * LEASE_MS, "`effectsSettleAt`, which nothing lowers");
    }),
  },
  {
    name: "a claim counts a possible model call if the last commit announced one, and a commit sets the count",
    run: onRun(async ({ mine, table }) => {
      const first = await mine.granted();
      mustEqual([first.unaccountedModelCalls, first.marksAtClaim], [1, 1], "the count after a first claim");
      const second = await rowOf(() => table.decide(mine.claim({ retry: 1_000, owner: "second" }), CLAIM), "granted");
      mustEqual(second.unaccountedModelCalls, 2, "the count after a second claim");
      const waiting = mine.commit(second, { unaccountedModelCalls: 1, marksAtClaim: 0 });
      const row = await rowOf(() => table.decide(waiting, COMMIT), "committed");
      mustEqual([row.unaccountedModelCalls, row.marksAtClaim], [1, 0], "the count that a commit sets");
      const third = await rowOf(() => table.decide(mine.claim({ retry: 2_000, owner: "third" }), CLAIM), "granted");
      mustEqual(third.unaccountedModelCalls, 1, "the count after a claim without an announced model call");
      const released = await rowOf(
        () => table.decide(mine.commit(third, { release: true, marksAtClaim: 1 }), COMMIT),
        "committed",
      );
      mustEqual([released.unaccountedModelCalls, released.claims], [0, 0], "a release that accounts for everything");
    }),
  },
  {
    name: "a takeover counts a death only with evidence about the attempt that held the run",
    run: onRun(async ({ mine, table }) => {
      await mine.created();
      await rowOf(() => table.decide(mine.claim({ retry: 3 }), CLAIM), "granted");
      const blind = await rowOf(() => table.decide(mine.claim({ retry: 1_000, owner: "second" }), CLAIM), "granted");
      mustEqual([blind.deaths, blind.takeovers], [0, 1], "a takeover without evidence");
      const stale = await rowOf(
        () => table.decide(mine.claim({ retry: 2_000, owner: "third", died: 0 }), CLAIM),
        "granted",
      );
      mustEqual(stale.deaths, 0, "evidence about an attempt that was fenced before");
      const sure = await rowOf(
        () => table.decide(mine.claim({ retry: 3_001, owner: "fourth", died: 2_000 }), CLAIM),
        "granted",
      );
      mustEqual(sure.deaths, 1, "evidence about the attempt that held the run");
      const near = await rowOf(
        () => table.decide(mine.claim({ retry: 4_000, owner: "fifth", died: 3_000 }), CLAIM),
        "granted",
      );
      mustEqual(near.deaths, 2, "evidence about an attempt of the same group");
      const idle = await rowOf(() => table.decide(mine.commit(near), COMMIT), "committed");
      mustEqual(idle.deaths, 2, "a commit without progress");
      const done = await rowOf(() => table.decide(mine.commit(idle, { isProgress: true }), COMMIT), "committed");
      mustEqual(done.deaths, 0, "a commit that holds progress");
    }),
  },
  {
    name: "a release in an outage names the store and keeps the last checkpoint, and a commit clears the outage",
    run: onRun(async ({ mine, table }) => {
      const held = await mine.granted();
      const storeOutage = { store: "the objects", since: NOW };
      const away = mine.commit(held, {
        release: true,
        storeOutage,
        lastCheckpointAt: held.lastCheckpointAt,
        now: NOW + 9,
      });
      const row = await rowOf(() => table.decide(away, COMMIT), "committed");
      mustEqual([row.storeOutage, row.lastCheckpointAt], [storeOutage, held.lastCheckpointAt], "outage and checkpoint");
      const again = await rowOf(
        () => table.decide(mine.claim({ epoch: row.epoch, owner: "second" }), CLAIM),
        "granted",
      );
      mustEqual(again.storeOutage, storeOutage, "the outage after a claim");
      const back = await rowOf(() => table.decide(mine.commit(again), COMMIT), "committed");
      mustEqual(back.storeOutage, null, "after a commit");
    }),
  },
  {
    name: "refuses a duplicate execution (schedule 2)",
    run: onRun(async ({ mine, table }) => {
      const row = await mine.granted();
      const entry = { execution: "another execution", epoch: 0, retry: 9 };
      await mustBe(() => table.decide({ ...mine.claim(), entry }, CLAIM), "superseded");
      await mustBe(() => table.decide(mine.claim({ chain: 2, epoch: row.epoch }), CLAIM), "superseded");
      mustEqual(await mine.stored(), row, "the stored row");
    }),
  },
  {
    name: "grants or refuses a claim by its epoch even if its clock is a day behind or ahead",
    run: onRun(async ({ mine, table }) => {
      const day = 24 * HOUR_MS;
      await mine.created();
      const behind = { now: NOW - day, leaseUntil: NOW - day + LEASE_MS };
      const held = await rowOf(() => table.decide(mine.claim(behind), CLAIM), "granted");
      await mustBe(() => table.decide(mine.claim({ owner: "ahead", now: NOW + day }), CLAIM), "superseded");
      const late = mine.commit(held, { release: true, now: NOW + day });
      const row = await rowOf(() => table.decide(late, COMMIT), "committed");
      await mustBe(() => table.decide(mine.claim({ epoch: row.epoch, now: NOW - day }), CLAIM), "granted");
    }),
  },
  {
    name: "refuses to claim an ended run",
    run: onRun(async ({ mine, table }) => {
      const row = await mine.ended();
      const refused = await rowOf(() => table.decide(mine.claim({ epoch: row.epoch }), CLAIM), "terminal");
      mustEqual(refused, row, "the row that a refusal returns");
    }),
  },
  {
    name: "another incarnation or an unknown run is missing for every operation (schedule 19)",
    run: onRun(async ({ world, mine, table, inbox }) => {
      const row = await mine.granted();
      for (const wrong of [{ born: "zzzzzzzzzz" }, { run: subject(world, "z").run, born: BORN }]) {
        await mustBe(() => table.decide(mine.claim({ ...wrong, retry: 1 }), CLAIM), "missing");
        await mustBe(() => table.decide(mine.commit(row, wrong), COMMIT), "missing");
        await mustBe(() => table.decide(mine.park(row, wrong), PARK), "missing");
        await mustBe(() => inbox.deliver(mine.delivery(MESSAGE, wrong)), "missing");
        await mustBe(() => table.request(mine.request("cancel", wrong)), "missing");
        await mustBe(() => table.decide(mine.handOver({ ...wrong, now: NOW + LEASE_MS }), HAND_OVER), "missing");
        await mustBe(() => table.decide({ ...mine.of, ...wrong, expiresAtSec: 1 }, END_NOTIFICATION), "missing");
        mustEqual(await inbox.unread({ ...mine.of, ...wrong }), [], "the inbox of no run");
      }
      mustEqual(await mine.stored(), row, "the stored row");
    }),
  },
  {
    name: "every operation answers `newer` for a row of a newer format and leaves it unchanged (schedule 31)",
    run: onRun(async ({ world, mine, table, inbox }) => {
      const row = await mine.granted();
      await world.setFormat(mine.run, row.format + 1);
      const newer = await mine.stored();
      await mustBe(() => table.decide(mine.claim({ retry: 1 }), CLAIM), "newer");
      await mustBe(() => table.decide(mine.commit(row), COMMIT), "newer");
      await mustBe(() => table.decide(mine.park(row), PARK), "newer");
      await mustBe(() => inbox.deliver(mine.delivery(MESSAGE)), "newer");
      await mustBe(() => table.request(mine.request("cancel")), "newer");
      await mustBe(() => table.decide(mine.handOver({ now: NOW + LEASE_MS }), HAND_OVER), "newer");
      await mustBe(() => table.decide({ ...mine.of, expiresAtSec: 1 }, END_NOTIFICATION), "newer");
      mustEqual(await mine.stored(), newer, "the stored row");
    }),
  },
  {
    name: "an expired row is gone for every operation, deleted or not",
    run: onRun(async ({ world, mine, table, inbox }) => {
      const row = await mine.ended();
      const { tenant } = world;
      await rowOf(() => table.decide({ ...mine.of, expiresAtSec: NOW / 1_000 + 60 }, END_NOTIFICATION), "notified");
      const [before, now] = [NOW + 59_999, NOW + 60_000];
      must((await mine.stored(before)) !== null, "a row is there until its expiry");
      mustEqual(await mine.stored(now), null, "a row past its expiry");
      await mustBe(() => table.decide(mine.claim({ epoch: row.epoch, now }), CLAIM), "missing");
      await mustBe(() => inbox.deliver(mine.delivery(MESSAGE, { now })), "missing");
      await mustBe(() => table.request(mine.request("cancel", { now })), "missing");
      const page = await table.list({ tenant, status: null, limit: 10, after: null, now });
      mustEqual([page.rows, page.damaged, page.next], [[], [], null], "the list");
    }),
  },
];
