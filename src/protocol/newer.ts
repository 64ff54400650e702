/** The refusal of a row that a newer version of cairn wrote. Only that version may go on with it. */
import { levelIn } from "../core/levels.ts";

/** `why` says what this version lacks, as text for people. */
export interface Newer {
  readonly kind: "newer";
  readonly why: string;
  /**
   * The epoch of the row, and when the run last made something durable (epoch milliseconds); null for an unknown
   * format.
   */
  readonly at: { readonly epoch: number; readonly since: number } | null;
}

/** The refusal of a row whose format is above `known`. */
export const newerFormat = (format: number, known: number): Newer => ({
  kind: "newer",
  why: `it has format ${format}, and this version of cairn knows format ${known}`,
  at: null,
});

/** The refusal of a row whose level is above `known`. */
export const newerLevel = (
  row: { readonly level?: number; readonly epoch: number; readonly lastCheckpointAt: number },
  known: number,
): Newer => ({
  kind: "newer",
  why: `it has level ${levelIn(row)}, and this version of cairn knows level ${known}`,
  at: { epoch: row.epoch, since: row.lastCheckpointAt },
});
