/**
 * The outcomes of operations as a caller gets them, from the store and over HTTP. A row names leases, tokens and objects:
 * the caller gets the ID and the summary of the run instead.
 */
import type * as z from "zod";
import type { Row } from "../protocol/row.ts";
import type { Operation } from "./operation.ts";
import { type Summary, summaryOf } from "./summary.ts";
import type { OPERATIONS, OperationName } from "./table.ts";

/** What stands in place of a row. */
export interface OutcomeRun {
  readonly run: string;
  readonly summary: Summary;
}

export type CallerOutcome<Outcome> = Outcome extends { readonly row: unknown }
  ? Omit<Outcome, "row"> & OutcomeRun
  : Outcome;

/** Every outcome of the operation, as its caller gets it. */
export type OutcomeOf<N extends OperationName> =
  (typeof OPERATIONS)[N] extends Operation<infer _, infer Outcome, infer _Checked> ? CallerOutcome<Outcome> : never;

/** The input of the operation as its caller writes it. */
export type InputTo<N extends OperationName> =
  (typeof OPERATIONS)[N] extends Operation<infer Input, infer _, infer _Checked> ? z.input<Input> : never;

export function outcomeForCaller(
  outcome: { readonly kind: string; readonly row?: Row },
  at: Parameters<typeof summaryOf>[1],
): { readonly kind: string } & Partial<OutcomeRun> {
  const { row, ...rest } = outcome;
  return row === undefined ? rest : { ...rest, run: row.run, summary: summaryOf(row, at) };
}
