/**
 * The archive of a run as bytes: everything that happened in one object that needs no other one. JSON lines, gzipped in
 * members of about a megabyte. A file of many gzip members is one gzip file for every reader, and whoever writes it holds
 * a member at a time: a transcript that fits into a process once would not fit twice.
 *
 * An exported run is an archive with more in it: the state that the run began with and a mark of each snapshot, so that
 * it can be folded again and compared (`replay`), and the digest of its lines, since no store vouches for it.
 *
 * The first line says what it is of and how it ended, the last one how many lines of each kind there are; a file that
 * breaks off is unreadable, not shorter. It is a function of what is committed: whoever writes it again writes the same.
 */
import * as z from "zod";
import type { Spent } from "../core/policy/budget.ts";
import type { Effect } from "../core/calls/effects.ts";
import type { CommitRecord, Failure } from "../core/event.ts";
import type { Json } from "../core/json.ts";
import type { Message, Value } from "../core/message.ts";
import type { Retention } from "../core/policy/retention.ts";
import { PHASE_NAMES, PHASES, type Phase, type Status } from "../core/phases.ts";
import type { State } from "../core/state.ts";
import type { Voucher } from "../protocol/voucher.ts";
import { linesOf } from "./archive-bytes.ts";
import { Unreadable, canonical } from "./canonical.ts";
import { type StateMark, stateMark } from "./mark.ts";
import { commitRecord, effect, failure, phase } from "./schema/event.ts";
import { retention, storedState } from "./schema/state.ts";
import { message, sha, value } from "./schema/message.ts";
import { wholeState } from "./snapshot.ts";
import { type SealedBy, voucher } from "./voucher.ts";
import { spent } from "./schema/budget.ts";

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

/** What the archive is of, and how that ended; an export may be of a run that has not. */
export interface ArchivedRun {
  readonly run: string;
  readonly born: string;
  readonly parent: { readonly run: string; readonly born: string } | null;
  readonly tenant: string;
  readonly agent: string;
  readonly agentVersion: string;
  readonly createdAt: number;
  readonly startedAt: number | null;
  /** Absent where none was recorded. */
  readonly startedBy?: string;
  readonly endedAt: number | null;
  readonly status: Status;
  /** In exports. */
  readonly phase?: Phase;
  readonly task: Value;
  readonly result: Value | null;
  readonly failure: Failure | null;
  readonly attempt: number;
  readonly takeovers: number;
  readonly version: number;
  readonly epoch: number;
  readonly spent: Spent;
  /** Null: the world's default. */
  readonly retention: Retention | null;
}

/** What an export holds beyond an archive. */
export interface Begun {
  readonly state: State;
  /** Of the snapshots, in order. */
  readonly marks: readonly StateMark[];
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
  /** In exports. */
  readonly begun?: Begun;
  /** Of the process that wrote it; absent: it has no keyed seal. */
  readonly sealedBy?: SealedBy;
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
  startedBy: z.string().exactOptional(),
  endedAt: count.nullable(),
  status: z.enum(["queued", ...PHASE_NAMES.map((name) => PHASES[name].status)]),
  phase: phase.exactOptional(),
  task: value,
  result: value.nullable(),
  failure: failure.nullable(),
  attempt: count,
  takeovers: count,
  version: count,
  epoch: count,
  spent,
  retention: retention.nullable(),
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
const counts = z.object({
  ...{ messages: count, commits: count, calls: count, blobs: count },
  marks: count.exactOptional(),
});

const line = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("message"), message }),
  z.object({ kind: z.literal("commit"), commit: commitRecord }),
  z.object({ kind: z.literal("call"), call: ledgerEntry }),
  z.object({ kind: z.literal("blob"), sha256: sha, json: z.custom<Json>((json) => json !== undefined) }),
  z.object({ kind: z.literal("begun"), state: storedState }),
  z.object({ kind: z.literal("mark"), mark: stateMark }),
  z.object({
    kind: z.literal("end"),
    counts,
    leftOut: z.object({ blobs: z.array(sha) }),
    digest: sha.exactOptional(),
    voucher: voucher.exactOptional(),
  }),
]);

/** How many lines of each kind there are; an archive has no marks. */
export type ArchiveCounts = z.output<typeof counts>;

