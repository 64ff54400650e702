/** The outcomes of operations as the API answers them. */
import type { OPERATIONS, OperationName } from "../operations/table.ts";
import type { SuccessOf } from "../operations/operation.ts";
import type { CallerOutcome } from "../operations/caller-outcome.ts";

/** A success of the operation. */
export type AnswerTo<N extends OperationName> = CallerOutcome<SuccessOf<(typeof OPERATIONS)[N]>>;
