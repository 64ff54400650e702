/**
 * The codec of snapshots. A snapshot holds the state, the commits since the previous snapshot, the key and
 * digest of that snapshot, and a reference to the newest sealed events. So the snapshots of a run form a hash chain
 * that every reader can verify.
 */
import * as z from "zod";
import type { CommitRecord } from "../core/event.ts";
import { LEVEL, LOWEST_LEVEL } from "../core/levels.ts";
import { SIZES } from "./limits.ts";
import { isTerminal } from "../core/phases.ts";
import { BEFORE_RELEASE } from "../protocol/foreign.ts";
import type { Voucher } from "../protocol/voucher.ts";
import { FORMAT, type SnapshotPointer } from "../protocol/row.ts";
import type { State } from "../core/state.ts";
import { canonical, canonicalList, canonicalOf, compress, decompress, sha256, Unreadable } from "./canonical.ts";
import { commitRecords } from "./schema/event.ts";
import { type SealedRef, sealedRef, snapshotPointer } from "./schema/sealed.ts";
import { type SegmentRef, type StoredState, storedState } from "./schema/state.ts";
import { type Segment, cut } from "./transcript.ts";
import { type SealedBy, type Sign, voucher, withVoucher, withoutVoucher } from "./voucher.ts";

/** How much of the history before a snapshot is in sealed events. */
export interface Seal {
  /** The newest sealed events; they reference the sealed events before them. */
  readonly sealed: SealedRef | null;
  /**
   * Number of snapshots that `sealed` does not cover, including this one. Snapshot 0 has no commits and is not counted.
   */
  readonly unsealed: number;
}

export const NOTHING_SEALED: Seal = { sealed: null, unsealed: 0 };

export interface Snapshot extends Seal {
  readonly version: number;
  /** The level that a process needs to read it (`core/levels.ts`); absent: the lowest level. */
  readonly level?: number;
  /** The level of the process that wrote it. */
  readonly authorLevel: number;
  readonly previous: SnapshotPointer | null;
  /** The commits since the previous snapshot, including the one of this version. */
  readonly commits: readonly CommitRecord[];
  readonly state: StoredState;
  /** Absent: the snapshot has no keyed seal. */
  readonly sealedBy?: SealedBy;
}

export interface EncodedSnapshot {
  /** SHA-256 of the uncompressed bytes. */
  readonly digest: string;
  readonly bytes: Uint8Array;
  /** The size of the uncompressed text, without segments. */
  readonly textBytes: number;
  /** The snapshot as `decodeSnapshot` returns it. */
  readonly snapshot: Snapshot;
  /** The transcript segments that the snapshot references. */
  readonly segments: readonly Segment[];
}

/** The state of a run exceeds its limit. The run ends with this code; a retry could not succeed. */
export class StateTooLarge extends Error {
  override readonly name = "StateTooLarge";
  readonly code = "StateTooLarge";
}

export const SNAPSHOT_BYTES_MAX = 64 * 1024 * 1024;

export const document = z.looseObject({
  format: z.literal(FORMAT),
  version: z.int().nonnegative(),
  level: z.int().nonnegative().exactOptional(),
  authorLevel: z.int().nonnegative(),
  previous: snapshotPointer.nullable(),
  sealed: sealedRef.nullable(),
  unsealed: z.int().nonnegative(),
  commits: commitRecords,
  state: storedState,
  voucher: voucher.exactOptional(),
});

export function encodeSnapshot(content: {
  version: number;
  level?: number;
  previous: SnapshotPointer | null;
  seal: Seal;
  commits: readonly CommitRecord[];
  state: State;
  segmentBytes: number;
  /** Null or absent: the snapshot gets no keyed seal. */
  sign?: Sign | null;
}): EncodedSnapshot {
  const { version, level = LOWEST_LEVEL, previous, commits } = content;
  const { sealed, unsealed } = content.seal;
  const { state, segments } = storedForm(content.state, content.segmentBytes);
  const stateText = canonical(state);
  const size = Buffer.byteLength(stateText, "utf8");
  // The end of a run must always be storable, whatever its size; so must one that still waits for effects to settle.
  const isEnding = isTerminal(state.phase) || state.ending !== null;
  if (size > SIZES.stateBytesMax && !isEnding) {
    throw new StateTooLarge(`the state has ${size} bytes, ${SIZES.stateBytesMax} are allowed`);
  }
  const told = level > LOWEST_LEVEL ? { level } : {};
  const snapshot = { ...told, authorLevel: LEVEL, version, previous, sealed, unsealed, commits, state };
  const { state: _, commits: __, ...rest } = snapshot;
  const short = Object.entries({ format: FORMAT, ...rest }).map(([name, value]) => [name, canonical(value)]);
  const commitsText = encodeCommits(commits);
  const bare = canonicalOf({ ...Object.fromEntries(short), commits: commitsText, state: stateText });
  assertWhole(bare, { commits: commitsText, state: stateText, version });
  const bareDigest = sha256(bare);
  const textBytes = Buffer.byteLength(bare, "utf8");
  if (!content.sign) return { digest: bareDigest, bytes: compress(bare), textBytes, snapshot, segments };
  const voucher = content.sign("snapshot", bareDigest);
  const text = withVoucher(bare, voucher);
  const sealedBy = { what: "snapshot", voucher, digest: bareDigest } as const;
  return {
    digest: sha256(text),
    bytes: compress(text),
    textBytes,
    segments,
    snapshot: { ...snapshot, sealedBy },
  };
}

/**
 * The text begins and ends as each snapshot does, and has room for its parts. A polyfill that works wrongly shows here, for
 * much less than it takes to decode the text again.
 */
