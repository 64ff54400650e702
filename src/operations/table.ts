/**
 * The operation table: every operation of the CLI and the HTTP API, by name. The CLI runs its commands through these
 * rows. The HTTP API has a route for each row with `http`, in this order.
 *
 * A new operation is one row in `looking.ts`, `saying.ts`, `steering.ts`, `scheduling.ts` or `remembering.ts` with a text in
 * `help.ts`, and its command in `cli/commands` with a line in `cli/program.ts`.
 */
import { ACCESS_ROWS } from "./access/rows.ts";
import { READ_ROWS } from "./looking.ts";
import type { AnyOperation } from "./operation.ts";
import { MEMORY_ROWS } from "./remembering.ts";
import { MESSAGE_ROWS } from "./saying.ts";
import { SCHEDULE_ROWS } from "./scheduling.ts";
import { START_ROWS, STEERING_ROWS } from "./steering.ts";

/** The operation table. */
export const OPERATIONS = {
  ...{ ...START_ROWS, ...READ_ROWS, ...MESSAGE_ROWS },
  ...{ ...STEERING_ROWS, ...SCHEDULE_ROWS, ...MEMORY_ROWS, ...ACCESS_ROWS },
} as const;

export type OperationName = keyof typeof OPERATIONS;

/** The same table with a uniform type, for code that treats all rows alike. */
export const ROWS: Readonly<Record<OperationName, AnyOperation>> = { ...OPERATIONS };
