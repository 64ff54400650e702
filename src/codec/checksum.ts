/**
 * The checksum of a row: a digest of what only commits write, which each of them stores beside it. A changed bit in a
 * journal once changed the idempotency key of an open call, and nothing noticed. What claims and deliveries change by
 * expression is not covered, since they do not know the rest of the row; `row-range.ts` checks that it is possible.
 *
 * The fields and their order are a part of the format. A field that is added later is covered by a checksum of its own.
 */
import { createHash } from "node:crypto";
import { metersOf } from "../core/policy/budget.ts";
import { levelIn } from "../core/levels.ts";
import type { Commit, Row } from "../protocol/row.ts";

type Covered = Omit<Row, "checksum">;

/** Of the fields; and of the journal behind it, where there is one: lists are read without journals. */
export const checksumOf = (row: Covered): string =>
  digest(JSON.stringify(fieldsOf(row))) + (row.journal === null ? "" : digest(row.journal));

/** With the checksum of the row that it makes of that one. */
export const checkedCommit = (row: Row, commit: Commit): Commit => ({
  ...commit,
  checksum: checksumOf({ ...row, ...commit, level: Math.max(levelIn(row), levelIn(commit)), version: row.version + 1 }),
});

/** Whether the row is as it was written. One without a checksum was written before there were any. */
export function isAsWritten(row: Row): boolean {
  const { checksum, journal } = row;
  if (checksum === undefined) return true;
  const [fields, events] = [checksum.slice(0, DIGEST_CHARACTERS), checksum.slice(DIGEST_CHARACTERS)];
  if (fields !== digest(JSON.stringify(fieldsOf(row)))) return false;
  // No journal is empty: these are the bytes of one that was not read.
  if (journal?.byteLength === 0) return true;
  return events === (journal === null ? "" : digest(journal));
}

const fieldsOf = (row: Covered): readonly unknown[] => [
  ...[row.run, row.born, row.parent?.run ?? null, row.parent?.born ?? null, row.tenant, row.agent, row.agentVersion],
  ...[row.createdAt, row.inputDigest, row.format, levelIn(row), row.version, row.commitId],
  ...[row.snapshot.version, row.snapshot.key, row.snapshot.digest, metersOf(row.spent), row.phase],
  ...[row.stirsSeen, row.lastCheckpointAt, row.will, row.wakeAt],
  ...[row.storeOutage?.store ?? null, row.storeOutage?.since ?? null],
];

/** 64 bits: chance alone does not make one that fits. */
const DIGEST_BYTES = 8;
const DIGEST_CHARACTERS = 11;

const digest = (content: string | Uint8Array): string =>
  createHash("sha256").update(content).digest().subarray(0, DIGEST_BYTES).toString("base64url");