export const headLine = (run: ArchivedRun): string => canonical({ kind: "run", format: ARCHIVE_FORMAT, run });
export const messageLine = (of: Message): string => canonical({ kind: "message", message: of });
export const commitLine = (commit: CommitRecord): string => canonical({ kind: "commit", commit });
export const callLine = (call: LedgerEntry): string => canonical({ kind: "call", call });
/** Its text is canonical already, and may be megabytes. */
export const blobLine = (sha256: string, text: string): string => `{"json":${text},"kind":"blob","sha256":"${sha256}"}`;
/** The transcript whole, so that it names no segment. */
export const begunLine = ({ messages: tail, ...state }: State): string =>
  canonical({ kind: "begun", state: { ...state, manifest: [], tail } });
export const markLine = (mark: StateMark): string => canonical({ kind: "mark", mark });
/** `digest`: in exports, of all lines before it. */
export const endLine = (
  of: ArchiveCounts,
  leftOut: LeftOut,
  proof?: { readonly digest: string; readonly voucher: Voucher | null },
): string => {
  const { digest, voucher: seal = null } = proof ?? {};
  return canonical({
    ...{ kind: "end", counts: of, leftOut },
    ...(digest !== undefined && { digest }),
    ...(seal !== null && { voucher: seal }),
  });
};

/** Reads an archive. Throws `Unreadable` where the bytes are none, or not all of one, or of a format that is not known. */
export function readArchive(bytes: Uint8Array): Archive {
  const texts = linesOf(bytes);
  const first = texts.next();
  if (first.done === true) throw new Unreadable("the archive is empty");
  const run = runOf(first.value.raw);
  const read = new Lines();
  for (const { raw, digest } of texts) {
    const found = line.safeParse(raw);
    if (!found.success) throw new Unreadable(`a line of the archive: ${z.prettifyError(found.error)}`);
    const each = found.data;
    if (each.kind !== "end") {
      read.add(each);
      continue;
    }
    const { counts: said, leftOut } = each;
    const { marks = 0, ...ofArchive } = said;
    if (canonical({ marks, ...ofArchive }) !== canonical(read.counts) || texts.next().done !== true) break;
    if (each.digest !== undefined && each.digest !== digest()) {
      throw new Unreadable("the lines of the archive have other content than its last one says", "DigestMismatch");
    }
    const sealedBy = each.voucher === undefined ? {} : { sealedBy: sealOf(each.voucher, digest()) };
    return { run, ...read.held, leftOut, ...read.begun, ...sealedBy };
  }
  throw new Unreadable("the archive does not hold what its last line says, or has none");
}

const sealOf = (of: Voucher, digest: string): SealedBy => ({ what: "export", voucher: of, digest });

type Line = z.output<typeof line>;

/** The lines between the first one and the last one, as they come. */
class Lines {
  readonly #marks: StateMark[] = [];
  readonly #messages: Message[] = [];
  readonly #commits: CommitRecord[] = [];
  readonly #calls: LedgerEntry[] = [];
  readonly #blobs = new Map<string, Json>();
  #state: State | null = null;

  get held(): Pick<Archive, "messages" | "commits" | "calls" | "blobs"> {
    return { messages: this.#messages, commits: this.#commits, calls: this.#calls, blobs: this.#blobs };
  }

  get begun(): Pick<Archive, "begun"> {
    return this.#state === null ? {} : { begun: { state: this.#state, marks: this.#marks } };
  }

  get counts(): Required<ArchiveCounts> {
    const { messages, commits, calls, blobs } = this.held;
    const counted = { messages: messages.length, commits: commits.length, calls: calls.length, blobs: blobs.size };
    return { ...counted, marks: this.#marks.length };
  }

  add(each: Exclude<Line, { readonly kind: "end" }>): void {
    if (each.kind === "message") this.#messages.push(each.message);
    if (each.kind === "commit") this.#commits.push(each.commit);
    if (each.kind === "call") this.#calls.push(each.call);
    if (each.kind === "blob") this.#blobs.set(each.sha256, each.json);
    if (each.kind === "mark") this.#marks.push(each.mark);
    if (each.kind === "begun") this.#state = wholeState(each.state, noSegment);
  }
}

function noSegment(): never {
  throw new Unreadable("the state that the run began with names a segment");
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
