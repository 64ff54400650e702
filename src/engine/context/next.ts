/** What a step leads to: go on in this invocation, or release the run and let the chain begin the next one. */
export type Next = "on" | "release";
