/** A parent run that waits for the ends of its children. Only the test drives these runs. */
import type { Agent } from "../../src/ports/agent.ts";
import type { Payload } from "../../src/protocol/chain.ts";
import { executionName } from "../../src/protocol/ids.ts";
import type { Incarnation } from "../../src/protocol/row.ts";
import type { Message } from "../../src/ports/run-table.ts";
import { ActiveRun } from "../../src/engine/context/active-run.ts";
import { CommitCache } from "../../src/history/commits.ts";
import { SegmentCache, load } from "../../src/history/load.ts";
import { startRun } from "../../src/operations/start.ts";
import { type Room, invocation } from "./supervise.ts";
import { actor } from "./stage.ts";

/** A created run whose execution never starts. */
export async function born(
  on: Room,
  of: { readonly key: string; readonly parent?: Incarnation; readonly agent?: Agent },
): Promise<Payload> {
  const silent = { ...on.world, chain: { ...on.world.chain, start: async () => ({ kind: "started" }) as const } };
  const { key, parent, agent = actor({}) } = of;
  const asked = { agent, input: {}, tenant: "local", idempotencyKey: key };
  const started = await startRun(silent, { ...asked, ...(parent === undefined ? {} : { parent }) });
  if (started.kind !== "started") throw new Error(`not started: ${started.kind}`);
  const { run, born: begun, agent: name } = started.row;
  return { run, born: begun, chain: 1, epoch: 0, agent: name };
}

/** The run commits the start of these children; returns the payload of its next beat. */
export async function adopts(on: Room, payload: Payload, children: readonly string[]): Promise<Payload> {
  const { run, born: incarnation, chain, epoch } = payload;
  const now = on.clock.now();
  const entry = { execution: executionName(run, incarnation, chain), epoch, retry: 0 };
  const claim = { run, born: incarnation, chain, entry, owner: "starter", leaseUntil: now + 1_000, now };
  const claimed = await on.world.table.claim(claim);
  if (claimed.kind !== "granted") throw new Error(claimed.kind);
  const loaded = await load(on.world.objects, claimed.row, new SegmentCache());
  const caches = { segments: new SegmentCache(), commits: new CommitCache() };
  const active = new ActiveRun({ world: on.world, invocation: invocation(on), loaded, ...caches });
  for (const child of children) active.record({ kind: "ChildStarted", at: now, child });
  await active.commit({ release: true });
  return { ...payload, epoch: active.row.epoch };
}

export const letters = (on: Room, of: Incarnation): Promise<readonly Message[]> =>
  on.world.table.inbox({ run: of.run, born: of.born, now: on.clock.now(), limit: 99 });
