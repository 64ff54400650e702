/**
 * The archive of a run as bytes: everything that happened in one object that needs no other one. JSON lines, gzipped in
 * members of about a megabyte. A file of many gzip members is one gzip file for every reader, and whoever writes it holds
 * a member at a time: a transcript that fits into a process once would not fit twice.
 *
 * The first line says what it is of and how it ended, the last one how many lines of each kind there are; a file that
 * breaks off is unreadable, not shorter. It is a function of what is committed: whoever writes it again writes the same.
 */
import { gunzipSync, gzipSync } from "node:zlib";
import * as z from "zod";
import type { Spent } from "../core/budget.ts";
import type { CommitRecord, Effect, Failure } from "../core/event.ts";
import type { Json } from "../core/json.ts";
import type { Message, Value } from "../core/message.ts";
import type { Retention } from "../core/retention.ts";
import { Unreadable, canonical } from "./canonical.ts";
import { failure } from "./schema-recovery.ts";
import { commitRecord, effect, message, retention, sha, value } from "./schema.ts";
import { spent } from "./schema-budget.ts";

/** Of this file alone: it outlives the rows and snapshots that it was made of. */
const ARCHIVE_FORMAT = 1;

/** What became of one call that a model ever asked for. */
export interface LedgerEntry {
  readonly call: string;
  readonly tool: string;
  readonly effect: Effect | null;
  readonly key: string | null;
  /** The call whose effect it undoes. */
  readonly undoes?: string;
  /** The key is the agent's own; absent: it is derived from the intent. */
  readonly business?: true;
  readonly status:
    | "proposed"
    | "intended"
    | "started"
    | "succeeded"
    | "failed"
    | "unknown"
    | "reconciled"
    | "compensated";
  /** How often it was released to be run. */
  readonly attempts: number;
  readonly externalId: string | null;
  readonly evidence: string;
  readonly intendedAt: number | null;
  readonly settledAt: number | null;
}

/** What the archive is of, and how that ended. */
export interface ArchivedRun {
  readonly run: string;
  readonly born: string;
  readonly parent: { readonly run: string; readonly born: string } | null;
  readonly tenant: string;
  readonly agent: string;
  readonly agentVersion: string;
  readonly createdAt: number;
  readonly startedAt: number | null;
  readonly endedAt: number;
  readonly status: "completed" | "failed" | "cancelled";
  readonly task: Value;
  readonly result: Value | null;
  readonly failure: Failure | null;
  readonly attempt: number;
  readonly takeovers: number;
  readonly version: number;
  readonly epoch: number;
  readonly spent: Spent;
  readonly retention: Retention;
}

/** What was too much to be archived: the digests of large values. Their heads and tails are in the transcript. */
interface LeftOut {
  readonly blobs: readonly string[];
}

export interface Archive {
  readonly run: ArchivedRun;
  readonly messages: readonly Message[];
  readonly commits: readonly CommitRecord[];
  readonly calls: readonly LedgerEntry[];
  /** Large values by their digest. */
  readonly blobs: ReadonlyMap<string, Json>;
  readonly leftOut: LeftOut;
}

const count = z.int().nonnegative();
const incarnation = z.object({ run: z.string(), born: z.string() });

const archivedRun: z.ZodType<ArchivedRun> = z.object({
  ...incarnation.shape,
  parent: incarnation.nullable(),
  tenant: z.string(),
  agent: z.string(),
  agentVersion: z.string(),
  createdAt: count,
  startedAt: count.nullable(),
  endedAt: count,
  status: z.enum(["completed", "failed", "cancelled"]),
  task: value,
  result: value.nullable(),
  failure: failure.nullable(),
  attempt: count,
  takeovers: count,
  version: count,
  epoch: count,
  spent,
  retention,
});

const ledgerEntry: z.ZodType<LedgerEntry> = z.object({
  call: z.string(),
  tool: z.string(),
  effect: effect.nullable(),
  key: z.string().nullable(),
  undoes: z.string().exactOptional(),
  business: z.literal(true).exactOptional(),
  status: z.enum(["proposed", "intended", "started", "succeeded", "failed", "unknown", "reconciled", "compensated"]),
  attempts: count,
  externalId: z.string().nullable(),
  evidence: z.string(),
  intendedAt: count.nullable(),
  settledAt: count.nullable(),
});

const head = z.object({ kind: z.literal("run"), format: z.literal(ARCHIVE_FORMAT), run: archivedRun });
const counts = z.object({ messages: count, commits: count, calls: count, blobs: count });

