/**
 * Every operation that a surface offers, by its name. The command line performs its commands through these rows, and the
 * HTTP API has a route for each row with `http`, in this order.
 *
 * A new operation is one row here, its command in `cli/commands` with a line in `cli/program.ts`, and a renderer.
 */
import { LOOKING } from "./looking.ts";
import type { AnyOperation } from "./operation.ts";
import { SAYING } from "./saying.ts";
import { STARTING, STEERING } from "./steering.ts";

export const OPERATIONS = { ...STARTING, ...LOOKING, ...SAYING, ...STEERING } as const;

export type OperationName = keyof typeof OPERATIONS;

/** The same for a surface that treats all rows alike. */
export const ROWS: Readonly<Record<OperationName, AnyOperation>> = { ...OPERATIONS };
