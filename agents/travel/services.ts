/**
 * The external services of the example: an airline, a hotel, a card and a mail service. Each books once per idempotency
 * key, like a real service: an equal key returns the first booking, another key makes a second one.
 */
import { setTimeout as wait } from "node:timers/promises";
import { OutcomeUnknown } from "cairn-run";
import { misbehave } from "./behaviour.ts";
import { type Service, openFile } from "./service-file.ts";
import { referenceOf } from "./trip.ts";

interface Booking {
  /** The service does not keep the number of the trip: it is a part of the key. */
  readonly order: Readonly<Record<string, string | number | undefined>>;
  readonly key: string;
  readonly signal: AbortSignal;
}

/**
 * Books, or returns the existing booking of this key. Throws `OutcomeUnknown` if it booked and the response was lost.
 */
export async function book(service: Service, booking: Booking) {
  const { order, key, signal } = booking;
  await ask(service, { what: JSON.stringify(order), key, signal });
  const booked = record(service, booking);
  await misbehave(service, { moment: "after", signal }).catch((cause: unknown) => {
    throw new OutcomeUnknown(`the ${service} service accepted the order, but its response was lost`, { cause });
  });
  return booked;
}

/** Cancels the booking of a key, if there is one. Like a booking, it acts once per idempotency key of its own. */
export async function cancel(
  service: Service,
  of: { readonly booking: string; readonly key: string; readonly signal: AbortSignal },
) {
  const { booking, key, signal } = of;
  log(service, { what: `cancel ${booking}`, key });
  signal.throwIfAborted();
  const cancelled = recordCancellation(service, of);
  await misbehave(service, { moment: "cancelled", signal });
  return { cancelled };
}

function recordCancellation(service: Service, { booking, key }: { booking: string; key: string }): string | null {
  using file = openFile(service);
  const found = file.prepare("SELECT reference FROM bookings WHERE key = ?").get(booking);
  if (found === undefined) return null;
  file
    .prepare(
      `INSERT INTO cancellations (key, requests, booking) VALUES (?, 1, ?)
       ON CONFLICT (key) DO UPDATE SET requests = requests + 1`,
    )
    .run(key, booking);
  return String(found.reference);
}

/** The part of a request before its effect: an error here means that the effect did not happen. */
export async function ask(service: Service, request: { what: string; key?: string; signal: AbortSignal }) {
  const { signal } = request;
  log(service, request);
  await misbehave(service, { moment: "before", signal });
  signal.throwIfAborted();
}

export function log(service: Service, request: { what: string; key?: string }): void {
  using file = openFile(service);
  file.prepare("INSERT INTO requests (key, what) VALUES (?, ?)").run(request.key ?? null, request.what);
}

/** One statement, so that two processes with one key make one booking. */
function record(service: Service, { order, key }: Booking) {
  const kept = Object.entries(order).flatMap(([field, value]) =>
    field === "trip" || value === undefined ? [] : [[field, value] as const],
  );
  const [fields, values] = [kept.map(([field]) => field), kept.map(([, value]) => value)];
  using file = openFile(service);
  const booked = file
    .prepare(
      `INSERT INTO bookings (key, requests, reference, ${fields.join(", ")})
       VALUES (?, 1, ?, ${fields.map(() => "?").join(", ")})
       ON CONFLICT (key) DO UPDATE SET requests = requests + 1
       RETURNING reference, ${fields.join(", ")}`,
    )
    .get(key, referenceOf(service, ...values), ...values);
  return { ...booked };
}

/** Waits as long as a real step would take; TRAVEL_PACE=0.5 halves the time, 0 skips it. */
export const takes = (ms: number, signal: AbortSignal): Promise<void> =>
  wait(ms * Number(process.env.TRAVEL_PACE ?? 1), undefined, { signal });

/** All bookings that are not cancelled, with key and traveller: the real effects, for `cairn chaos`. */
export function bookingsIn(dir: string, service: Service): { readonly key: string; readonly traveller: string }[] {
  using file = openFile(service, dir);
  const standing = "key NOT IN (SELECT booking FROM cancellations)";
  const rows = file.prepare(`SELECT key, traveller FROM bookings WHERE ${standing} ORDER BY rowid`).all();
  return rows.map(({ key, traveller }) => ({ key: String(key), traveller: String(traveller) }));
}

/**
 * The requests and bookings of each service, for demos and tests: `search` and `model` by step, the others in total.
 */
export function countsOf(dir: string) {
  return {
    search: questions(dir, "search"),
    airline: orders(dir, "airline"),
    hotel: orders(dir, "hotel"),
    card: orders(dir, "card"),
    mail: orders(dir, "mail"),
    model: questions(dir, "model"),
  };
}

/** Requests and bookings of a service. `cancelled` counts the cancelled bookings; it is absent if there are none. */
function orders(dir: string, service: Service): { requests: number; bookings: number; cancelled?: number } {
  using file = openFile(service, dir);
  const count = (rows: string) => Number(file.prepare(`SELECT count(${rows}`).get()?.rows);
  const cancelled = count("DISTINCT booking) AS rows FROM cancellations");
  const all = { requests: count("*) AS rows FROM requests"), bookings: count("*) AS rows FROM bookings") };
  return cancelled === 0 ? all : { ...all, cancelled };
}

/** The number of model requests per traveller. */
export function questionsOf(dir: string): readonly { readonly traveller: string; readonly times: number }[] {
  using file = openFile("model", dir);
  const rows = file.prepare("SELECT key, count(*) AS times FROM requests GROUP BY key").all();
  return rows.map(({ key, times }) => ({ traveller: String(key), times: Number(times) }));
}

function questions(dir: string, service: Service): Readonly<Record<string, number>> {
  using file = openFile(service, dir);
  const rows = file.prepare("SELECT what, count(*) AS times FROM requests GROUP BY what ORDER BY min(rowid)").all();
  return Object.fromEntries(rows.map(({ what, times }) => [String(what), Number(times)]));
}
