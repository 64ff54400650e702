/** Puts objects. An object is durable before a row names it, and a repeated put changes nothing. */
import { type Segment, encodeSegment } from "../codec/transcript.ts";
import { Unreadable } from "../codec/canonical.ts";
import { toValue } from "../codec/value.ts";
import type { Json } from "../core/json.ts";
import type { Value } from "../core/message.ts";
import type { Incarnation } from "../protocol/row.ts";
import type { ObjectStore } from "../ports/object-store.ts";
import type { World } from "../ports/world.ts";
import { resolveAmbiguousPut } from "./resolve-ambiguous-write.ts";
import { blobKey, segmentKey } from "./object-keys.ts";
import { learnSecrets, redactionIn } from "./secrets.ts";

/** Puts segments. Their keys are content-addressed: an existing object has the same content. */
export async function putSegments(
  objects: ObjectStore,
  incarnation: Incarnation,
  segments: readonly Segment[],
): Promise<void> {
  for (const segment of segments) {
    await resolveAmbiguousPut(() => objects.put(segmentKey(incarnation, segment.ref.sha256), encodeSegment(segment)));
  }
}

/**
 * Puts a snapshot under a key that only this epoch uses, so an existing object must have the same bytes. Different
 * bytes mean damage in the store. Then it throws `Unreadable`, and nothing may be committed over the run.
 */
export async function putSnapshot(objects: ObjectStore, object: { key: string; bytes: Uint8Array }): Promise<void> {
  if ((await resolveAmbiguousPut(() => objects.put(object.key, object.bytes))) === "stored") return;
  const found = await objects.get(object.key);
  if (found === null || Buffer.compare(found, object.bytes) !== 0) {
    throw new Unreadable(`${object.key} holds another snapshot, or it cannot be read`);
  }
}

/** Stores a value, as a blob if it is large. Secrets are redacted first, so digests match what is stored. */
export async function keepValue(
  world: World,
  incarnation: Incarnation,
  what: { readonly json: Json; readonly inlineMax: number },
): Promise<Value> {
  await learnSecrets(world);
  const { value, blob } = toValue(redactionIn(world).json(what.json), what.inlineMax);
  if (blob !== null) await resolveAmbiguousPut(() => world.objects.put(blobKey(incarnation, blob.sha256), blob.bytes));
  return value;
}
