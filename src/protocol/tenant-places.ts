/**
 * The places of a tenant whose beats no supervisor hands out: who has one, by the run. A beat takes a place before it claims
 * its run, and gives it up when it is over. No other run takes it before `until`.
 */
export type TenantPlaces = Readonly<Record<string, TenantPlace>>;

/** The attempt that has a place. */
export interface TenantPlace {
  readonly epoch: number;
  readonly retry: number;
  /** The random name of its invocation. */
  readonly holder: string;
  /** Epoch milliseconds. */
  readonly until: number;
}

/**
 * The places with one for this attempt, or as they are if a later attempt has that of its run; null: the tenant has as many
 * as it may.
 *
 * Schedule 279: a beat freezes, and its chain retries it. If the retry had to wait for a place, it would come back as a new
 * entry, which the claim of the frozen beat fences: nothing would drive the run. So a run keeps its place for its retry,
 * which waits for none. The frozen beat thaws, and the place is the retry's by then: it neither takes it back nor gives it up.
 */
export function withPlace(
  before: TenantPlaces,
  asked: { readonly run: string; readonly place: TenantPlace; readonly most: number; readonly now: number },
): TenantPlaces | null {
  const { run, place, most, now } = asked;
  const taken = Object.fromEntries(Object.entries(before).filter((each) => now < each[1].until));
  const own = taken[run];
  if (own !== undefined && !isLater(place, own)) return before;
  if (own === undefined && place.retry === 0 && Object.keys(taken).length >= most) return null;
  return { ...taken, [run]: place };
}

const isLater = (one: TenantPlace, other: TenantPlace): boolean =>
  one.epoch > other.epoch || (one.epoch === other.epoch && one.retry > other.retry);

/** The places without that of this invocation; null: it has none. */
export function withoutPlace(
  before: TenantPlaces,
  { run, holder }: { readonly run: string; readonly holder: string },
): TenantPlaces | null {
  if (before[run]?.holder !== holder) return null;
  const { [run]: _, ...rest } = before;
  return rest;
}
