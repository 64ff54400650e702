/**
 * The contract of commits: each adds one version under one epoch, a stale commit changes nothing, and a run cannot end
 * while a message is unread.
 */
import type { Row } from "../../protocol/row.ts";
import { CLAIM } from "../../protocol/row-claim.ts";
import { COMMIT } from "../../protocol/row-commit.ts";
import { PARK } from "../../protocol/row-park.ts";
import { END_NOTIFICATION } from "../../protocol/row-end-notification.ts";
import { HAND_OVER } from "../../protocol/row-hand-over.ts";
import type { Page } from "../../ports/run-table.ts";
import { type Case, insist, must, mustBe, mustEqual, rowOf } from "./case.ts";
import { ENDED, LEASE_MS, NOW, onRun, type RunTableWorld, subject, times, words } from "./run.ts";

const SPENT = { tokensIn: 9, tokensOut: 5, microUsd: 7, beats: 1, toolCalls: 2 };

export const commitCases: readonly Case<RunTableWorld>[] = [
  {
    name: "commit stores its fields, adds one version, and reads back as it was returned",
    run: onRun(async ({ mine, table }) => {
      const held = await mine.granted();
      const spent = { ...held.spent, ...SPENT };
      const snapshot = { version: 1, key: "snapshots/1", digest: "digest of snapshot 1" };
      const stored = { snapshot, spent, agentVersion: "2", status: "blocked" } as const;
      const change = { ...stored, wakeAt: NOW + 7, now: NOW + 5, lastCheckpointAt: NOW + 5, deadline: NOW + 9_000_000 };
      const row = await rowOf(() => table.decide(mine.commit(held, change), COMMIT), "committed");
      mustEqual([row.version, row.epoch, row.claims], [1, 1, 1], "version, epoch, claims");
      mustEqual([row.owner, row.leaseUntil], [held.owner, held.leaseUntil], "the owner that goes on");
      mustEqual([row.snapshot, row.spent, row.agentVersion], [snapshot, spent, "2"], "what it stored");
      mustEqual([row.wakeAt, row.deadline, row.lastCheckpointAt], [NOW + 7, NOW + 9_000_000, NOW + 5], "its times");
      mustEqual([row.status, row.statusSince, row.journal], ["blocked", NOW + 5, Uint8Array.of(1, 2, 3)], "the rest");
      mustEqual(await mine.stored(), row, "the row that is read back");
    }),
  },
  {
    name: "a commit with `release` leaves no owner and no lease",
    run: async (world) => {
      const row = await subject(world).released();
      mustEqual([row.owner, row.leaseUntil, row.epoch, row.effectsSettleAt], [null, null, 1, 0], "the released row");
    },
  },
  {
    name: "a commit raises `effectsSettleAt` to its lease for a call that outlives it (schedule 34)",
    run: onRun(async ({ mine, table }) => {
      const held = await mine.granted();
      const change = { release: true, raiseEffectsSettleAt: true };
      const row = await rowOf(() => table.decide(mine.commit(held, change), COMMIT), "committed");
      mustEqual([row.owner, row.effectsSettleAt], [null, NOW + LEASE_MS], "owner and quiet");
    }),
  },
  {
    name: "applies a repeated commit once, and the refusal shows its ID (schedules 6 and 8)",
    run: onRun(async ({ mine, table }) => {
      const commit = mine.commit(await mine.granted());
      const row = await rowOf(() => table.decide(commit, COMMIT), "committed");
      const again = await rowOf(() => table.decide(commit, COMMIT), "fenced");
      mustEqual(again, row, "the row that the refusal returns");
      mustEqual(await mine.stored(), row, "the stored row");
    }),
  },
  {
    name: "refuses a commit from a stale epoch and changes nothing",
    run: onRun(async ({ mine, table }) => {
      const stale = await mine.granted();
      const row = await rowOf(() => table.decide(mine.claim({ retry: 1, owner: "second" }), CLAIM), "granted");
      const zombie = { ...ENDED, release: true, journal: null, raiseEffectsSettleAt: true, agentVersion: "zombie" };
      const refused = await rowOf(() => table.decide(mine.commit(stale, zombie), COMMIT), "fenced");
      mustEqual(refused, row, "the row that the refusal returns");
      await mustBe(() => table.decide(mine.commit({ ...row, epoch: row.epoch + 1 }, zombie), COMMIT), "fenced");
      mustEqual(await mine.stored(), row, "the stored row");
    }),
  },
  {
    name: "applies one commit when 50 commits for one version run at once",
    run: onRun(async ({ mine, table }) => {
      const held = await mine.granted();
      const ids = times(50, (index) => `commit of writer ${index}`);
      const outcomes = await Promise.all(
        ids.map((commitId) => insist(() => table.decide(mine.commit(held, { commitId }), COMMIT))),
      );
      const row = (await mine.stored()) as Row;
      mustEqual(row.version, 1, "the version after fifty commits");
      const winners = outcomes.flatMap((each) => (each.kind === "committed" ? [each.row.commitId] : []));
      must(
        winners.length <= 1 && winners.every((id) => id === row.commitId),
        "at most one commit per version is applied",
      );
    }),
  },
  {
    name: "returns a large journal and a long text unchanged",
    run: onRun(async ({ mine, table }) => {
      const held = await mine.granted();
      const journal = Uint8Array.from(times(3_072, (index) => (index * 31) % 256));
      const key = `snapshots/${"k".repeat(400)}`;
      const change = { journal, snapshot: { version: 1, key, digest: "d".repeat(64) } };
      const row = await rowOf(() => table.decide(mine.commit(held, change), COMMIT), "committed");
      mustEqual([row.journal, row.snapshot.key], [journal, key], "the journal and the key");
      mustEqual(await mine.stored(), row, "the row that is read back");
    }),
  },
  {
    name: "keeps hostile names character by character",
    run: onRun(async ({ mine, table }) => {
      await mine.created();
      for (const [index, name] of HOSTILE.entries()) {
        const held = await rowOf(() => table.decide(mine.claim({ owner: name, retry: index }), CLAIM), "granted");
        mustEqual(held.owner, name, "the owner");
        const commit = mine.commit(held, { commitId: name, agentVersion: name });
        await rowOf(() => table.decide(commit, COMMIT), "committed");
        const row = await mine.stored();
        mustEqual([row?.owner, row?.commitId, row?.agentVersion], [name, name, name], "the stored names");
      }
    }),
  },
];

