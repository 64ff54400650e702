/**
 * The operation table: every operation of the CLI and the HTTP API, by name. The CLI runs its commands through these
 * rows. The HTTP API has a route for each row with `http`, in this order.
 *
 * A new operation is one row in `looking.ts`, `saying.ts` or `steering.ts`, and its command in `cli/commands` with a line
 * in `cli/program.ts`.
 */
import { LOOKING } from "./looking.ts";
import type { AnyOperation } from "./operation.ts";
import { SAYING } from "./saying.ts";
import { STARTING, STEERING } from "./steering.ts";

/** The operation table. */
export const OPERATIONS = { ...STARTING, ...LOOKING, ...SAYING, ...STEERING } as const;

export type OperationName = keyof typeof OPERATIONS;

/** The same table with a uniform type, for code that treats all rows alike. */
export const ROWS: Readonly<Record<OperationName, AnyOperation>> = { ...OPERATIONS };
