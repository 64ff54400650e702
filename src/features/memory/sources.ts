/**
 * Sources that tools fetch, kept with the version that the source named. A source that was fetched once is asked only
 * whether it changed, and within its freshness it is not asked at all.
 *
 * Schedule 202: a process dies after it kept a source and before its call is recorded. The call runs again, in a later
 * process, and asks the source with the version that is kept.
 */
import * as z from "zod";
import { Unreadable, sha256 } from "../../codec/canonical.ts";
import type { AskSource, FetchedSource, FetchOptions } from "../../ports/memory.ts";
import { RECORD_BODY_BYTES_MAX, type RecordKey } from "../../ports/records.ts";
import type { World } from "../../ports/world.ts";
import { findRecord } from "../../history/damage.ts";
import { isThere } from "./entries.ts";
import { swapRecordUntil } from "../../history/record-swap.ts";
import { learnSecrets, redactionIn } from "../../history/secrets.ts";

const SOURCE_CHARACTERS_MAX = 2_048;
/** How long a source is kept after it last said something. */
const KEPT_MS = 30 * 86_400_000;
const TRIES_MAX = 5;

export const stored = z.looseObject({
  source: z.string(),
  etag: z.string().nullable(),
  content: z.string(),
  at: z.int(),
});

interface Asked extends FetchOptions {
  readonly source: string;
  readonly ask: AskSource;
}

/** Throws what `ask` throws, and an error that says what is wrong with its answer. */
export async function fetchSource(
  world: Pick<World, "records" | "clock" | "secrets">,
  { subject, tenant }: { readonly subject: string; readonly tenant: string },
  { source, ask, freshMs = 0 }: Asked,
): Promise<FetchedSource> {
  const isSource = typeof source === "string" && source !== "" && source.length <= SOURCE_CHARACTERS_MAX;
  if (!isSource) throw new Error(`a source has 1 to ${SOURCE_CHARACTERS_MAX} characters`);
  const key: RecordKey = { kind: "source", about: subject, id: sha256(source) };
  const record = await findRecord(world, key, world.clock.now());
  // A kept source that cannot be read is fetched again, like one that was never kept.
  const isRead = !(record instanceof Unreadable) && isThere(record);
  const kept = (isRead ? stored.safeParse(record.body).data : null) ?? null;
  if (kept !== null && freshMs > 0 && world.clock.now() - kept.at < freshMs) {
    return { source, content: kept.content, etag: kept.etag, at: kept.at, from: "kept", isKept: true };
  }
  const answer = await ask(kept === null ? null : { etag: kept.etag, at: kept.at });
  if (answer.kind === "unchanged" && kept === null) {
    throw new Error(
      `${source} has no kept version, so it cannot be unchanged: return { kind: "fetched", etag, content }`,
    );
  }
  const { content, etag } = answer.kind === "unchanged" && kept !== null ? kept : (answer as Content);
  if (typeof content !== "string") throw new Error(`the content of ${source} is no text`);
  const at = world.clock.now();
  const isKept = await keep(world, { key, tenant, body: { source, etag: etag ?? null, content, at } });
  return {
    source,
    content,
    etag: etag ?? null,
    at,
    from: answer.kind === "unchanged" ? "confirmed" : "source",
    isKept,
  };
}

interface Content {
  readonly etag: string | null;
  readonly content: string;
}

/**
 * Returns whether it is kept. Content with a secret is not: without the secret it would not be what the source says. Of
 * two processes that write at once, the last one counts.
 */
async function keep(
  world: Pick<World, "records" | "clock" | "secrets">,
  {
    key,
    tenant,
    body,
  }: { readonly key: RecordKey; readonly tenant: string; readonly body: Content & { source: string; at: number } },
): Promise<boolean> {
  await learnSecrets(world);
  const redaction = redactionIn(world);
  const isSound = [body.content, body.source, body.etag ?? ""].every((text) => redaction.text(text) === text);
  // What is stored is its JSON: each quote and line end of it takes two bytes, and each control character six.
  if (!isSound || Buffer.byteLength(JSON.stringify(body)) > RECORD_BODY_BYTES_MAX) return false;
  const expiresAtSec = Math.ceil((body.at + KEPT_MS) / 1_000);
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const found = await findRecord(world, key, world.clock.now());
    if (await swapRecordUntil(world, { key, tenant, found, body: { ...body }, expiresAtSec })) return true;
  }
  return false;
}
