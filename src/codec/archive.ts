/**
 * The codec of run archives: one self-contained object with everything that happened in a run. It is JSON lines,
 * gzipped in members of about a megabyte. Readers see one gzip file; the writer holds one member at a time, because a
 * transcript that fits into a process once may not fit twice.
 *
 * An exported run is an archive with more lines. It adds the initial state and a mark of each snapshot, so that
 * `replay` can fold the events again and compare. It also adds the digest of its lines, since no store protects an
 * exported file.
 *
 * The first line says which run it is and how it ended; the last line counts the lines of each kind. So a truncated
 * file is unreadable instead of silently shorter. The bytes depend only on committed data: every writer writes the same
 * file.
 */
import * as z from "zod";
import type { Spent } from "../core/policy/budget.ts";
import type { Effect } from "../core/calls/effects.ts";
import type { CommitRecord, Failure } from "../core/event.ts";
import type { Json } from "../core/json.ts";
import type { Message, Value } from "../core/message.ts";
import type { RunRetention } from "../core/policy/retention.ts";
import type { OutsideWork } from "../core/outside.ts";
import { PHASE_NAMES, PHASES, type Phase, type Status } from "../core/phases.ts";
import type { State } from "../core/state.ts";
import { FINGERPRINT } from "../protocol/fingerprint.ts";
import { BEFORE_RELEASE, OTHER_SCHEMAS } from "../protocol/foreign.ts";
import type { Voucher } from "../protocol/voucher.ts";
import { linesOf } from "./archive-bytes.ts";
import { Unreadable, canonical } from "./canonical.ts";
import { type StateMark, stateMark } from "./mark.ts";
import { commitRecord, effect, failure, phase } from "./schema/event.ts";
import { retention, storedState } from "./schema/state.ts";
import { message, sha, value } from "./schema/message.ts";
import { outsideWork } from "./schema/outside.ts";
import { wholeState } from "./snapshot.ts";
import { type SealedBy, voucher } from "./voucher.ts";
import { spent } from "./schema/budget.ts";

/** The format of archives has its own number, because an archive outlives the rows and snapshots of its run. */
const ARCHIVE_FORMAT = 2;

/** One tool call that a model requested, and its outcome. */
export interface LedgerEntry {
  readonly call: string;
  readonly tool: string;
  readonly effect: Effect | null;
  readonly key: string | null;
  /** The call whose effect this call undoes. */
  readonly undoes?: string;
  /** The key is a business key of the agent; absent: the key is derived from the intent. */
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
  /** How often the call was released to run. */
  readonly attempts: number;
  readonly externalId: string | null;
  readonly evidence: string;
  readonly intendedAt: number | null;
  /** When it was first released, after any decision of a human; absent before. */
  readonly releasedAt?: number;
  readonly settledAt: number | null;
  /** What its run, restored from a backup, did before its first attempt. Absent: nothing, or it was not restored. */
  readonly restored?: { readonly at: number; readonly first: "question" | "probe" | "newKey" };
  /** What child runs did outside for this call; absent: nothing, or it is no hand-off. */
  readonly outside?: OutsideWork;
}

/** The run that the archive describes and how it ended. An export may describe a run that has not ended. */
export interface ArchivedRun {
  readonly run: string;
  readonly born: string;
  readonly parent: { readonly run: string; readonly born: string } | null;
  readonly tenant: string;
  readonly agent: string;
  readonly agentVersion: string;
  readonly createdAt: number;
  readonly startedAt: number | null;
  /** Who started the run; absent if that was not recorded. */
  readonly startedBy?: string;
  readonly endedAt: number | null;
  readonly status: Status;
  /** Only in exports. */
  readonly phase?: Phase;
  readonly task: Value;
  readonly result: Value | null;
  readonly failure: Failure | null;
  readonly attempt: number;
  readonly takeovers: number;
  readonly version: number;
  readonly epoch: number;
  readonly spent: Spent;
  /** Null: the default of the deployment applies. */
  readonly retention: RunRetention | null;
}

