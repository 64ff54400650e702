/**
 * The checksum of a row: a digest of the fields that only commits write. Each commit stores it in the row.
 * It detects damage: a flipped bit in a journal once changed the idempotency key of an open call without any error.
 * Fields that claims and deliveries change are not covered: in a rollout an older process changes them on DynamoDB
 * without making a new checksum.
 * `row-range.ts` checks the range of such fields instead.
 *
 * The fields and their order are part of the format. A field that is added later needs a checksum of its own.
 */
import { hash } from "node:crypto";
import { metersOf } from "../core/policy/budget.ts";
import { levelIn } from "../core/levels.ts";
import { FINGERPRINT } from "../protocol/fingerprint.ts";
import type { Commit, Row } from "../protocol/row.ts";
import { sha256Of } from "./growing-bytes.ts";

type Covered = Omit<Row, "checksum">;

/**
 * The fingerprint of the stored forms, the digest of the fields, and the digest of the journal if there is one: lists
 * read rows without their journals. The fingerprint is here since every reader of a row reads the checksum, and since a
 * condition of a write can compare its beginning.
 */
export const checksumOf = (row: Covered): string =>
  FINGERPRINT + digest(JSON.stringify(fieldsOf(row))) + (row.journal === null ? "" : digest(row.journal));

/** The commit with the checksum of the row that results when the commit is applied to `row`. */
export const checkedCommit = (row: Row, commit: Commit): Commit => ({
  ...commit,
  checksum: checksumOf({ ...row, ...commit, level: Math.max(levelIn(row), levelIn(commit)), version: row.version + 1 }),
});

/** Whether a cairn with these stored forms wrote the row; true if nothing is known. */
export const hasOwnForms = ({ checksum }: Pick<Row, "checksum">): boolean => checksum?.startsWith(FINGERPRINT) ?? true;

/** Whether the row matches the digests of its checksum; true if none was written. */
export function isAsWritten(row: Row): boolean {
  const { checksum, journal } = row;
  if (checksum === undefined) return true;
  const digests = checksum.slice(FINGERPRINT.length);
  const [fields, events] = [digests.slice(0, DIGEST_CHARACTERS), digests.slice(DIGEST_CHARACTERS)];
  if (fields !== digest(JSON.stringify(fieldsOf(row)))) return false;
  // A stored journal is never empty: zero bytes mean that the reader left the journal out.
  if (journal?.byteLength === 0) return true;
  return events === (journal === null ? "" : digest(journal));
}

const fieldsOf = (row: Covered): readonly unknown[] => [
  row.run,
  row.born,
  row.parent?.run ?? null,
  row.parent?.born ?? null,
  row.tenant,
  row.agent,
  row.agentVersion,
  row.createdAt,
  row.inputDigest,
  row.format,
  levelIn(row),
  row.version,
  row.commitId,
  row.snapshot.version,
  row.snapshot.key,
  row.snapshot.digest,
  metersOf(row.spent),
  row.phase,
  row.wakeCountSeen,
  row.lastCheckpointAt,
  row.marksAtClaim,
  row.wakeAt,
  row.storeOutage?.store ?? null,
  row.storeOutage?.since ?? null,
];

/** 64 bits: random damage practically never produces a matching digest. */
const DIGEST_BYTES = 8;
const DIGEST_CHARACTERS = 11;

const digest = (content: string | Uint8Array): string =>
  (typeof content === "string" ? hash("sha256", content, "buffer") : sha256Of(content))
    .subarray(0, DIGEST_BYTES)
    .toString("base64url");
