/**
 * Cuts the transcript into segments and reads segments back. Every checkpoint rebuilds the manifest from the full
 * message list and never appends to it (an appended diff drifts from a list that compaction may shrink).
 * The cut depends only on the messages and that size, so equal prefixes give equal segments, and only new segments are uploaded.
 *
 * Messages are cut into chunks of a size that the world chooses. Eight neighbouring chunks become one segment, eight of those become one
 * larger segment, and so on. So the manifest has O(log n) entries, and each byte is written O(log n) times.
 */
import { SIZES } from "./limits.ts";
import type { Message } from "../core/message.ts";
import { Unreadable, canonical, compress, decompress, sha256 } from "./canonical.ts";
import { prefixMemo } from "./prefix-memo.ts";
import { type SegmentRef, messages as messagesSchema } from "./schema/state.ts";

export interface Segment {
  readonly ref: SegmentRef;
  readonly members: readonly Message[];
}

export interface Cut {
  readonly segments: readonly Segment[];
  /** The messages after the last full chunk; the snapshot itself stores them. */
  readonly tail: readonly Message[];
}

/** `segmentBytes`: the size of a chunk (`StoredSizes`). */
export function cut(messages: readonly Message[], segmentBytes: number): Cut {
  const ends = chunkEnds(messages, segmentBytes);
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

/** The bytes of the segment's object in the object store. */
export function encodeSegment(segment: Segment): Uint8Array {
  const text = texts.get(segment) ?? canonical(segment.members);
  texts.delete(segment);
  return compress(text);
}

/** The texts of segments that were cut and not yet stored. */
const texts = new WeakMap<Segment, string>();

/**
 * A segment from its object's bytes. Throws `Unreadable` when the bytes do not match the manifest entry. `isChecked`: the
 * schema holds, because a process of this level named the segment.
 */
export function decodeSegment(ref: SegmentRef, bytes: Uint8Array, isChecked = false): Segment {
  const text = decompress(bytes, { what: `segment ${ref.sha256}`, bytesMax: ref.bytes, isKnown: true });
  if (sha256(text) !== ref.sha256) throw new Unreadable(`segment ${ref.sha256} does not match the digest in its name`);
  const raw: unknown = JSON.parse(text.toString("utf8"));
  const members = isChecked ? (raw as readonly Message[]) : checkedMessages(raw, ref);
  if (members.length !== ref.count) throw new Unreadable(`segment ${ref.sha256} has another number of messages`);
  const segment = { ref, members };
  remember(segment);
  return segment;
}

function checkedMessages(raw: unknown, { sha256: name }: SegmentRef): readonly Message[] {
  const members = messagesSchema.safeParse(raw);
  if (!members.success) throw new Unreadable(`segment ${name}: ${members.error.message}`);
  return members.data;
}

/** The end index of each full chunk: a chunk ends with the message that reaches the size limit. */
function chunkEnds(messages: readonly Message[], segmentBytes: number): readonly number[] {
  const known = endsBySize.get(segmentBytes) ?? growingEnds(segmentBytes);
  endsBySize.set(segmentBytes, known);
  return known(messages).ends;
}

const endsBySize = new Map<number, ReturnType<typeof growingEnds>>();

const growingEnds = (segmentBytes: number) =>
  prefixMemo({
    start: () => ({ ends: [] as number[], count: 0, bytes: 0 }),
    copy: ({ ends, ...rest }) => ({ ...rest, ends: [...ends] }),
    add: (cutting, message) => {
      cutting.count += 1;
      cutting.bytes += sizeOf(message);
      if (cutting.bytes < segmentBytes) return;
      cutting.ends.push(cutting.count);
      cutting.bytes = 0;
    },
  });

/** How many chunks each segment contains, largest first: the digits of the chunk count in base `segmentFanIn`. */
function groupSizes(chunks: number): number[] {
  const sizes: number[] = [];
  let size = 1;
  while (size * SIZES.segmentFanIn <= chunks) size *= SIZES.segmentFanIn;
  for (let left = chunks; left > 0; size /= SIZES.segmentFanIn) {
    for (; left >= size; left -= size) sizes.push(size);
  }
  return sizes;
}

// Messages are immutable, so cached sizes and digests stay valid.
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
  texts.set(segment, text);
  remember(segment);
  return segment;
}

function remember(segment: Segment): void {
  const last = segment.members.at(-1);
  if (last !== undefined) known.set(last, [...(known.get(last) ?? []), segment]);
}
