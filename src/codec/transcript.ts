/**
 * The transcript in segments. At every checkpoint the manifest is rebuilt from the canonical message list, never
 * appended to (seed 0: a list that compaction may shrink drifts from a diff). Cutting depends on nothing but the
 * messages, so equal beginnings give equal segments, and only unknown ones are uploaded.
 *
 * Messages are cut into chunks of about 16 KB; eight neighbouring chunks become one segment, eight of those one
 * larger segment, and so on: the manifest has O(log n) entries and each byte is written O(log n) times.
 */
import { SIZES } from "./limits.ts";
import type { Message } from "../core/message.ts";
import { canonical, compress, decompress, sha256, Unreadable } from "./canonical.ts";
import { type SegmentRef, messages as messagesSchema } from "./schema/state.ts";

export interface Segment {
  readonly ref: SegmentRef;
  readonly members: readonly Message[];
}

export interface Cut {
  readonly segments: readonly Segment[];
  /** What follows the last full chunk; it is stored in the snapshot itself. */
  readonly tail: readonly Message[];
}

export function cut(messages: readonly Message[]): Cut {
  const ends = chunkEnds(messages);
  const segments: Segment[] = [];
  let chunk = 0;
  let start = 0;
  for (const chunks of groupSizes(ends.length)) {
    chunk += chunks;
    const end = ends[chunk - 1] ?? start;
    segments.push(segmentOf(messages.slice(start, end)));
    start = end;
  }
  return { segments, tail: messages.slice(start) };
}

/** The object to upload. */
export const encodeSegment = (segment: Segment): Uint8Array => compress(canonical(segment.members));

/** The members of a segment; throws `Unreadable` when the bytes are not what the manifest names. */
export function decodeSegment(ref: SegmentRef, bytes: Uint8Array): Segment {
  const text = decompress(bytes, { what: `segment ${ref.sha256}`, bytesMax: ref.bytes }).toString("utf8");
  if (sha256(text) !== ref.sha256) throw new Unreadable(`segment ${ref.sha256} has other content than its name says`);
  const members = messagesSchema.safeParse(JSON.parse(text));
  if (!members.success) throw new Unreadable(`segment ${ref.sha256}: ${members.error.message}`);
  if (members.data.length !== ref.count) throw new Unreadable(`segment ${ref.sha256} has another number of messages`);
  const segment = { ref, members: members.data };
  remember(segment);
  return segment;
}

/** Where each full chunk ends: with the message that takes it over the limit. */
function chunkEnds(messages: readonly Message[]): number[] {
  const ends: number[] = [];
  let bytes = 0;
  for (const [index, message] of messages.entries()) {
    bytes += sizeOf(message);
    if (bytes < SIZES.segmentBytes) continue;
    ends.push(index + 1);
    bytes = 0;
  }
  return ends;
}

/** How many chunks each segment takes, largest first: the digits of the chunk count to the base of the fan-in. */
function groupSizes(chunks: number): number[] {
  const sizes: number[] = [];
  let size = 1;
  while (size * SIZES.segmentFanIn <= chunks) size *= SIZES.segmentFanIn;
  for (let left = chunks; left > 0; size /= SIZES.segmentFanIn) {
    for (; left >= size; left -= size) sizes.push(size);
  }
  return sizes;
}

// Messages never change, so what was measured or hashed of them once stays true as long as they live.
const sizes = new WeakMap<Message, number>();
const known = new WeakMap<Message, Segment[]>();

function sizeOf(message: Message): number {
  const measured = sizes.get(message);
  if (measured !== undefined) return measured;
  const size = Buffer.byteLength(canonical(message), "utf8");
  sizes.set(message, size);
  return size;
}

function segmentOf(members: readonly Message[]): Segment {
  const last = members.at(-1) as Message;
  const same = known
    .get(last)
    ?.find(
      (segment) => segment.members.length === members.length && segment.members.every((each, i) => each === members[i]),
    );
  if (same !== undefined) return same;
  const text = canonical(members);
  const ref = { sha256: sha256(text), count: members.length, bytes: Buffer.byteLength(text, "utf8") };
  const segment = { ref, members };
  remember(segment);
  return segment;
}

function remember(segment: Segment): void {
  const last = segment.members.at(-1);
  if (last !== undefined) known.set(last, [...(known.get(last) ?? []), segment]);
}
