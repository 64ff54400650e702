/**
 * The bytes of a stored object: a header, and after it the values as LangGraph's serde wrote them. They are not
 * interpreted. A checksum finds changed bits, which the serde could turn into another value without an error.
 *
 *   4 bytes: length of the header · header (JSON) · values, one after the other
 */
import { createHash } from "node:crypto";
import * as z from "zod";
import { CairnError } from "../client/errors.ts";
import { BEFORE_RELEASE } from "../protocol/foreign.ts";

const FORMAT = 2;
/** One checkpoint with all its values. It has to fit into the memory of the reader several times. */
export const OBJECT_BYTES_MAX = 64 * 1024 * 1024;

/** A value as `dumpsTyped` of the serde wrote it. */
export interface TypedValue {
  readonly type: string;
  readonly bytes: Uint8Array;
}

export const headers = {
  checkpoint: z.strictObject({
    kind: z.literal("checkpoint"),
    thread: z.string(),
    namespace: z.string(),
    id: z.string(),
    parent: z.string().nullable(),
  }),
  writes: z.strictObject({
    kind: z.literal("writes"),
    task: z.string(),
    path: z.string(),
    /** `index` is negative for the channels that LangGraph may write again. */
    writes: z.array(z.strictObject({ channel: z.string(), index: z.int() })),
  }),
};

export type Header = z.output<(typeof headers)["checkpoint"]> | z.output<(typeof headers)["writes"]>;
type Kind = Header["kind"];

export const envelope = z.strictObject({
  format: z.literal(FORMAT),
  sum: z.string(),
  values: z.array(z.strictObject({ type: z.string(), bytes: z.int().nonnegative() })),
  header: z.unknown(),
});

export function encodeRecord(header: Header, values: readonly TypedValue[]): Uint8Array {
  const payload = Buffer.concat(values.map(({ bytes }) => bytes));
  const listed = values.map(({ type, bytes }) => ({ type, bytes: bytes.length }));
  const sum = sumOf(JSON.stringify([header, listed]), payload);
  const head = Buffer.from(JSON.stringify({ format: FORMAT, sum, values: listed, header }), "utf8");
  const length = Buffer.alloc(4);
  length.writeUInt32BE(head.length);
  const bytes = Buffer.concat([length, head, payload]);
  if (bytes.length <= OBJECT_BYTES_MAX) return bytes;
  throw new CairnError(
    `a ${header.kind} record of ${bytes.length} bytes is refused: ${OBJECT_BYTES_MAX} are allowed; ` +
      "keep large values outside of the graph's state, and put their names into it",
    { code: "CheckpointTooLarge", status: null, facts: { bytes: bytes.length, bytesMax: OBJECT_BYTES_MAX } },
  );
}

/** Throws `CheckpointDamaged` if the bytes are not as they were written, and `BeforeFirstRelease`. */
export function decodeRecord<K extends Kind>(
  kind: K,
  stored: { readonly key: string; readonly bytes: Uint8Array },
): { readonly header: Extract<Header, { readonly kind: K }>; readonly values: readonly TypedValue[] } {
  const bytes = Buffer.from(stored.bytes.buffer, stored.bytes.byteOffset, stored.bytes.byteLength);
  const start = bytes.length < 4 ? 0 : 4 + bytes.readUInt32BE(0);
  if (start === 0 || start > bytes.length) throw damaged(stored.key, "it ends before its header does");
  const raw = jsonIn(bytes.toString("utf8", 4, start));
  if (formatIn(raw) < FORMAT) throw beforeRelease(stored.key);
  const parsed = envelope.safeParse(raw);
  if (!parsed.success) throw damaged(stored.key, "its header has another format");
  const { header: said, values: listed, sum } = parsed.data;
  const payload = bytes.subarray(start);
  if (sum !== sumOf(JSON.stringify([said, listed]), payload)) throw damaged(stored.key, "its checksum does not match");
  const header = headers[kind].safeParse(said);
  if (!header.success) throw damaged(stored.key, `it is no ${kind} record`);
  let at = 0;
  const values = listed.map(({ type, bytes: length }) => {
    at += length;
    return { type, bytes: payload.subarray(at - length, at) };
  });
  if (at !== payload.length) throw damaged(stored.key, "its values have another length");
  return { header: header.data as Extract<Header, { readonly kind: K }>, values };
}

/** Finds changed bits, and no forgery. */
const sumOf = (header: string, payload: Uint8Array): string =>
  createHash("sha256").update(header).update(payload).digest("hex").slice(0, 16);

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** The format that a header names; of none, that of this code. */
function formatIn(header: unknown): number {
  const { format } = (header ?? {}) as { readonly format?: unknown };
  return typeof format === "number" ? format : FORMAT;
}

const beforeRelease = (key: string): CairnError =>
  new CairnError(`the object ${key} ${BEFORE_RELEASE.says}`, {
    code: BEFORE_RELEASE.code,
    status: null,
    facts: { key },
  });

const damaged = (key: string, why: string): CairnError =>
  new CairnError(
    `the object ${key} is damaged: ${why}; restore it from a backup, or delete its thread with deleteThread()`,
    { code: "CheckpointDamaged", status: null, facts: { key } },
  );
