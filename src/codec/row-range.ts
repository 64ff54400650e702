/**
 * What cannot be in a row that only claims, deliveries and commits ever changed. It stands beside the checksum
 * (`checksum.ts`) for the fields that expressions change: a changed digit must not make a run wait for a hundred years, or
 * be taken for one whose time is over.
 */
import { hasEnded, type Row } from "../protocol/row.ts";

/** The first field whose value no write could have left; null where there is none. */
export function impossibleIn(row: Row): keyof Row | null {
  const wrong = RULES.find(([, holds]) => !holds(row));
  return wrong === undefined ? null : wrong[0];
}

/** Nothing of a run is planned further ahead of its last checkpoint, and no clock is that far ahead of another. */
const AHEAD_MS_MAX = 10 * 366 * 24 * 3_600_000;

const isTime = (time: number | null, { lastCheckpointAt }: Row): boolean =>
  time === null || (Number.isSafeInteger(time) && time >= 0 && time <= lastCheckpointAt + AHEAD_MS_MAX);

const TIMES = [
  "createdAt",
  "statusSince",
  "lastCheckpointAt",
  "quietUntil",
  "leaseUntil",
  "wakeAt",
  "deadline",
] as const;

const RULES: readonly (readonly [keyof Row, (row: Row) => boolean])[] = [
  ...TIMES.map((name) => [name, (row: Row) => isTime(row[name], row)] as const),
  ["expiresAtSec", (row) => isTime(row.expiresAtSec === null ? null : row.expiresAtSec * 1_000, row)],
  ["expiresAtSec", ({ expiresAtSec, told }) => expiresAtSec === null || told],
  ["told", (row) => !row.told || hasEnded(row)],
  ["leaseUntil", ({ owner, leaseUntil }) => (owner === null) === (leaseUntil === null)],
  ["owner", ({ owner, entry }) => owner === null || entry !== null],
  ["park", ({ park, owner, epoch }) => park === null || (owner === null && park.entry.epoch <= epoch)],
  // A claim and a hand-over each raise the epoch.
  ["epoch", ({ entry, epoch }) => entry === null || entry.epoch < epoch],
  ["chain", ({ chain, epoch }) => chain >= 1 && chain <= epoch + 1],
  ["chainClaims", ({ chainClaims, epoch }) => chainClaims <= epoch],
  ["claims", ({ claims, epoch }) => claims <= Math.max(1, epoch)],
  ["stirs", ({ stirs, stirsSeen }) => stirsSeen <= stirs],
];
