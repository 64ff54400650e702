/**
 * Range checks for row fields that the checksum does not cover: values that no claim, delivery or commit can produce.
 * The checksum (`checksum.ts`) covers only what commits write; claims and deliveries change other fields.
 * Without these checks, one changed digit could park a run for a hundred years or make it look expired.
 */
import { hasEnded, type Row } from "../protocol/row.ts";

/** The first field whose value no write can have produced; null if every field is possible. */
export function impossibleIn(row: Row): keyof Row | null {
  const wrong = RULES.find(([, holds]) => !holds(row));
  return wrong === undefined ? null : wrong[0];
}

/** No time in a row lies further ahead of its last checkpoint: neither a planned wake-up nor clock skew explains it. */
const AHEAD_MS_MAX = 10 * 366 * 24 * 3_600_000;

const isTime = (time: number | null, { lastCheckpointAt }: Row): boolean =>
  time === null || (Number.isSafeInteger(time) && time >= 0 && time <= lastCheckpointAt + AHEAD_MS_MAX);

const TIMES = [
  "createdAt",
  "statusSince",
  "lastCheckpointAt",
  "effectsSettleAt",
  "leaseUntil",
  "wakeAt",
  "deadline",
] as const;

const RULES: readonly (readonly [keyof Row, (row: Row) => boolean])[] = [
  ...TIMES.map((name) => [name, (row: Row) => isTime(row[name], row)] as const),
  ["claimedAt", (row) => isTime(row.claimedAt ?? null, row)],
  ["expiresAtSec", (row) => isTime(row.expiresAtSec === null ? null : row.expiresAtSec * 1_000, row)],
  ["expiresAtSec", ({ expiresAtSec, endNotified }) => expiresAtSec === null || endNotified],
  ["endNotified", (row) => !row.endNotified || hasEnded(row)],
  ["leaseUntil", ({ owner, leaseUntil }) => (owner === null) === (leaseUntil === null)],
  ["owner", ({ owner, entry }) => owner === null || entry !== null],
  ["park", ({ park, owner, epoch }) => park === null || (owner === null && park.entry.epoch <= epoch)],
  // Each claim and each hand-over raises the epoch.
  ["epoch", ({ entry, epoch }) => entry === null || entry.epoch < epoch],
  ["chain", ({ chain, epoch }) => chain >= 1 && chain <= epoch + 1],
  ["chainClaims", ({ chainClaims, epoch }) => chainClaims <= epoch],
  ["claims", ({ claims, epoch }) => claims <= Math.max(1, epoch)],
  // Each dispatch after the first one raises the epoch.
  ["dispatch", ({ dispatch, epoch }) => dispatch === undefined || (dispatch > 1 && epoch > 0)],
  ["wakeCount", ({ wakeCount, wakeCountSeen }) => wakeCountSeen <= wakeCount],
];
