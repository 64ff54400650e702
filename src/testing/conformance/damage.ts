/** The contract of damaged rows: a row that cannot be decoded is left alone, and it does not affect other runs. */
import type { Page } from "../../ports/run-table.ts";
import { type Case, must, mustBe, mustEqual, rowOf } from "./case.ts";
import { allOf, LEASE_MS, NOW, onRun, type RunTableWorld, subject, words } from "./run.ts";
import { CLAIM } from "../../protocol/row-claim.ts";
import { COMMIT } from "../../protocol/row-commit.ts";
import { PARK } from "../../protocol/row-park.ts";
import { END_NOTIFICATION } from "../../protocol/row-end-notification.ts";
import { HAND_OVER } from "../../protocol/row-hand-over.ts";
import { PURGE } from "../../protocol/row-removal.ts";

export const damageCases: readonly Case<RunTableWorld>[] = [
  {
    name: "a damaged row is unreadable for every operation, and a read rejects with RowDamaged",
    run: onRun(async ({ world, mine, table, inbox }) => {
      const row = await mine.granted();
      await world.damage(mine.run);
      await mustBe(() => table.create(mine.creation()), "unreadable");
      await mustBe(() => table.decide(mine.claim({ retry: 1 }), CLAIM), "unreadable");
      await mustBe(() => table.decide(mine.commit(row), COMMIT), "unreadable");
      await mustBe(() => table.decide(mine.park(row), PARK), "unreadable");
      await mustBe(() => inbox.deliver(mine.delivery(words("m"))), "unreadable");
      await mustBe(() => table.request(mine.request("cancel")), "unreadable");
      await mustBe(() => table.decide(mine.handOver({ now: NOW + LEASE_MS }), HAND_OVER), "unreadable");
      await mustBe(() => table.decide({ ...mine.of, expiresAtSec: 1 }, END_NOTIFICATION), "unreadable");
      await mustBe(() => table.decide(mine.of, PURGE), "unreadable");
      const refusal: unknown = await mine.stored().catch((error: unknown) => error);
      mustEqual(codeOf(refusal), "RowDamaged", "what a read rejects with");
    }),
  },
  {
    name: "pages name damaged rows and contain all other rows",
    run: async (world) => {
      const { table, tenant } = world;
      const mine = [..."abcde"].map((letter) => subject(world, letter));
      for (const [index, each] of mine.entries())
        await rowOf(() => table.create(each.creation({ now: NOW + index })), "created");
      const [one, two, three, four, five] = mine.map(({ run }) => run) as [string, string, string, string, string];
      await world.damage(two);
      await world.damage(five);
      for (const limit of [1, 2, 3, 50]) {
        const list = await allOf((after) => table.list({ tenant, status: null, limit, after, now: NOW }));
        mustEqual(list, { rows: [four, three, one], damaged: [five, two] }, `the list in pages of ${limit}`);
      }
      const { rows, damaged } = await allOf((after) => table.alive({ limit: 50, after, now: NOW }));
      const ofMine = (runs: readonly string[]) =>
        runs.filter((run) => mine.some((each) => each.run === run)).toSorted();
      mustEqual(
        [ofMine(rows), ofMine(damaged)],
        [
          [one, three, four],
          [two, five],
        ],
        "the runs that are alive",
      );
    },
  },
  {
    name: "a page can continue after any of its rows",
    run: async (world) => {
      const { table, tenant } = world;
      for (const [index, letter] of [..."abcde"].entries()) {
        const each = subject(world, letter);
        await rowOf(() => table.create(each.creation({ now: NOW + index })), "created");
      }
      const pages: Readonly<Record<string, (after: string | null) => Promise<Page>>> = {
        list: (after) => table.list({ tenant, status: null, limit: 50, after, now: NOW }),
        alive: (after) => table.alive({ limit: 50, after, now: NOW }),
      };
      for (const [name, page] of Object.entries(pages)) {
        const { rows, behind } = await page(null);
        must(rows.length >= 5, `${name} holds every run`);
        mustEqual(behind.length, rows.length, `the cursors of ${name}`);
        for (const [index, cursor] of behind.entries()) {
          const rest = await page(cursor);
          const expected = rows.slice(index + 1).map(({ run }) => run);
          mustEqual(
            rest.rows.slice(0, expected.length).map(({ run }) => run),
            expected,
            `${name} behind row ${index}`,
          );
        }
      }
    },
  },
];

const codeOf = (error: unknown): unknown => (error instanceof Error && "code" in error ? error.code : null);
