/** What a row says of itself that a newer version of cairn wrote, and only that version goes on with. */
import { levelIn } from "../core/levels.ts";

/** `why` says what this version lacks. */
export interface Newer {
  readonly kind: "newer";
  readonly why: string;
  /** The epoch of the row, and when the run last made something durable; null where its format is not known. */
  readonly at: { readonly epoch: number; readonly since: number } | null;
}

export const newerFormat = (format: number, known: number): Newer => ({
  kind: "newer",
  why: `it has format ${format}, and this version of cairn knows format ${known}`,
  at: null,
});

export const newerLevel = (
  row: { readonly level?: number; readonly epoch: number; readonly lastCheckpointAt: number },
  known: number,
): Newer => ({
  kind: "newer",
  why: `it has level ${levelIn(row)}, and this version of cairn knows level ${known}`,
  at: { epoch: row.epoch, since: row.lastCheckpointAt },
});
