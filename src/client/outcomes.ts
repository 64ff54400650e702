/** The outcomes of operations as the API answers them. */
import type { OPERATIONS, OperationName } from "../operations/table.ts";
import type { SuccessOf } from "../operations/operation.ts";
import type { Summary } from "../operations/summary.ts";

/** What the API answers in place of a row, which names leases, tokens and objects. `run`: its ID, as a start answers it. */
export interface ToldRun {
  readonly run: string;
  readonly summary: Summary;
}

type Told<Outcome> = Outcome extends { readonly row: unknown } ? Omit<Outcome, "row"> & ToldRun : Outcome;

/** A success of the operation. */
export type AnswerTo<N extends OperationName> = Told<SuccessOf<(typeof OPERATIONS)[N]>>;
