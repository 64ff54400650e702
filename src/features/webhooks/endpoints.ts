/**
 * The webhook endpoints that the processes of a store know, as the store keeps them: the cursor of one mutex lease. So a
 * process without the config, such as the API of a deployment, finds their queues, and an endpoint that the config names
 * no longer is found for as long as something may wait for it.
 */
import * as z from "zod";
import type { World } from "../../ports/world.ts";
import { OUTBOX_KEPT_MS, queueTo } from "./outbox.ts";
import { storeCursor } from "../../history/resolve-ambiguous-write.ts";

const NAME = "webhook endpoints";

/** So many removed endpoints are kept, those that were removed last. */
const REMOVED_MAX = 10;

const knownEndpoint = z.strictObject({
  url: z.url(),
  /** When a process first saw that the config names it no longer, epoch milliseconds; null: it names it. */
  removedAt: z.int().nonnegative().nullable(),
});
export type KnownEndpoint = z.output<typeof knownEndpoint>;

type Kept = Pick<World, "leases" | "clock">;

/** A list that cannot be read counts as empty: the next process with webhooks writes it anew. */
export async function knownEndpoints({ leases, clock }: Kept): Promise<readonly KnownEndpoint[]> {
  const cursor = await leases.cursorOf(NAME);
  const { data = [] } = z.array(knownEndpoint).safeParse(jsonIn(cursor ?? "[]"));
  return data.filter(({ removedAt }) => removedAt === null || removedAt > clock.now() - OUTBOX_KEPT_MS);
}

/** Keeps what the config names now. Returns the endpoints that were removed by this. */
export async function keepEndpoints(
  world: Pick<World, "leases" | "clock" | "random">,
  urls: readonly string[],
): Promise<readonly KnownEndpoint[]> {
  const before = await knownEndpoints(world);
  const now = world.clock.now();
  const gone = before.filter(({ url }) => !urls.includes(url));
  const removed = gone.filter(({ removedAt }) => removedAt === null).map(({ url }) => ({ url, removedAt: now }));
  const named = urls.map((url) => ({ url, removedAt: null }));
  const older = gone.filter(({ removedAt }) => removedAt !== null);
  const after = [...named, ...[...removed, ...older].slice(0, REMOVED_MAX)];
  if (sortedText(after) === sortedText(before)) return [];
  await storeCursor(world, { name: NAME, cursor: JSON.stringify(after) });
  return removed;
}

const sortedText = (all: readonly KnownEndpoint[]): string =>
  JSON.stringify(all.map((each) => JSON.stringify(each)).toSorted());

/** The name of an endpoint on all surfaces: its URL may hold a token of the receiver. */
export const endpointId = (world: Pick<World, "hash">, url: string): string =>
  queueTo(world, url).split(" ").at(-1) ?? "";

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return [];
  }
}
