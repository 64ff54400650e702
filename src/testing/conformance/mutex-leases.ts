/**
 * The contract of mutex leases: one process at a time holds a lease, until it expires, and leaves a cursor to the next.
 */
import type { MutexLease } from "../../protocol/mutex-lease.ts";
import { type Case, insist, must, mustBe, mustEqual } from "./case.ts";
import { HOSTILE } from "./commits.ts";
import { LEASE_MS, NOW, onRun, type RunTableWorld, times } from "./run.ts";

const turnOf = ({ tenant }: RunTableWorld, change: Partial<MutexLease> = {}): MutexLease => ({
  name: `turn of ${tenant}`,
  owner: "first",
  until: NOW + LEASE_MS,
  cursor: null,
  now: NOW,
  ...change,
});

export const turnCases: readonly Case<RunTableWorld>[] = [
  {
    name: "grants a mutex lease to one process until it expires, to the millisecond (schedule 46)",
    run: onRun(async ({ leases, world }) => {
      mustEqual(await insist(() => leases.take(turnOf(world))), { kind: "taken", cursor: null }, "a free turn");
      const second = { owner: "second", until: NOW + 2 * LEASE_MS };
      for (const now of [NOW, NOW + LEASE_MS - 1]) {
        const refused = await insist(() => leases.take(turnOf(world, { ...second, now })));
        mustEqual(refused, { kind: "held", until: NOW + LEASE_MS }, "a held turn");
      }
      await mustBe(() => leases.take(turnOf(world, { ...second, now: NOW + LEASE_MS })), "taken");
      // The process that had it before finds it held now, until then.
      const late = await insist(() => leases.take(turnOf(world, { until: NOW + 9 * LEASE_MS, now: NOW + LEASE_MS })));
      mustEqual(late, { kind: "held", until: NOW + 2 * LEASE_MS }, "a lease that expired and was taken again");
    }),
  },
  {
    name: "lets the owner extend its lease, or release it by taking it until now",
    run: onRun(async ({ leases, world }) => {
      await mustBe(() => leases.take(turnOf(world)), "taken");
      const longer = NOW + 3 * LEASE_MS;
      await mustBe(() => leases.take(turnOf(world, { until: longer, now: NOW + 1 })), "taken");
      const other = { owner: "second", until: NOW + 9 * LEASE_MS };
      const refused = await insist(() => leases.take(turnOf(world, { ...other, now: NOW + LEASE_MS })));
      mustEqual(refused, { kind: "held", until: longer }, "a lease that was extended");
      await mustBe(() => leases.take(turnOf(world, { until: NOW + 2, now: NOW + 2 })), "taken");
      await mustBe(() => leases.take(turnOf(world, { ...other, now: NOW + 2 })), "taken");
    }),
  },
  {
    name: "passes the last owner's cursor to the next owner, and a refused request stores no cursor",
    run: onRun(async ({ leases, world }) => {
      await mustBe(() => leases.take(turnOf(world)), "taken");
      await mustBe(() => leases.take(turnOf(world, { owner: "rival", cursor: "of the rival" })), "held");
      await mustBe(() => leases.take(turnOf(world, { until: NOW, cursor: "as far as here" })), "taken");
      const next = await insist(() => leases.take(turnOf(world, { owner: "second" })));
      mustEqual(next, { kind: "taken", cursor: "as far as here" }, "what was left");
      // The next owner stored no cursor.
      const lapsed = { owner: "third", now: NOW + LEASE_MS };
      mustEqual(
        await insist(() => leases.take(turnOf(world, lapsed))),
        { kind: "taken", cursor: null },
        "nothing left",
      );
    }),
  },
  {
    name: "keeps a cursor until an owner stores another one, and lets every process read it",
    run: onRun(async ({ leases, world }) => {
      const { cursor: _, ...silent } = turnOf(world);
      mustEqual(await leases.cursorOf(silent.name), null, "what was left where no process had a turn");
      mustEqual(await insist(() => leases.take(silent)), { kind: "taken", cursor: null }, "a free turn");
      await mustBe(() => leases.take(turnOf(world, { cursor: "kept" })), "taken");
      for (const owner of ["first", "second"]) {
        const lapsed = { ...silent, owner, now: NOW + LEASE_MS };
        mustEqual(await insist(() => leases.take(lapsed)), { kind: "taken", cursor: "kept" }, "what was left");
      }
      await mustBe(() => leases.take(turnOf(world, { owner: "rival", cursor: "of the rival" })), "held");
      mustEqual(await leases.cursorOf(silent.name), "kept", "what is left in a held turn");
      await mustBe(() => leases.take(turnOf(world, { owner: "second", cursor: null })), "taken");
      mustEqual(await leases.cursorOf(silent.name), null, "the cursor after the owner stored none");
    }),
  },
  {
    name: "refuses to continue a lease after another process took it, or after it expired or was released",
    run: onRun(async ({ leases, world }) => {
      const again = { again: true, cursor: "of the first" } as const;
      await mustBe(() => leases.take(turnOf(world, again)), "held");
      await mustBe(() => leases.take(turnOf(world)), "taken");
      // No other process wanted it, so it is still the one turn.
      await mustBe(() => leases.take(turnOf(world, { ...again, now: NOW + 2 * LEASE_MS })), "taken");
      const second = { owner: "second", until: NOW + 3 * LEASE_MS, now: NOW + 2 * LEASE_MS, cursor: "of the second" };
      await mustBe(() => leases.take(turnOf(world, second)), "taken");
      await mustBe(() => leases.take(turnOf(world, { ...again, now: NOW + 9 * LEASE_MS })), "held");
      await mustBe(() => leases.take(turnOf(world, { ...second, until: second.now })), "taken");
      await mustBe(() => leases.take(turnOf(world, { ...again, now: NOW + 9 * LEASE_MS })), "held");
      mustEqual(await leases.cursorOf(turnOf(world).name), "of the second", "the cursor of the last owner");
    }),
  },
  {
    name: "keeps leases with different names apart, and hostile names character by character",
    run: async (world) => {
      const { leases, tenant } = world;
      await mustBe(() => leases.take(turnOf(world)), "taken");
      for (const name of HOSTILE) {
        const mine = { name: `${tenant} ${name}`, owner: name, cursor: name };
        await mustBe(() => leases.take(turnOf(world, mine)), "taken");
        await mustBe(() => leases.take(turnOf(world, { ...mine, owner: `${name}.` })), "held");
        const again = await insist(() => leases.take(turnOf(world, mine)));
        mustEqual(again, { kind: "taken", cursor: name }, "the cursor under a hostile name");
      }
    },
  },
  {
    name: "grants one lease when 50 processes request it at once",
    run: onRun(async ({ leases, world }) => {
      const owners = times(50, (index) => `owner ${index}`);
      const outcomes = await Promise.all(owners.map((owner) => insist(() => leases.take(turnOf(world, { owner })))));
      const taken = owners.filter((_, index) => outcomes[index]?.kind === "taken");
      must(taken.length === 1, `exactly one of 50 gets the lease, not ${taken.length}`);
      const [winner = ""] = taken;
      await mustBe(() => leases.take(turnOf(world, { owner: winner })), "taken");
      await mustBe(() => leases.take(turnOf(world, { owner: "another" })), "held");
    }),
  },
];
