/**
 * The object keys of LangGraph's checkpoints. One prefix holds a thread, and below it a namespace, and below that a
 * checkpoint with its writes:
 *
 *   langgraph/THREAD/NAMESPACE/CHECKPOINT/c/REVISION
 *   langgraph/THREAD/NAMESPACE/CHECKPOINT/w/TASK/REVISION
 *
 * An object store lists its keys in ascending order. LangGraph asks for the newest checkpoint, and its IDs ascend with
 * time. So the ID is written with inverted bytes: the newest checkpoint comes first, and no pointer to it has to change.
 */
import { createHash } from "node:crypto";
import { CairnError } from "../client/errors.ts";

const ROOT = "langgraph/";

/** Objects of runs lie below `runs/`, so no task of cairn that removes runs meets these. */
export const prefixOfAll = (): string => ROOT;

/** S3 takes keys of 1,024 bytes; three names of this size and the rest fit in. */
const NAME_BYTES_MAX = 160;
/** LangGraph's own IDs have 36 bytes. An inverted ID takes two digits for each byte. */
const ID_BYTES_MAX = 128;
/** A name that a caller may give. The object records it in full. */
const TEXT_BYTES_MAX = 4_096;

export interface Namespace {
  readonly thread: string;
  readonly namespace: string;
}

export interface CheckpointRef extends Namespace {
  readonly id: string;
}

export const prefixOfThread = (thread: string): string => `${ROOT}${encoded("thread_id", thread)}/`;

export const prefixOfNamespace = ({ thread, namespace }: Namespace): string =>
  `${prefixOfThread(thread)}${encoded("checkpoint_ns", namespace)}/`;

export const prefixOfCheckpoint = (ref: CheckpointRef): string => `${prefixOfNamespace(ref)}${inverted(ref.id)}/`;

export const prefixOfWrites = (ref: CheckpointRef, task: string): string =>
  `${prefixOfCheckpoint(ref)}w/${encoded("task_id", task)}/`;

/** The parts of a key; null for a key of another format, which nothing of this folder reads or removes. */
export function partsOf(key: string) {
  const [, thread, namespace, inverse, kind, last] =
    /^langgraph\/([^/]+)\/([^/]+)\/([0-9a-f]+)z\/(c|w)\/((?:[^/]+\/)?\d+)$/.exec(key) ?? [];
  if (thread === undefined || namespace === undefined || inverse === undefined) return null;
  const prefix = `${ROOT}${thread}/${namespace}/${inverse}z/`;
  const threadPrefix = `${ROOT}${thread}/`;
  return { prefix, threadPrefix, id: restored(inverse), isCheckpoint: kind === "c", entry: `${kind}/${last}` };
}

/** Greater IDs come first. The `z` after the digits, greater than all of them, puts `ab` before `a`, too. */
const inverted = (id: string): string => `${inverse(bytesOf("checkpoint_id", id, ID_BYTES_MAX)).toString("hex")}z`;

const restored = (hex: string): string => inverse(Buffer.from(hex, "hex")).toString("utf8");

const inverse = (bytes: Uint8Array): Buffer => Buffer.from(bytes.map((byte) => 255 - byte));

/** A text in the characters that every object store takes; the digest of a long one. */
function encoded(name: string, text: string): string {
  const bytes = bytesOf(name, text, TEXT_BYTES_MAX);
  const escaped = [...bytes].map((byte) => SAFE[byte] ?? `%${byte.toString(16).padStart(2, "0")}`).join("");
  if (escaped.length <= NAME_BYTES_MAX) return `n-${escaped}`;
  return `d-${createHash("sha256").update(bytes).digest("hex")}`;
}

const SAFE: readonly (string | undefined)[] = Array.from({ length: 256 }, (_, byte) => {
  const character = String.fromCharCode(byte);
  return /[A-Za-z0-9_.-]/.test(character) ? character : undefined;
});

function bytesOf(name: string, text: unknown, max: number): Buffer {
  if (typeof text !== "string") throw refused(name, `it is ${text === null ? "null" : typeof text}, not a string`);
  // A lone surrogate has no UTF-8, so two different names would get one key.
  if (!text.isWellFormed()) throw refused(name, "it holds half of a surrogate pair");
  const bytes = Buffer.from(text, "utf8");
  if (bytes.length > max) throw refused(name, `it has ${bytes.length} bytes, ${max} are allowed`);
  if (bytes.length === 0 && name !== "checkpoint_ns") throw refused(name, "it is empty");
  return bytes;
}

const refused = (name: string, why: string): CairnError =>
  new CairnError(`the ${name} of a checkpoint is refused: ${why}; pass another one in "configurable"`, {
    code: "CheckpointNameInvalid",
    status: null,
    facts: { name },
  });
