/** Worlds that break one rule each, to see that the enumerations find what comes of it. */
import type { MemoryWorld } from "../../../src/adapters/memory/world.ts";
import type { Row } from "../../../src/protocol/row.ts";
import { COMMIT } from "../../../src/protocol/row-commit.ts";
import { PARK } from "../../../src/protocol/row-park.ts";
import { CLAIM } from "../../../src/protocol/row-claim.ts";
import type { Inbox } from "../../../src/ports/inbox.ts";
import type { RunTable } from "../../../src/ports/run-table.ts";
import { type DecisionCalls, withCalls } from "../../../src/testing/decisions.ts";

const bending =
  (bend: (world: MemoryWorld) => Partial<RunTable & Inbox & DecisionCalls>) =>
  (world: MemoryWorld): MemoryWorld => {
    const bent = withCalls({ ...world.table, ...world.inbox }, bend(world));
    return { ...world, table: bent, inbox: bent };
  };

const rowIn = ({ store }: MemoryWorld, run: string): Row | undefined => store.rows.get(run);

/** Schedule 1 and every zombie: whoever still has the version may write. */
export const commitWithoutEpoch = bending((world) => ({
  commit: (commit) => world.table.decide({ ...commit, epoch: rowIn(world, commit.run)?.epoch ?? commit.epoch }, COMMIT),
}));

/** Schedules 3 to 5: nobody waits for an invocation that was overtaken. */
export const claimWithoutEffectsSettled = bending((world) => ({
  claim: async (claim) => {
    // As if its lease were over: nothing that was promised is lowered, so only what comes of it can be found.
    const before = rowIn(world, claim.run);
    if (before?.owner != null) world.store.rows.set(claim.run, { ...before, leaseUntil: 0 });
    return world.table.decide(claim, CLAIM);
  },
}));

/** Schedule 81: no tombstone is written, and the row may go all the same. */
export const endWithoutKey = bending(() => ({ keepKey: async () => ({ kind: "kept" }) }));

/** Schedule 27: what was absorbed is forgotten with its item. */
export const inboxWithoutSeen = bending(({ store }) => ({
  clear: async (of) => {
    for (const id of of.ids) store.messages.delete(JSON.stringify([of.run, of.born, id]));
  },
}));

/** Schedule 1: a retry is taken for a duplicate. */
export const claimWithoutRetry = bending(({ table }) => ({
  claim: (claim) => table.decide({ ...claim, entry: { ...claim.entry, retry: 0 } }, CLAIM),
}));

/** Schedule 15: any attempt to park stores its token. */
export const parkWithoutFence = bending((world) => ({
  park: async (park) => {
    const row = rowIn(world, park.run);
    // A run that has an owner and is parked is no row that can be: a reader would call it damaged.
    if (row === undefined || row.owner !== null) return world.table.decide(park, PARK);
    const parked = { ...row, park: { token: park.token, entry: park.entry } };
    world.store.rows.set(park.run, parked);
    return { kind: "parked", row: structuredClone(parked) };
  },
}));

/** Schedule 12: an end does not ask whether somebody spoke. */
export const endWithoutWakeCount = bending(({ table }) => ({
  commit: (commit) => table.decide({ ...commit, unlessWoken: false }, COMMIT),
}));

/** Schedule 67: whoever commits and then calls its model leaves without a mark. */
export const commitWithoutMark = bending(({ table }) => ({
  commit: (commit) => table.decide({ ...commit, unaccountedModelCalls: 0 }, COMMIT),
}));
