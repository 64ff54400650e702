/** Calls of cairn's own MCP server: the agent of one store is a keyed tool of the agent of another one. */
import { expect, test } from "vitest";
import { type McpServerOptions } from "../../src/mcp-tools/index.ts";
import { runAgent } from "../../src/testing/kit/index.ts";
import { type ProtocolServer, protocolServer } from "../support/harness/protocol-server.ts";
import { waitForCount } from "../support/gate/safety.ts";
import { MAIN } from "../support/processes/program.ts";
import { OF_THE_TEST, callingAgent, serverOf } from "./desk.ts";

const NO_SECRETS = { get: (name: string) => Promise.reject(new Error(`no ${name}`)) };

const overHttp = ({ url }: ProtocolServer): McpServerOptions => ({
  ...{ name: "cairn", url: `${url}/mcp`, effects: { clerk: "keyed" } },
});

const overStdio = ({ url }: ProtocolServer): McpServerOptions => ({
  ...{ name: "cairn", command: process.execPath, args: [MAIN, "mcp", "--api", url] },
  effects: { clerk: "keyed" },
});

const callerOf = (options: McpServerOptions) =>
  callingAgent({
    ...{ source: serverOf(options), tools: ["cairn_clerk"], args: { plan: "look" } },
  });

test("a kill at each fault point of the caller starts one run on the other side", async () => {
  const { points } = await runAgent(callerOf(overHttp(await protocolServer())), OF_THE_TEST);
  const killed: string[] = [];
  for (const point of points) {
    // Each caller has the same run and key, so each needs a server that knows neither.
    const server = await protocolServer();
    const run = await runAgent(callerOf(overHttp(server)), { ...OF_THE_TEST, killAt: point });
    const calls = run.calls.map(({ effect, status }) => `${point}: ${effect} ${status}`);
    expect(calls).toEqual([`${point}: keyed succeeded`]);
    expect(await server.runs(), point).toHaveLength(1);
    killed.push(...run.killed);
  }
  expect(killed).toEqual(expect.arrayContaining(["before:effect:cairn_clerk#1", "after:effect:cairn_clerk#1"]));
  // A slow call is followed by a commit that a fast one does not need.
  expect(killed.length).toBeGreaterThan(15);
});

test.each([
  ["HTTP", overHttp],
  ["stdio", overStdio],
] as const)(
  "a call over %s that times out leaves its run alone, and the next attempt gets the result",
  async (_, optionsOf) => {
    const { promise: gate, resolve: open } = Promise.withResolvers<void>();
    const server = await protocolServer({ gate });
    const source = serverOf(optionsOf(server));
    const { cairn_clerk: clerk } = await source.list({ secrets: NO_SECRETS, mayBeOld: false, now: 0 });
    const attempt = (signal: AbortSignal): Promise<unknown> =>
      Promise.resolve(clerk?.run({ input: { plan: "look" }, key: "key-1", secrets: NO_SECRETS, signal } as never));
    const stop = new AbortController();
    const first = attempt(stop.signal);
    first.catch(() => undefined);
    await waitForCount("a run is started", 1, async () => (await server.runs()).length);
    stop.abort(new DOMException("too late", "TimeoutError"));
    await expect(first).rejects.toMatchObject({ name: "OutcomeUnknown" });
    const second = attempt(new AbortController().signal);
    open();
    expect(await second).toBe("did look: succeeded");
    expect(await server.runs()).toHaveLength(1);
  },
);