/** What an export contains in addition to an archive: the initial state, and marks to compare a replay with. */
export interface ExportedStart {
  readonly state: State;
  /** The marks of all snapshots, in order. */
  readonly marks: readonly StateMark[];
}

/** The digests of blobs that exceeded the archive's limits. Their heads and tails are in the transcript. */
interface LeftOut {
  readonly blobs: readonly string[];
  /** Absent: none. */
  readonly files?: readonly string[];
}

export interface Archive {
  readonly run: ArchivedRun;
  readonly messages: readonly Message[];
  readonly commits: readonly CommitRecord[];
  readonly calls: readonly LedgerEntry[];
  /** Large values by digest. */
  readonly blobs: ReadonlyMap<string, Json>;
  /** The bytes of files by digest. */
  readonly files: ReadonlyMap<string, Uint8Array>;
  readonly leftOut: LeftOut;
  /** Only in exports. */
  readonly begun?: ExportedStart;
  /** The keyed seal of the process that exported the run; absent: the file has none. */
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
  releasedAt: count.exactOptional(),
  settledAt: count.nullable(),
  restored: z.object({ at: count, first: z.enum(["question", "probe", "newKey"]) }).exactOptional(),
  outside: outsideWork.exactOptional(),
});

export const head = z.object({
  kind: z.literal("run"),
  format: z.literal(ARCHIVE_FORMAT),
  forms: z.string(),
  run: archivedRun,
});
const counts = z.object({
  messages: count,
  commits: count,
  calls: count,
  blobs: count,
  marks: count.exactOptional(),
  files: count.exactOptional(),
});

export const line = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("message"), message }),
  z.object({ kind: z.literal("commit"), commit: commitRecord }),
  z.object({ kind: z.literal("call"), call: ledgerEntry }),
  z.object({ kind: z.literal("blob"), sha256: sha, json: z.custom<Json>((json) => json !== undefined) }),
  z.object({ kind: z.literal("file"), file: sha, base64: z.string() }),
  z.object({ kind: z.literal("begun"), state: storedState }),
  z.object({ kind: z.literal("mark"), mark: stateMark }),
  z.object({
    kind: z.literal("end"),
    counts,
    leftOut: z.object({ blobs: z.array(sha), files: z.array(sha).exactOptional() }),
    digest: sha.exactOptional(),
    voucher: voucher.exactOptional(),
  }),
]);

/** The number of lines of each kind. Only exports have marks, and only runs with files have files. */
export type ArchiveCounts = z.output<typeof counts>;

export const headLine = (run: ArchivedRun): string =>
  canonical({ kind: "run", format: ARCHIVE_FORMAT, forms: FINGERPRINT, run });
export const messageLine = (message: Message): string => canonical({ kind: "message", message });
export const commitLine = (commit: CommitRecord): string => canonical({ kind: "commit", commit });
export const callLine = (call: LedgerEntry): string => canonical({ kind: "call", call });
/** `proof` is for exports; its `digest` covers all lines before this one. */
export const endLine = (
  counts: ArchiveCounts,
  leftOut: LeftOut,
  proof?: { readonly digest: string; readonly voucher: Voucher | null },
): string => {
  const { digest, voucher: seal = null } = proof ?? {};
  return canonical({
    kind: "end",
    counts,
    leftOut,
    ...(digest !== undefined && { digest }),
    ...(seal !== null && { voucher: seal }),
  });
};

/**
 * Reads an archive. Throws `Unreadable` when the bytes are not an archive, are truncated, or have an unknown format.
 */
