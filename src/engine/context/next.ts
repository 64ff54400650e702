/**
 * What follows a step. `on`: continue in this invocation. `release`: release the run, so that the chain starts the next
 * invocation.
 */
export type Next = "on" | "release";
