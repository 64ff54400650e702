/** The cursor of a reader with deltas, as text. A client in a browser loads this file, and nothing behind it. */
import type { DeltaPlace } from "../ports/delta-log.ts";

/** Where a reader is: the last commit that it has, and the last delta that it has of the step behind that commit. */
export interface LiveCursor {
  readonly version: number;
  readonly step: Pick<DeltaPlace, "epoch" | "seq"> | null;
}

export const CURSOR = /^\d{1,15}(?:\.\d{1,15}\.\d{1,15})?$/;

/** A text that is no cursor counts as the beginning. */
export function parseCursor(text: string): LiveCursor {
  const [version = 0, epoch, seq] = CURSOR.test(text) ? text.split(".").map(Number) : [];
  return { version, step: epoch === undefined || seq === undefined ? null : { epoch, seq } };
}

export const cursorText = ({ version, step }: LiveCursor): string =>
  step === null ? `${version}` : `${version}.${step.epoch}.${step.seq}`;