function assertWhole(
  text: string,
  { commits, state, version }: { readonly commits: string; readonly state: string; readonly version: number },
): void {
  const isWhole =
    text.startsWith(`{"authorLevel":${LEVEL},"commits":[`) &&
    text.includes(`,"format":${FORMAT},`, commits.length) &&
    text.endsWith(`,"version":${version}}`) &&
    state.startsWith("{") &&
    text.length > commits.length + state.length;
  if (!isWhole) throw notWhole("a snapshot");
}

export const notWhole = (what: string): TypeError =>
  new TypeError(`the text of ${what} is not whole: a function of the language does not work`);

/** The state as it is stored, with its transcript cut into segments, and those segments. */
export function storedForm(
  { messages, ...rest }: State,
  segmentBytes: number,
): { readonly state: StoredState; readonly segments: readonly Segment[] } {
  const { segments, tail } = cut(messages, segmentBytes);
  return { state: { ...rest, manifest: segments.map((segment) => segment.ref), tail }, segments };
}

/**
 * `unlessOwn`: not if a process of this level wrote the snapshot. The digest shows that its text, and that of each
 * segment it names, is what was written, and a process writes only what it has checked or made itself.
 */
export type SchemaCheck = "always" | "unlessOwn";

/** Throws `Unreadable` when the bytes do not match the pointer, or have an unknown format or level. */
export function decodeSnapshot(pointer: SnapshotPointer, bytes: Uint8Array, schema: SchemaCheck = "always"): Snapshot {
  const bounds = { what: `snapshot ${pointer.key}`, bytesMax: SNAPSHOT_BYTES_MAX };
  const content = decompress(bytes, bounds);
  // The bytes, and not the text: hashing a text encodes it again.
  if (sha256(content) !== pointer.digest) {
    throw new Unreadable(`snapshot ${pointer.key} does not match the digest of its pointer`, "DigestMismatch");
  }
  const text = content.toString("utf8");
  const raw: unknown = JSON.parse(text);
  const { voucher: seal, ...snapshot } = documentIn(raw, { what: `snapshot ${pointer.key}`, schema });
  if (seal === undefined) return snapshot;
  return { ...snapshot, sealedBy: { what: "snapshot", voucher: seal, digest: digestWithout(text, seal) } };
}

type SnapshotDocument = z.infer<typeof document>;

function documentIn(
  raw: unknown,
  { what, schema }: { readonly what: string; readonly schema: SchemaCheck },
): SnapshotDocument {
  const { format, level, authorLevel } = raw as { readonly [name in "format" | "level" | "authorLevel"]?: unknown };
  assertFormat(format, what);
  if (schema === "unlessOwn" && authorLevel === LEVEL) return raw as SnapshotDocument;
  const found = document.safeParse(raw);
  if (found.success) return found.data;
  assertLevel(level, what);
  throw new Unreadable(`${what}: ${z.prettifyError(found.error)}`);
}

/** The digest that the seal covers; empty if the seal is not the last member, so that verification fails. */
export function digestWithout(text: string, voucher: Voucher): string {
  const bare = withoutVoucher(text, voucher);
  return bare === null ? "" : sha256(bare);
}

/** The state with its whole transcript. `segmentOf` returns the segment of each manifest entry. */
export function wholeState(stored: StoredState, segmentOf: (ref: SegmentRef) => Segment): State {
  const { manifest, tail, ...rest } = stored;
  const sealed = manifest.flatMap((ref) => segmentOf(ref).members);
  const messages = [...sealed, ...tail];
  const gap = messages.findIndex((message, index) => message.id !== `m${index + 1}`);
  if (gap >= 0) throw new Unreadable(`the transcript has a gap at message ${gap + 1}`);
  return { ...rest, messages };
}

export function assertFormat(format: unknown, what: string): void {
  if (format === FORMAT) return;
  if (typeof format === "number" && format < FORMAT) {
    throw new Unreadable(`${what} ${BEFORE_RELEASE.says}`, BEFORE_RELEASE.code);
  }
  throw new Unreadable(
    `${what} has format ${String(format)}, this cairn reads format ${FORMAT}: use the version that wrote it`,
    "UnknownFormat",
  );
}

/** Throws when an unreadable snapshot needs a newer level; otherwise the snapshot is damaged. */
function assertLevel(level: unknown, what: string): void {
  if (typeof level !== "number" || level <= LEVEL) return;
  throw new Unreadable(
    `${what} has level ${level}, this cairn reads level ${LEVEL}: use the version that wrote it`,
    "UnknownLevel",
  );
}

/** Each event is in several texts: of journals, of a snapshot, of sealed events. */
export function encodeCommits(commits: readonly CommitRecord[]): string {
  const text = `[${commits
    .map(({ version, epoch, events, ...rest }) => {
      const short = Object.entries({ version, epoch, ...rest }).map(([name, value]) => [name, canonical(value)]);
      return canonicalOf({ ...Object.fromEntries(short), events: canonicalList(events) });
    })
    .join(",")}]`;
  assertCommits(text, commits);
  return text;
}

/**
 * Each commit and each of its events has its place in the text, one after the other. Names are in order there. Equal
 * words within an event come earlier, so they refuse no whole text.
 */
function assertCommits(text: string, commits: readonly CommitRecord[]): void {
  let at = 0;
  const pass = (words: string): void => {
    at = at < 0 ? at : text.indexOf(words, at);
  };
  for (let index = 0; index < commits.length; index += 1) {
    const { epoch, events, version } = commits[index] as CommitRecord;
    pass(`"epoch":${epoch},`);
    for (let each = 0; each < events.length; each += 1) pass(`"kind":"${events[each]?.kind}"`);
    pass(`"version":${version}`);
  }
  if (at < 0 || !text.startsWith("[") || !text.endsWith(commits.length > 0 ? "}]" : "[]")) throw notWhole("commits");
}
