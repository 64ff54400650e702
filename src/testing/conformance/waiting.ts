/** The contract of parking, of hand-over, and of the lists by which operators and the sweeper find runs. */
import type { Row } from "../../protocol/row.ts";
import { CLAIM } from "../../protocol/row-claim.ts";
import { COMMIT } from "../../protocol/row-commit.ts";
import { PARK } from "../../protocol/row-park.ts";
import { END_NOTIFICATION } from "../../protocol/row-end-notification.ts";
import { HAND_OVER } from "../../protocol/row-hand-over.ts";
import { RESTORED_CHECK } from "../../protocol/row-restored.ts";
import type { ListedOnly, Page } from "../../ports/run-table.ts";
import { type Case, insist, mustBe, mustEqual, must, rowOf } from "./case.ts";
import { ENDED, HOUR_MS, LEASE_MS, NOW, onRun, type RunTableWorld, subject, words } from "./run.ts";

export const parkCases: readonly Case<RunTableWorld>[] = [
  {
    name: "park stores its token without a new version, and the next claim clears the token",
    run: onRun(async ({ mine, table }) => {
      const free = await mine.released();
      const row = await rowOf(() => table.decide(mine.park(free), PARK), "parked");
      mustEqual(row, { ...free, park: { token: "token", entry: mine.park(free).entry } }, "the parked row");
      mustEqual(await mine.stored(), row, "the stored row");
      const next = await rowOf(() => table.decide(mine.claim({ epoch: row.epoch }), CLAIM), "granted");
      mustEqual(next.park, null, "the token after a claim");
    }),
  },
  {
    name: "a zombie's token does not replace a newer one, and the refusal shows the newer one (schedules 15 and 16)",
    run: onRun(async ({ mine, table }) => {
      const free = await mine.released();
      const newer = mine.park(free, { token: "token 2", retry: 1 });
      const row = await rowOf(() => table.decide(newer, PARK), "parked");
      const zombie = mine.park(free, { token: "token 1", retry: 0 });
      mustEqual(await rowOf(() => table.decide(zombie, PARK), "superseded"), row, "the row that the refusal returns");
      await mustBe(() => table.decide({ ...newer, token: "token 3" }, PARK), "superseded");
      mustEqual((await mine.stored())?.park?.token, "token 2", "the stored token");
      const retry = mine.park(free, { token: "token 4", retry: 2 });
      mustEqual((await rowOf(() => table.decide(retry, PARK), "parked")).park?.token, "token 4", "a retry's token");
    }),
  },
  {
    name: "a run with a new wake-up does not park; a paused run that has seen the wake-up does (schedule 14)",
    run: onRun(async ({ mine, table }) => {
      const free = await mine.released();
      await rowOf(() => table.request(mine.request("pause")), "requested");
      const stirred = await rowOf(() => table.decide(mine.park(free), PARK), "woken");
      mustEqual([stirred.park, stirred.wakeCount], [null, 1], "the row that did not park");
      const held = await rowOf(() => table.decide(mine.claim({ epoch: free.epoch }), CLAIM), "granted");
      const paused = mine.commit(held, { release: true, status: "paused", phase: "Paused" });
      const row = await rowOf(() => table.decide(paused, COMMIT), "committed");
      await rowOf(() => table.decide(mine.park(row), PARK), "parked");
      const resumed = await rowOf(() => table.request(mine.request("resume")), "requested");
      mustEqual([resumed.pause, resumed.park?.token], [false, "token"], "the row that a resume has to wake");
    }),
  },
  {
    name: "refuses to park a run that is held, has another epoch, or is in another chain",
    run: onRun(async ({ mine, table }) => {
      const held = await mine.granted();
      await mustBe(() => table.decide(mine.park(held), PARK), "superseded");
      const free = await rowOf(() => table.decide(mine.commit(held, { release: true }), COMMIT), "committed");
      await mustBe(() => table.decide(mine.park(free, { epoch: free.epoch - 1 }), PARK), "superseded");
      await mustBe(() => table.decide(mine.park(free, { epoch: free.epoch + 1 }), PARK), "superseded");
      await mustBe(() => table.decide(mine.park(free, { chain: 2 }), PARK), "superseded");
      mustEqual(await mine.stored(), free, "the stored row");
    }),
  },
];

