/**
 * What follows a step. `continue`: go on in this invocation. `release`: release the run, so that the chain starts the
 * next invocation.
 */
export type Next = "continue" | "release";