export function readArchive(bytes: Uint8Array): Archive {
  const texts = linesOf(bytes);
  const first = texts.next();
  if (first.done === true) throw new Unreadable("the archive is empty");
  const run = runOf(first.value.raw);
  const read = new Lines();
  for (const { raw, digest } of texts) {
    const found = line.safeParse(raw);
    if (!found.success) throw new Unreadable(`a line of the archive is invalid: ${z.prettifyError(found.error)}`);
    const each = found.data;
    if (each.kind !== "end") {
      read.add(each);
      continue;
    }
    const { counts: said, leftOut } = each;
    const { marks = 0, files = 0, ...ofArchive } = said;
    if (canonical({ marks, files, ...ofArchive }) !== canonical(read.counts) || texts.next().done !== true) break;
    if (each.digest !== undefined && each.digest !== digest()) {
      throw new Unreadable("the lines of the archive do not match the digest in its last line", "DigestMismatch");
    }
    const sealedBy = each.voucher === undefined ? {} : { sealedBy: sealOf(each.voucher, digest()) };
    return { run, ...read.held, leftOut, ...read.begun, ...sealedBy };
  }
  throw new Unreadable("the archive is incomplete: it does not hold what its last line says, or has no last line");
}

const sealOf = (voucher: Voucher, digest: string): SealedBy => ({ what: "export", voucher, digest });

type Line = z.output<typeof line>;

/** Collects the lines between the first and the last one. */
class Lines {
  readonly #marks: StateMark[] = [];
  readonly #messages: Message[] = [];
  readonly #commits: CommitRecord[] = [];
  readonly #calls: LedgerEntry[] = [];
  readonly #blobs = new Map<string, Json>();
  readonly #files = new Map<string, Uint8Array>();
  #state: State | null = null;

  get held(): Pick<Archive, "messages" | "commits" | "calls" | "blobs" | "files"> {
    return {
      messages: this.#messages,
      commits: this.#commits,
      calls: this.#calls,
      blobs: this.#blobs,
      files: this.#files,
    };
  }

  get begun(): Pick<Archive, "begun"> {
    return this.#state === null ? {} : { begun: { state: this.#state, marks: this.#marks } };
  }

  get counts(): Required<ArchiveCounts> {
    const { messages, commits, calls, blobs, files } = this.held;
    const counted = { messages: messages.length, commits: commits.length, calls: calls.length, blobs: blobs.size };
    return { ...counted, marks: this.#marks.length, files: files.size };
  }

  add(each: Exclude<Line, { readonly kind: "end" }>): void {
    if (each.kind === "message") this.#messages.push(each.message);
    if (each.kind === "commit") this.#commits.push(each.commit);
    if (each.kind === "call") this.#calls.push(each.call);
    if (each.kind === "blob") this.#blobs.set(each.sha256, each.json);
    if (each.kind === "file") this.#files.set(each.file, Buffer.from(each.base64, "base64"));
    if (each.kind === "mark") this.#marks.push(each.mark);
    if (each.kind === "begun") this.#state = wholeState(each.state, noSegment);
  }
}

function noSegment(): never {
  throw new Unreadable("the initial state in the archive references a segment, which an archive cannot contain");
}

function runOf(first: unknown): ArchivedRun {
  const { format, forms } = (first ?? {}) as { readonly format?: unknown; readonly forms?: unknown };
  if (typeof format === "number" && format < ARCHIVE_FORMAT) {
    throw new Unreadable(`the archive ${BEFORE_RELEASE.says}`, BEFORE_RELEASE.code);
  }
  if (typeof format === "number" && format > ARCHIVE_FORMAT) {
    const reads = `this cairn reads format ${ARCHIVE_FORMAT}: use a newer one`;
    throw new Unreadable(`the archive has format ${format}, ${reads}`, "UnknownFormat");
  }
  if (format === ARCHIVE_FORMAT && forms !== FINGERPRINT) {
    throw new Unreadable(`the archive ${OTHER_SCHEMAS.says}`, OTHER_SCHEMAS.code);
  }
  const found = head.safeParse(first);
  if (!found.success) throw new Unreadable(`the first line of the archive is invalid: ${z.prettifyError(found.error)}`);
  return found.data.run;
}