export const handOverCases: readonly Case<RunTableWorld>[] = [
  {
    name: "handOver of a restored store raises the epoch far, and marks and pauses the run (schedule 109)",
    run: onRun(async ({ mine, table }) => {
      const released = await mine.released();
      const restored = { at: NOW + 5, asOf: NOW - 5 };
      const row = await rowOf(() => table.decide(mine.handOver({ restored }), HAND_OVER), "handed");
      const mark = { ...restored, version: released.version, epoch: row.epoch };
      mustEqual([row.restored, row.pause, row.status], [mark, true, "paused"], "what says that it was restored");
      mustEqual(await mine.stored(), row, "the stored row");
      mustEqual([row.epoch, row.chain, row.owner], [released.epoch + 1_000_000, 2, null], "the fenced row");
      await mustBe(() => table.decide(mine.commit(released), COMMIT), "fenced");
      const claim = mine.claim({ chain: 2, epoch: row.epoch });
      mustEqual(
        (await rowOf(() => table.decide(claim, CLAIM), "granted")).epoch,
        row.epoch + 1,
        "the epoch of the next claim",
      );
    }),
  },
  {
    name: "a check of a restored run closes the mark of the restore that it names, also of a run that has ended (schedule 224)",
    run: onRun(async ({ mine, table }) => {
      await mine.released();
      const restored = { at: NOW + 5, asOf: NOW - 5 };
      const fenced = await rowOf(() => table.decide(mine.handOver({ restored }), HAND_OVER), "handed");
      const check = { ...mine.of, by: "ada" };
      await mustBe(() => table.decide({ ...check, restoredAt: NOW }, RESTORED_CHECK), "same");
      mustEqual(await mine.stored(), fenced, "the stored row");
      const row = await rowOf(() => table.decide({ ...check, restoredAt: NOW + 5 }, RESTORED_CHECK), "checked");
      mustEqual(
        [row.restored?.checked, row.restored?.asOf, row.pause],
        [{ by: "ada", at: mine.of.now }, NOW - 5, true],
        "the row that was checked",
      );
      await mustBe(() => table.decide({ ...check, restoredAt: NOW + 5 }, RESTORED_CHECK), "same");
      mustEqual(await mine.stored(), row, "the stored row");
    }),
  },
  {
    name: "refuses a handOver when the run was claimed after the epoch that it names",
    run: onRun(async ({ mine, table }) => {
      const released = await mine.released();
      await mustBe(() => table.decide(mine.handOver({ epoch: released.epoch - 1 }), HAND_OVER), "lost");
      mustEqual(await mine.stored(), released, "the stored row");
      await mustBe(() => table.decide(mine.handOver({ epoch: released.epoch }), HAND_OVER), "handed");
    }),
  },
  {
    name: "handOver starts the next chain with a fresh epoch and no owner, and fences the old chain (schedule 24)",
    run: onRun(async ({ mine, table }) => {
      await mine.released();
      const row = await rowOf(() => table.decide(mine.handOver(), HAND_OVER), "handed");
      mustEqual([row.chain, row.epoch, row.owner, row.chainClaims], [2, 2, null, 0], "the row of the next chain");
      mustEqual(
        [row.takeovers, row.effectsSettleAt, row.version],
        [0, 0, 1],
        "what a hand-over without a death leaves",
      );
      await mustBe(() => table.decide(mine.claim({ epoch: 2 }), CLAIM), "superseded");
      await mustBe(() => table.decide(mine.claim({ retry: 9 }), CLAIM), "superseded");
      mustEqual(
        (await rowOf(() => table.decide(mine.claim({ chain: 2, epoch: 2 }), CLAIM), "granted")).chain,
        2,
        "chain",
      );
    }),
  },
  {
    name: "handOver is refused until the lease expires, and then raises `effectsSettleAt` to that lease (schedule 33)",
    run: onRun(async ({ mine, table }) => {
      const held = await mine.granted();
      const early = await insist(() => table.decide(mine.handOver({ now: NOW + LEASE_MS - 1 }), HAND_OVER));
      must(early.kind === "held", "a run whose lease has not expired is not handed over");
      mustEqual([early.until, await mine.stored()], [NOW + LEASE_MS, held], "until when, and the stored row");
      const late = mine.handOver({ now: NOW + LEASE_MS });
      const row = await rowOf(() => table.decide(late, HAND_OVER), "handed");
      mustEqual([row.owner, row.leaseUntil, row.effectsSettleAt], [null, null, NOW + LEASE_MS], "owner, lease, quiet");
      mustEqual([row.takeovers, row.deadline], [1, held.deadline], "takeovers and deadline");
      await mustBe(() => table.decide(mine.commit(held), COMMIT), "fenced");
      mustEqual(await mine.stored(), row, "the stored row");
    }),
  },
  {
    name: "handOver counts a death only with evidence about the attempt that held the run",
    run: onRun(async ({ mine, table }) => {
      const held = await mine.granted();
      const dead = { ...(held.entry ?? { execution: "", epoch: 0 }), retry: 0 };
      const late = mine.handOver({ now: NOW + LEASE_MS, dead });
      const row = await rowOf(() => table.decide(late, HAND_OVER), "handed");
      mustEqual([row.deaths, row.takeovers], [1, 1], "deaths and takeovers");
      const free = mine.handOver({ chain: 2, now: NOW + LEASE_MS, dead });
      const next = await rowOf(() => table.decide(free, HAND_OVER), "handed");
      mustEqual([next.deaths, next.takeovers], [1, 1], "deaths and takeovers of a run without an owner");
    }),
  },
  {
    name: "handOver clears the token, and a repeated handOver gets `lost` with the successor's row (schedule 39)",
    run: onRun(async ({ mine, table }) => {
      const free = await mine.released();
      await rowOf(() => table.decide(mine.park(free), PARK), "parked");
      const row = await rowOf(() => table.decide(mine.handOver(), HAND_OVER), "handed");
      mustEqual([row.park, row.chain], [null, 2], "token and chain");
      const again = await rowOf(() => table.decide(mine.handOver(), HAND_OVER), "lost");
      mustEqual([again, await mine.stored()], [row, row], "the row of the refusal, and the stored one");
    }),
  },
  {
    name: "refuses to hand over an ended run (schedule 40)",
    run: onRun(async ({ mine, table }) => {
      const row = await mine.ended();
      await mustBe(() => table.decide(mine.handOver({ now: NOW + HOUR_MS }), HAND_OVER), "lost");
      mustEqual(await mine.stored(), row, "the stored row");
    }),
  },
  {
    name: "a commit with `nextChain` moves the run to the next chain and epoch, and counts no death (schedule 9)",
    run: onRun(async ({ mine, table }) => {
      const held = await mine.granted();
      const last = mine.commit(held, { release: true, nextChain: true });
      const row = await rowOf(() => table.decide(last, COMMIT), "committed");
      mustEqual([row.chain, row.epoch, row.chainClaims, row.version], [2, 2, 0, 1], "chain, epoch, claims and version");
      mustEqual(
        [row.owner, row.leaseUntil, row.takeovers, row.effectsSettleAt],
        [null, null, 0, 0],
        "the row without an owner",
      );
      mustEqual(await rowOf(() => table.decide(last, COMMIT), "fenced"), row, "the row that its own copy finds");
      const retry = await rowOf(() => table.decide(mine.claim({ retry: 1 }), CLAIM), "superseded");
      mustEqual(retry, row, "the row that shows the successor to a retry");
      await mustBe(() => table.decide(mine.claim({ epoch: 2 }), CLAIM), "superseded");
      mustEqual(await mine.stored(), row, "the stored row");
      const next = await rowOf(() => table.decide(mine.claim({ chain: 2, epoch: 2 }), CLAIM), "granted");
      mustEqual([next.epoch, next.chainClaims, next.takeovers], [3, 1, 0], "the first claim of the next chain");
    }),
  },
  {
    name: "a commit with `nextChain` raises `effectsSettleAt` for a call that outlives it (schedule 34)",
    run: onRun(async ({ mine, table }) => {
      const change = { release: true, nextChain: true, raiseEffectsSettleAt: true };
      const held = await mine.granted();
      const row = await rowOf(() => table.decide(mine.commit(held, change), COMMIT), "committed");
      mustEqual([row.chain, row.effectsSettleAt, row.owner], [2, NOW + LEASE_MS, null], "chain, quiet and owner");
    }),
  },
  {
    name: "starts the next chain once when 50 hand-overs run at once",
    run: onRun(async ({ mine, table }) => {
      await mine.released();
      const all = Array.from({ length: 50 }, () => insist(() => table.decide(mine.handOver(), HAND_OVER)));
      const handed = (await Promise.all(all)).filter(({ kind }) => kind === "handed");
      must(handed.length <= 1, "at most one hand-over gets `handed`");
      const row = (await mine.stored()) as Row;
      mustEqual([row.chain, row.epoch, row.takeovers], [2, 2, 0], "chain, epoch and takeovers");
    }),
  },
];

