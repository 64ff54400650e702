/** Turns: one process at a time, by time alone, and what each leaves to the next one. */
import type { Turn } from "../../protocol/mutex-lease.ts";
import { type Case, insist, must, mustBe, mustEqual } from "./case.ts";
import { HOSTILE } from "./commits.ts";
import { LEASE_MS, NOW, onRun, type RunTableWorld, times } from "./run.ts";

const turnOf = ({ tenant }: RunTableWorld, change: Partial<Turn> = {}): Turn => ({
  ...{ name: `turn of ${tenant}`, owner: "first", until: NOW + LEASE_MS, cursor: null, now: NOW },
  ...change,
});

export const turnCases: readonly Case<RunTableWorld>[] = [
  {
    name: "a turn is taken by one until it lapses, to the millisecond (schedule 46)",
    run: onRun(async ({ world, table }) => {
      mustEqual(await insist(() => table.takeTurn(turnOf(world))), { kind: "taken", cursor: null }, "a free turn");
      const second = { owner: "second", until: NOW + 2 * LEASE_MS };
      for (const now of [NOW, NOW + LEASE_MS - 1]) {
        const refused = await insist(() => table.takeTurn(turnOf(world, { ...second, now })));
        mustEqual(refused, { kind: "held", until: NOW + LEASE_MS }, "a held turn");
      }
      await mustBe(() => table.takeTurn(turnOf(world, { ...second, now: NOW + LEASE_MS })), "taken");
      // The process that had it before finds it held now, until then.
      const late = await insist(() =>
        table.takeTurn(turnOf(world, { until: NOW + 9 * LEASE_MS, now: NOW + LEASE_MS })),
      );
      mustEqual(late, { kind: "held", until: NOW + 2 * LEASE_MS }, "a turn that lapsed and was taken");
    }),
  },
  {
    name: "its owner takes its turn again, for longer, or gives it up by taking it until now",
    run: onRun(async ({ world, table }) => {
      await mustBe(() => table.takeTurn(turnOf(world)), "taken");
      const longer = NOW + 3 * LEASE_MS;
      await mustBe(() => table.takeTurn(turnOf(world, { until: longer, now: NOW + 1 })), "taken");
      const other = { owner: "second", until: NOW + 9 * LEASE_MS };
      const refused = await insist(() => table.takeTurn(turnOf(world, { ...other, now: NOW + LEASE_MS })));
      mustEqual(refused, { kind: "held", until: longer }, "a turn that was taken for longer");
      await mustBe(() => table.takeTurn(turnOf(world, { until: NOW + 2, now: NOW + 2 })), "taken");
      await mustBe(() => table.takeTurn(turnOf(world, { ...other, now: NOW + 2 })), "taken");
    }),
  },
  {
    name: "what the last owner left is handed to the next one, and a refusal leaves nothing",
    run: onRun(async ({ world, table }) => {
      await mustBe(() => table.takeTurn(turnOf(world)), "taken");
      await mustBe(() => table.takeTurn(turnOf(world, { owner: "rival", cursor: "of the rival" })), "held");
      await mustBe(() => table.takeTurn(turnOf(world, { until: NOW, cursor: "as far as here" })), "taken");
      const next = await insist(() => table.takeTurn(turnOf(world, { owner: "second" })));
      mustEqual(next, { kind: "taken", cursor: "as far as here" }, "what was left");
      // Nothing was left by the one that came after.
      const lapsed = { owner: "third", now: NOW + LEASE_MS };
      mustEqual(
        await insist(() => table.takeTurn(turnOf(world, lapsed))),
        { kind: "taken", cursor: null },
        "nothing left",
      );
    }),
  },
  {
    name: "what is left in a turn stays there until something else is left, and can be read by anybody",
    run: onRun(async ({ world, table }) => {
      const { cursor: _, ...silent } = turnOf(world);
      mustEqual(await table.cursorOf(silent.name), null, "what was left where no process had a turn");
      mustEqual(await insist(() => table.takeTurn(silent)), { kind: "taken", cursor: null }, "a free turn");
      await mustBe(() => table.takeTurn(turnOf(world, { cursor: "kept" })), "taken");
      for (const owner of ["first", "second"]) {
        const lapsed = { ...silent, owner, now: NOW + LEASE_MS };
        mustEqual(await insist(() => table.takeTurn(lapsed)), { kind: "taken", cursor: "kept" }, "what was left");
      }
      await mustBe(() => table.takeTurn(turnOf(world, { owner: "rival", cursor: "of the rival" })), "held");
      mustEqual(await table.cursorOf(silent.name), "kept", "what is left in a held turn");
      await mustBe(() => table.takeTurn(turnOf(world, { owner: "second", cursor: null })), "taken");
      mustEqual(await table.cursorOf(silent.name), null, "what is left after nothing was");
    }),
  },
  {
    name: "a turn that goes on is refused once it was another's, lapsed or given up",
    run: onRun(async ({ world, table }) => {
      const again = { again: true, cursor: "of the first" } as const;
      await mustBe(() => table.takeTurn(turnOf(world, again)), "held");
      await mustBe(() => table.takeTurn(turnOf(world)), "taken");
      // No other process wanted it, so it is still the one turn.
      await mustBe(() => table.takeTurn(turnOf(world, { ...again, now: NOW + 2 * LEASE_MS })), "taken");
      const second = { owner: "second", until: NOW + 3 * LEASE_MS, now: NOW + 2 * LEASE_MS, cursor: "of the second" };
      await mustBe(() => table.takeTurn(turnOf(world, second)), "taken");
      await mustBe(() => table.takeTurn(turnOf(world, { ...again, now: NOW + 9 * LEASE_MS })), "held");
      await mustBe(() => table.takeTurn(turnOf(world, { ...second, until: second.now })), "taken");
      await mustBe(() => table.takeTurn(turnOf(world, { ...again, now: NOW + 9 * LEASE_MS })), "held");
      mustEqual(await table.cursorOf(turnOf(world).name), "of the second", "what was left by the last owner");
    }),
  },
  {
    name: "turns of other names are others, and hostile names are kept letter by letter",
    run: async (world) => {
      const { table, tenant } = world;
      await mustBe(() => table.takeTurn(turnOf(world)), "taken");
      for (const name of HOSTILE) {
        const mine = { name: `${tenant} ${name}`, owner: name, cursor: name };
        await mustBe(() => table.takeTurn(turnOf(world, mine)), "taken");
        await mustBe(() => table.takeTurn(turnOf(world, { ...mine, owner: `${name}.` })), "held");
        const again = await insist(() => table.takeTurn(turnOf(world, mine)));
        mustEqual(again, { kind: "taken", cursor: name }, "what was left under a hostile name");
      }
    },
  },
  {
    name: "of 50 that want a turn at once one has it",
    run: onRun(async ({ world, table }) => {
      const owners = times(50, (index) => `owner ${index}`);
      const outcomes = await Promise.all(owners.map((owner) => insist(() => table.takeTurn(turnOf(world, { owner })))));
      const taken = owners.filter((_, index) => outcomes[index]?.kind === "taken");
      must(taken.length === 1, `${taken.length} of 50 were told that it is their turn`);
      const [winner = ""] = taken;
      await mustBe(() => table.takeTurn(turnOf(world, { owner: winner })), "taken");
      await mustBe(() => table.takeTurn(turnOf(world, { owner: "another" })), "held");
    }),
  },
];