/** Texts that break unescaped statements, paths, expressions or encodings. */
export const HOSTILE: readonly string[] = [
  'it\'s "quoted" `twice`',
  "'); DROP TABLE runs; --",
  "#inbox:born #seen",
  "../../etc/passwd",
  "a\\b\nc\td",
  "naïve 日本語 🧭 \u202Eright to left",
  "constructor",
  "__proto__",
  "long".repeat(200),
];

export const endCases: readonly Case<RunTableWorld>[] = [
  {
    name: "refuses an end while a message is unread, and accepts it once the message is read (schedules 12 and 13)",
    run: onRun(async ({ mine, table, inbox }) => {
      const held = await mine.granted();
      await mustBe(() => inbox.deliver(mine.delivery(words("m"))), "delivered");
      const end = mine.commit(held, { ...ENDED, release: true, unlessWoken: true, wakeCountSeen: 0 });
      const row = await rowOf(() => table.decide(end, COMMIT), "woken");
      mustEqual([row.status, row.version, row.wakeCount, row.owner], ["running", 0, 1, "owner"], "the untouched row");
      const last = await rowOf(
        () => table.decide({ ...end, commitId: "again", wakeCountSeen: 1 }, COMMIT),
        "committed",
      );
      mustEqual([last.status, last.wakeCountSeen], ["completed", 1], "the ended row");
    }),
  },
  {
    name: "lets exactly one win when a message and an end arrive at once",
    run: async (world) => {
      for (const letter of "bcdefghijklmnopqrstuvwxyz") {
        const mine = subject(world, letter);
        const held = await mine.granted();
        const end = mine.commit(held, { ...ENDED, release: true, unlessWoken: true });
        const [, committed] = await Promise.all([
          insist(() => world.inbox.deliver(mine.delivery(words("m")))),
          insist(() => world.table.decide(end, COMMIT)),
        ]);
        const row = (await mine.stored()) as Row;
        const unread = await world.inbox.unread(mine.of);
        mustEqual(unread.length, row.wakeCount, "messages that were counted");
        must(
          !(row.status === "completed" && row.wakeCount > row.wakeCountSeen),
          "an ended run has a message that no beat read",
        );
        must(committed.kind !== "woken" || row.wakeCount === 1, "an end was refused though no message came");
      }
    },
  },
  {
    name: "refuses every write to an ended run",
    run: onRun(async ({ mine, table, inbox }) => {
      const row = await mine.ended();
      await mustBe(() => inbox.deliver(mine.delivery(words("m"))), "late");
      await mustBe(() => table.request(mine.request("pause")), "late");
      await mustBe(() => table.decide(mine.handOver(), HAND_OVER), "lost");
      await mustBe(() => table.decide(mine.park(row), PARK), "superseded");
      mustEqual(await inbox.unread(mine.of), [], "the inbox");
      mustEqual(await mine.stored(), row, "the stored row");
    }),
  },
  {
    name: "tell starts the time to live once, and only for an ended run (schedule 41)",
    run: onRun(async ({ mine, table }) => {
      const live = await mine.granted();
      await insist(() => table.decide({ ...mine.of, expiresAtSec: NOW / 1_000 }, END_NOTIFICATION));
      mustEqual(await mine.stored(), live, "a run that goes on");
      const ended = await rowOf(
        () => table.decide(mine.commit(live, { ...ENDED, release: true }), COMMIT),
        "committed",
      );
      mustEqual([ended.endNotified, ended.expiresAtSec], [false, null], "an end that was not delivered");
      const told = await rowOf(
        () => table.decide({ ...mine.of, expiresAtSec: NOW / 1_000 + 60 }, END_NOTIFICATION),
        "notified",
      );
      mustEqual([told.endNotified, told.expiresAtSec], [true, NOW / 1_000 + 60], "the told row");
      await mustBe(() => table.decide({ ...mine.of, expiresAtSec: NOW / 1_000 + 90 }, END_NOTIFICATION), "notified");
      mustEqual(await mine.stored(), told, "the stored row");
    }),
  },
  {
    name: "an end without recipients counts as delivered by its own commit: it leaves `alive` and then expires",
    run: onRun(async ({ mine, table, inbox }) => {
      const isAlive = async (now: number): Promise<boolean> => {
        // The store may contain runs of other cases, so read all pages.
        for (let after: string | null = null; ;) {
          const page: Page = await table.alive({ limit: 100, after, now });
          if (page.rows.some(({ run }) => run === mine.run)) return true;
          if (page.next === null) return false;
          after = page.next;
        }
      };
      const held = await mine.granted();
      await mustBe(() => inbox.deliver(mine.delivery(words("m"))), "delivered");
      const expiresAtSec = NOW / 1_000 + 60;
      const end = mine.commit(held, { ...ENDED, release: true, unlessWoken: true, expiresAtSec, wakeCountSeen: 0 });
      const early = await rowOf(() => table.decide(end, COMMIT), "woken");
      mustEqual(
        [early.endNotified, early.expiresAtSec, await isAlive(NOW)],
        [false, null, true],
        "an end that was refused",
      );
      const row = await rowOf(() => table.decide({ ...end, wakeCountSeen: 1 }, COMMIT), "committed");
      mustEqual(
        [row.endNotified, row.expiresAtSec, await isAlive(NOW)],
        [true, expiresAtSec, false],
        "an end that is told",
      );
      mustEqual(await mine.stored(), row, "the stored row");
      await mustBe(() => table.decide({ ...mine.of, expiresAtSec: expiresAtSec + 90 }, END_NOTIFICATION), "notified");
      mustEqual(await mine.stored(), row, "the row after it is told again");
      await mustBe(() => table.decide(mine.claim({ epoch: row.epoch, now: NOW + 59_999 }), CLAIM), "terminal");
      const now = NOW + 60_000;
      await mustBe(() => table.decide(mine.claim({ epoch: row.epoch, now }), CLAIM), "missing");
      mustEqual([await mine.stored(now), await isAlive(now)], [null, false], "the run past its time");
      await mustBe(() => table.create(mine.creation({ now, born: "bbbbbbbbbb" })), "created");
    }),
  },
];
