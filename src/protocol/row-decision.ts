/**
 * A decision on the row of a run, as a world applies it: it reads the row, decides, and writes what came of it in one
 * atomic conditional write. All operations on an existing row are such decisions, in the files `row-*.ts`, except
 * messages and requests: these write their fields on any row that has not ended (ADR 0051).
 */
import type { Durable } from "../core/policy/durability.ts";
import { ensure } from "../core/ensure.ts";
import type { Row, RunRef } from "./row.ts";

/** The fields that messages and requests write, on a row that may change between a read and a write. */
export const CHANGING_FIELDS = ["wakeCount", "deadline", "cancel", "pause"] as const;
export type ChangingField = (typeof CHANGING_FIELDS)[number];

/** An outcome with another row writes it. An outcome with the same row, or without one, writes nothing. */
export interface DecisionOutcome {
  readonly kind: string;
  readonly row?: Row;
  /** The stored row is removed, and the world announces the removal. `row` is the removed one. */
  readonly removes?: true;
}

/**
 * Schedule 247: a beat decides to end its run, and a message is acknowledged before the end is written. The end changes
 * no field of that message, so a store that compares the rest of the row would write it. So a decision names the
 * changing fields that it read, and the store compares these as well.
 */
export interface RowDecision<Asked extends RunRef, Outcome extends DecisionOutcome> {
  /** What calls are named by: in records, faults and counts. */
  readonly name: string;
  /** Pure. It is made again if the row has changed before the write. */
  readonly decision: (row: Row, asked: Asked) => Outcome;
  /** The changing fields on which the decision depends; absent: none. */
  readonly reads?: (asked: Asked) => readonly ChangingField[];
  /** The changing fields that it replaces, whatever they are meanwhile; absent: none. It changes no other of them. */
  readonly replaces?: (asked: Asked) => readonly ChangingField[];
  /**
   * How long the write may take to survive a power loss, where a store can choose. `now`: until it returns, which is
   * the rule. `shared`: the same, and the wait may be shared with other runs. `later`: until the next write that waits.
   */
  readonly durable?: (asked: Asked) => Durable | "shared";
}

/** The row after a decision, if it writes one. Throws if the decision changed a changing field that it does not name. */
export function rowToWrite(
  before: Row,
  { row, removes }: DecisionOutcome,
  replaces: readonly ChangingField[],
): Row | null {
  if (row === undefined || row === before || removes === true) return null;
  const silent = CHANGING_FIELDS.find((field) => row[field] !== before[field] && !replaces.includes(field));
  ensure(silent === undefined, `a decision on ${before.run} changes ${silent ?? ""} without naming it`);
  return row;
}
