/**
 * Callbacks: links with which an outside service reports to one run, under one event, without an account here. A link is
 * a secret of 256 random bits. The store has its digest only, so whoever reads the store cannot report. It grants nothing
 * but that one event, and ends with its time.
 */
import * as z from "zod";
import { Unreadable } from "../../codec/canonical.ts";
import { isSameDigest, secretDigest } from "../../codec/secret-digest.ts";
import { isEventName } from "../../core/ids.ts";
import type { Incarnation } from "../../protocol/row.ts";
import type { RecordKey } from "../../ports/records.ts";
import type { World } from "../../ports/world.ts";
import { resolveAmbiguousWrite } from "../../history/resolve-ambiguous-write.ts";

/** What a callback reports, and to whom. */
export interface Callback extends Incarnation {
  readonly id: string;
  readonly event: string;
}

export interface CallbackOptions extends Incarnation {
  readonly tenant: string;
  /** The name of the event. */
  readonly event: string;
  /** Milliseconds. */
  readonly lifeMs: number;
}

const LIFE_MS_MAX = 90 * 24 * 3_600_000;

/** The form of every token of cairn, which redaction removes from whatever is written. */
const TOKEN = /^cairn_([0-9a-f]{16})_([0-9a-f]{64})$/;
const NO_DIGEST = secretDigest("");

export const stored = z.looseObject({ digest: z.string(), run: z.string(), born: z.string(), event: z.string() });

const keyOf = (id: string): RecordKey => ({ kind: "callback", about: id, id: "callback" });

/** Makes a callback, and returns its path below the API. Throws if the event has no name, or the time is no time. */
export async function openCallback(
  { records, clock, random }: Pick<World, "records" | "clock" | "random">,
  { run, born, tenant, event, lifeMs }: CallbackOptions,
): Promise<string> {
  if (!isEventName(event)) throw new Error("the name of an event is 1 to 64 letters, digits and . _ : -");
  if (!(lifeMs > 0 && lifeMs <= LIFE_MS_MAX)) throw new Error("a callback lives for 90 days at most");
  const id = random.hex().slice(0, 16);
  const secret = random.hex();
  const at = clock.now();
  const record = {
    ...keyOf(id),
    tenant,
    at,
    body: { digest: secretDigest(secret), run, born, event },
    expiresAtSec: Math.ceil((at + lifeMs) / 1_000),
  };
  // Its ID is random: a record that exists is this one.
  await resolveAmbiguousWrite<{ readonly kind: "added" | "exists" }>(
    () => records.add(record, at),
    () => null,
  );
  return `/callbacks/cairn_${id}_${secret}`;
}

/** The callback with this token; null if there is none, or not any more. A text of another form costs no read. */
export async function findCallback(
  { records, clock }: Pick<World, "records" | "clock">,
  token: string,
): Promise<Callback | null> {
  const [, id, secret] = TOKEN.exec(token) ?? [];
  if (id === undefined || secret === undefined) return null;
  const found = await records.get(keyOf(id), clock.now());
  const read = found === null ? null : stored.safeParse(found.body);
  if (read?.success === false) throw new Unreadable(`the record of the callback ${id} cannot be read`, "RecordDamaged");
  const isIt = isSameDigest(secretDigest(secret), read?.data.digest ?? NO_DIGEST);
  return read === null || !isIt ? null : { id, ...read.data };
}
