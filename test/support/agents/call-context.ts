/** What the engine gives a call of a tool, for tests that make one attempt by hand. */
import { NO_MEMORY } from "../../../src/chaos/plain-loop.ts";
import type { OfCall, ProbeContext, ToolContext } from "../../../src/ports/agent.ts";

export function callContext<Input>(
  of: Partial<ToolContext<Input> & OfCall & Pick<ProbeContext<Input>, "before">> & { readonly input: Input },
): ToolContext<Input> & OfCall & ProbeContext<Input> {
  return {
    run: "local-a",
    task: {},
    restart: 1,
    key: "act-c1-key",
    attempt: 1,
    epoch: 1,
    signal: new AbortController().signal,
    deadline: 0,
    traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    log: () => undefined,
    secrets: { get: async (name) => `value-of-${name}` },
    files: { list: () => [], read: async () => Promise.reject(new Error("no file")) },
    memory: NO_MEMORY,
    callback: async () => "/callbacks/none",
    of: { key: "act-c1-key", result: null },
    before: null,
    ...of,
  };
}
