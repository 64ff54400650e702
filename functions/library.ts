/** What agents import as `cairn-run` in a function: the same modules as those of the engine beside them. */
export * from "../src/index.ts";
