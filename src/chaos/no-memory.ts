/** The memory of a plain loop: it keeps nothing, so each source is fetched each time. */
import type { Memory } from "../ports/memory.ts";

export const NO_MEMORY: Memory = {
  put: async () => ({ kind: "refused", why: "a plain loop keeps nothing" }),
  get: async () => [],
  search: async () => [],
  forget: async () => ({ kind: "missing" }),
  fetch: async (source, ask) => {
    const answer = await ask(null);
    if (answer.kind === "unchanged") throw new Error(`${source} has no kept version, so it cannot be unchanged`);
    const { etag, content } = answer;
    return { source, content, etag, at: Date.now(), from: "source", isKept: false };
  },
};