export const listCases: readonly Case<RunTableWorld>[] = [
  {
    name: "list returns the runs of one tenant from newest to oldest, page by page, each once",
    run: async (world) => {
      const { table, tenant } = world;
      const expected: string[] = [];
      for (const [index, letter] of [..."abcdefg"].entries()) {
        const mine = subject(world, letter);
        // Pairs have equal times, so the run ID breaks the tie.
        await rowOf(() => table.create(mine.creation({ now: NOW + Math.floor(index / 2) })), "created");
        expected.unshift(mine.run);
      }
      await subject({ table, tenant: `${tenant}z` }).created();
      for (const limit of [1, 2, 3, 7, 100]) {
        const found = await allOf((after) => table.list({ tenant, status: null, limit, after, now: NOW }), limit);
        mustEqual(found, expected, `the list in pages of ${limit}`);
      }
    },
  },
  {
    name: "list continues after a page even if the last run of that page has moved",
    run: async (world) => {
      const { table, tenant } = world;
      const mine = [..."abcde"].map((letter) => subject(world, letter));
      for (const [index, each] of mine.entries()) {
        await rowOf(() => table.create(each.creation({ now: NOW + index })), "created");
      }
      const [one, two, three, four, five] = mine as [Subject, Subject, Subject, Subject, Subject];
      const query = { tenant, status: null, limit: 2, now: NOW };
      const first = await table.list({ ...query, after: null });
      mustEqual(runsOf(first), [five.run, four.run], "the first page");
      // The last run of the page moves to the front.
      await rowOf(() => table.decide(four.claim({ now: NOW + 100 }), CLAIM), "granted");
      const second = await table.list({ ...query, after: first.next });
      mustEqual(runsOf(second), [three.run, two.run], "the second page");
      await rowOf(() => table.decide(two.claim({ now: NOW + 200 }), CLAIM), "granted");
      mustEqual(runsOf(await table.list({ ...query, after: second.next })), [one.run], "the last page");
      mustEqual(runsOf(await table.list({ ...query, after: null })), [two.run, four.run], "the first page, later");
    },
  },
  {
    name: "list by status finds a run under its current status",
    run: async (world) => {
      const { table, tenant } = world;
      const mine = [subject(world, "a"), subject(world, "b"), subject(world, "c")] as const;
      await mine[0].created();
      await mine[1].released();
      await mine[2].ended();
      const under = (status: Row["status"]) =>
        allOf((after) => table.list({ tenant, status, limit: 9, after, now: NOW }), 9);
      mustEqual(await under("queued"), [mine[0].run], "queued runs");
      mustEqual(await under("running"), [mine[1].run], "running runs");
      mustEqual(await under("completed"), [mine[2].run], "completed runs");
      mustEqual(await under("cancelled"), [], "cancelled runs");
    },
  },
  {
    name: "list leaves out no run of the agent, the prefix, the key, the parent or the question that its caller names",
    run: async (world) => {
      const { table, tenant } = world;
      const [one, two] = [subject(world, "a"), subject(world, "b")] as const;
      const brief = { limits: {}, cracks: [], isScheduled: false };
      await rowOf(
        () =>
          table.create({
            ...one.creation(),
            agent: "one",
            brief: { ...brief, asks: true, startKey: "order-17" },
            parent: { run: two.run, born: two.of.born },
          }),
        "created",
      );
      await rowOf(() => table.create({ ...two.creation({ now: NOW + 1 }), agent: "two", brief }), "created");
      for (const status of [null, "queued"] as const) {
        const has = async (run: string, only: ListedOnly): Promise<void> => {
          const found = await allOf((after) => table.list({ tenant, status, limit: 1, after, now: NOW + 1, only }), 1);
          must(found.includes(run), `the run is on the pages of ${JSON.stringify(only)} in status ${status}`);
        };
        await has(one.run, { agent: "one" });
        await has(two.run, { agent: "two" });
        await has(one.run, { beginsWith: one.run.slice(0, -4) });
        await has(one.run, { keyBegins: "order-" });
        await has(one.run, { keyBegins: "order-17", agent: "one" });
        await has(one.run, { parent: two.run });
        await has(one.run, { asking: true });
      }
    },
  },
  {
    name: "alive contains a run until its end is delivered",
    run: onRun(async ({ mine, table, inbox }) => {
      const alive = async (): Promise<boolean> => {
        const found = await allOf((after) => table.alive({ limit: 50, after, now: NOW }), 50);
        return found.includes(mine.run);
      };
      const held = await mine.granted();
      must(await alive(), "a live run is in `alive`");
      await rowOf(() => inbox.deliver(mine.delivery(words("m"))), "delivered");
      await rowOf(() => table.decide(mine.commit(held, { ...ENDED, release: true }), COMMIT), "committed");
      must(await alive(), "an ended run whose end is not delivered is still in `alive`");
      await rowOf(() => table.decide({ ...mine.of, expiresAtSec: NOW / 1_000 + 60 }, END_NOTIFICATION), "notified");
      must(!(await alive()), "a run whose end is delivered is not in `alive`");
    }),
  },
  {
    name: "alive by what is due contains a run at work, and a parked run with a message or past its deadline",
    run: onRun(async ({ mine, table, inbox }) => {
      const isDue = async (dueBy: number): Promise<boolean> =>
        (await allOf((after) => table.alive({ limit: 50, after, now: NOW, dueBy }), 50)).includes(mine.run);
      const free = await mine.released();
      must(await isDue(NOW), "a run that is not parked is due");
      await rowOf(() => table.decide(mine.park(free), PARK), "parked");
      must(await isDue(free.deadline), "a parked run is due at its deadline");
      await rowOf(() => inbox.deliver(mine.delivery(words("m"))), "delivered");
      must(await isDue(NOW), "a parked run with a message is due (schedule 147)");
    }),
  },
];

type Subject = ReturnType<typeof subject>;

const runsOf = ({ rows }: Page): readonly string[] => rows.map(({ run }) => run);

async function allOf(page: (after: string | null) => Promise<Page>, limit: number): Promise<readonly string[]> {
  const runs: string[] = [];
  let after: string | null = null;
  do {
    const found: Page = await page(after);
    must(found.rows.length <= limit, `a page of ${limit} holds ${found.rows.length} rows`);
    runs.push(...runsOf(found));
    after = found.next;
  } while (after !== null);
  return runs;
}
