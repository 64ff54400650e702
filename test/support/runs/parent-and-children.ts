/** A parent run that waits for the ends of its children. Only the test drives these runs. */
import type { Child } from "../../../src/core/child.ts";
import type { Agent } from "../../../src/ports/agent.ts";
import type { Payload } from "../../../src/protocol/chain.ts";
import { executionName } from "../../../src/protocol/ids.ts";
import type { Incarnation } from "../../../src/protocol/row.ts";
import { CLAIM } from "../../../src/protocol/row-claim.ts";
import type { InboxMessage } from "../../../src/ports/inbox.ts";
import { ActiveRun } from "../../../src/engine/context/active-run.ts";
import { CommitCache } from "../../../src/history/commits.ts";
import { SegmentCache, load } from "../../../src/history/load.ts";
import { startRun } from "../../../src/operations/start.ts";
import { scriptedAgent, type Harness } from "../harness/harness.ts";

/** A created run whose execution never starts. */
export async function createIdleRun(
  harness: Harness,
  of: { readonly key: string; readonly parent?: Incarnation; readonly agent?: Agent },
): Promise<Payload> {
  const silent = {
    ...harness.world,
    chain: { ...harness.world.chain, start: async () => ({ kind: "started" }) as const },
  };
  const { key, parent, agent = scriptedAgent({}) } = of;
  const asked = { agent, input: {}, tenant: "local", idempotencyKey: key };
  const started = await startRun(silent, { ...asked, ...(parent === undefined ? {} : { parent }) });
  if (started.kind !== "started") throw new Error(`not started: ${started.kind}`);
  const { run, born: begun, agent: name } = started.row;
  return { run, born: begun, chain: 1, epoch: 0, agent: name };
}

/** The entry of a child whose call is settled, so that no model judges its report. */
const entryOf = (id: string): Child => ({
  ...{ id, call: "settled", try: 1, agent: "actor", grant: {}, deadline: null, superseded: false },
});

/** The run commits the start of these children; returns the payload of its next beat. */
export async function recordChildren(
  harness: Harness,
  payload: Payload,
  children: readonly string[],
): Promise<Payload> {
  const { run, born: incarnation, chain, epoch } = payload;
  const now = harness.clock.now();
  const entry = { execution: executionName(run, incarnation, chain), epoch, retry: 0 };
  const claim = { run, born: incarnation, chain, entry, owner: "starter", leaseUntil: now + 1_000, now };
  const claimed = await harness.world.table.decide(claim, CLAIM);
  if (claimed.kind !== "granted") throw new Error(claimed.kind);
  const found = await load(harness.world, claimed.row, new SegmentCache());
  const loaded = { ...found, state: { ...found.state, children: children.map(entryOf) } };
  const caches = { segments: new SegmentCache(), commits: new CommitCache() };
  const active = new ActiveRun({ world: harness.world, invocation: harness.invocation(), loaded, ...caches });
  for (const child of children) active.record({ kind: "ChildStarted", at: now, child });
  await active.commit({ release: true });
  return { ...payload, epoch: active.row.epoch };
}

export const inboxOf = (harness: Harness, of: Incarnation): Promise<readonly InboxMessage[]> =>
  harness.world.inbox.unread({ run: of.run, born: of.born, now: harness.clock.now(), limit: 99 });