const line = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("message"), message }),
  z.object({ kind: z.literal("commit"), commit: commitRecord }),
  z.object({ kind: z.literal("call"), call: ledgerEntry }),
  z.object({ kind: z.literal("blob"), sha256: sha, json: z.custom<Json>((json) => json !== undefined) }),
  z.object({ kind: z.literal("end"), counts, leftOut: z.object({ blobs: z.array(sha) }) }),
]);

/** How many lines of each kind there are. */
export type ArchiveCounts = z.output<typeof counts>;

export const headLine = (run: ArchivedRun): string => canonical({ kind: "run", format: ARCHIVE_FORMAT, run });
export const messageLine = (of: Message): string => canonical({ kind: "message", message: of });
export const commitLine = (commit: CommitRecord): string => canonical({ kind: "commit", commit });
export const callLine = (call: LedgerEntry): string => canonical({ kind: "call", call });
/** Its text is canonical already, and may be megabytes. */
export const blobLine = (sha256: string, text: string): string => `{"json":${text},"kind":"blob","sha256":"${sha256}"}`;
export const endLine = (of: ArchiveCounts, leftOut: LeftOut): string => canonical({ kind: "end", counts: of, leftOut });

const MEMBER_CHARACTERS = 1024 * 1024;
/** Of 70 MB a higher level takes 10 % more off, and 2.5 times as long. */
const GZIP = { level: 4, chunkSize: 256 * 1024 } as const;

/** Lines as gzip members, in order; they are asked for as the members are made. */
export function packed(lines: Iterable<string>): readonly Uint8Array[] {
  const members: Uint8Array[] = [];
  let text: string[] = [];
  let characters = 0;
  const seal = (): void => {
    if (text.length > 0) members.push(gzipSync(`${text.join("\n")}\n`, GZIP));
    text = [];
    characters = 0;
  };
  for (const each of lines) {
    text.push(each);
    characters += each.length;
    if (characters >= MEMBER_CHARACTERS) seal();
  }
  seal();
  return members;
}

/** Reads an archive. Throws `Unreadable` where the bytes are none, or not all of one, or of a format that is not known. */
export function readArchive(bytes: Uint8Array): Archive {
  const texts = linesOf(bytes);
  const first = texts.next();
  if (first.done === true) throw new Unreadable("the archive is empty");
  const run = runOf(first.value);
  const messages: Message[] = [];
  const commits: CommitRecord[] = [];
  const calls: LedgerEntry[] = [];
  const blobs = new Map<string, Json>();
  for (const raw of texts) {
    const found = line.safeParse(raw);
    if (!found.success) throw new Unreadable(`a line of the archive: ${z.prettifyError(found.error)}`);
    const each = found.data;
    if (each.kind === "message") messages.push(each.message);
    if (each.kind === "commit") commits.push(each.commit);
    if (each.kind === "call") calls.push(each.call);
    if (each.kind === "blob") blobs.set(each.sha256, each.json);
    if (each.kind !== "end") continue;
    const held = { messages: messages.length, commits: commits.length, calls: calls.length, blobs: blobs.size };
    if (canonical(held) !== canonical(each.counts) || texts.next().done !== true) break;
    return { run, messages, commits, calls, blobs, leftOut: each.leftOut };
  }
  throw new Unreadable("the archive does not hold what its last line says, or has none");
}

function runOf(first: unknown): ArchivedRun {
  const { format } = (first ?? {}) as { readonly format?: unknown };
  if (typeof format === "number" && format !== ARCHIVE_FORMAT) {
    const reads = `this cairn reads format ${ARCHIVE_FORMAT}: use a newer one`;
    throw new Unreadable(`the archive has format ${format}, ${reads}`, "UnknownFormat");
  }
  const found = head.safeParse(first);
  if (!found.success) throw new Unreadable(`the first line of the archive: ${z.prettifyError(found.error)}`);
  return found.data.run;
}

/** Nobody reads one where memory is short; a file that claims to be more is none of ours. */
const ARCHIVE_BYTES_MAX = 2 * 1024 ** 3;
const NEWLINE = 10;

/** Line by line out of the bytes: all of them as one text may be more than a text can be. */
function* linesOf(bytes: Uint8Array): Generator<unknown, undefined> {
  try {
    const whole = gunzipSync(bytes, { maxOutputLength: ARCHIVE_BYTES_MAX });
    for (let from = 0; from < whole.byteLength;) {
      const to = whole.indexOf(NEWLINE, from);
      const end = to < 0 ? whole.byteLength : to;
      yield JSON.parse(whole.toString("utf8", from, end));
      from = end + 1;
    }
  } catch (error) {
    if (error instanceof Unreadable) throw error;
    throw new Unreadable(`the archive cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}
