/**
 * Shares the places of beats among tenants. The next place goes to the tenant that has the fewest, in proportion to its
 * weight, and within a tenant to what has been ready for longest. So a tenant with many runs delays no other one.
 */

/** What one tenant gets. */
export interface TenantShare {
  /** Its part of the places, in proportion to the others; default: 1. */
  readonly weight?: number;
  /** Its most beats at once; default: no cap. */
  readonly concurrency?: number;
}

/** By the name of the tenant. */
export type TenantShares = Readonly<Record<string, TenantShare>>;

interface Waiting {
  readonly tenant: string;
  readonly isBeat: boolean;
}

/**
 * The first `max` of those that wait, in the order in which they get places. `waiting`: by tenant the longest waiting
 * first. `out`: how many beats of each tenant have a place. Only beats count for a cap.
 */
export function inFairOrder<W extends Waiting>(
  waiting: readonly W[],
  {
    out,
    shares,
    max,
  }: {
    readonly out: ReadonlyMap<string, number>;
    readonly shares: TenantShares;
    readonly max: number;
  },
): readonly W[] {
  const queues = new Map<string, W[]>();
  for (const each of waiting) queues.set(each.tenant, [...(queues.get(each.tenant) ?? []), each]);
  const has = new Map(out);
  const share = (tenant: string): number => (has.get(tenant) ?? 0) / (shares[tenant]?.weight ?? 1);
  const isCapped = (tenant: string): boolean => (has.get(tenant) ?? 0) >= (shares[tenant]?.concurrency ?? Infinity);
  const order: W[] = [];
  while (order.length < max && queues.size > 0) {
    // The order of the tenants is that in which they wait, so equal shares go to the one that waits for longest.
    const [tenant, queue] = [...queues].reduce((best, each) => (share(each[0]) < share(best[0]) ? each : best));
    const index = isCapped(tenant) ? queue.findIndex(({ isBeat }) => !isBeat) : 0;
    const [next] = index < 0 ? [] : queue.splice(index, 1);
    if (next === undefined || queue.length === 0) queues.delete(tenant);
    if (next === undefined) continue;
    order.push(next);
    if (next.isBeat) has.set(tenant, (has.get(tenant) ?? 0) + 1);
  }
  return order;
}
