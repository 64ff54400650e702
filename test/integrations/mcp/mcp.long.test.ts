/** MCP with the client of its SDK, over HTTP and over streams, in both of its eras. */
import { describe, expect, test } from "vitest";
import { protocolServer } from "../../support/harness/protocol-server.ts";
import { type Asked, type Form, call, overHttp, overStreams, textIn } from "./clients.ts";

describe.each([
  ["HTTP, 2026-07-28", overHttp, "modern"],
  ["HTTP, 2025-11-25", overHttp, "legacy"],
  ["streams, 2026-07-28", overStreams, "modern"],
  ["streams, 2025-11-25", overStreams, "legacy"],
] as const)("over %s", (_, open, era) => {
  test("lists each agent as a tool, with the schema of its task", async () => {
    const client = await open(await protocolServer(), { era });
    const { tools } = await client.listTools();
    expect(tools).toMatchObject([
      { name: "clerk", inputSchema: { type: "object", properties: { plan: { type: "string" } }, required: ["plan"] } },
    ]);
    expect(tools[0]?.description).toBe(
      "Does what the plan says. Starts a run of the agent clerk, and returns its result. It uses: look, send, ask.",
    );
  });

  test("returns the result of the run, and reports its progress", async () => {
    const server = await protocolServer();
    const client = await open(server, { era });
    const messages: (string | undefined)[] = [];
    const result = await client.callTool(call("look"), { onprogress: ({ message }) => messages.push(message) });
    expect(textIn(result)).toBe("did look: succeeded");
    expect(result.isError ?? false).toBe(false);
    expect(result["_meta"]).toMatchObject({
      "cairn-run/run": (await server.runs())[0],
      "cairn-run/status": "completed",
    });
    expect(messages).toEqual(expect.arrayContaining(["the run has started", "the model calls look"]));
  });

  test("takes the trace of its caller from a call", async () => {
    const server = await protocolServer();
    const client = await open(server, { era });
    const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    await client.callTool({ ...call("look"), _meta: { traceparent } });
    const [run = ""] = await server.runs();
    const row = await server.world.table.read(run, server.world.clock.now());
    expect(row?.brief?.trace).toBe(`link ${traceparent}`);
  });

  test("starts one run for two calls with the same key", async () => {
    const server = await protocolServer();
    const client = await open(server, { era });
    const results = [await client.callTool(call("look", "k1")), await client.callTool(call("look", "k1"))];
    expect(results.map(textIn)).toEqual(["did look: succeeded", "did look: succeeded"]);
    expect(await server.runs()).toHaveLength(1);
    expect(textIn(await client.callTool(call("send", "k1")))).toContain("KeyConflict");
  });

  test("starts a run with the labels of the call, or says what is wrong with them", async () => {
    const server = await protocolServer();
    const client = await open(server, { era });
    const labelled = (labels: unknown) => ({ ...call("look"), _meta: { "cairn-run/labels": labels } });
    expect(textIn(await client.callTool(labelled({ team: "ops" })))).toBe("did look: succeeded");
    const [run = ""] = await server.runs();
    expect(await server.world.table.read(run, Date.now())).toMatchObject({ brief: { labels: { team: "ops" } } });
    for (const [wrong, why] of [
      [{ Team: "ops" }, "is no name of a label"],
      ["team=ops", "RequestInvalid"],
    ] as const)
      expect(textIn(await client.callTool(labelled(wrong)))).toContain(why);
    expect(await server.runs()).toHaveLength(1);
  });

  test("says which agent there is not, and what is wrong with the arguments", async () => {
    const server = await protocolServer();
    const client = await open(server, { era });
    await expect(client.callTool({ name: "nobody", arguments: {} })).rejects.toThrow(/no agent nobody/);
    const refused = await client.callTool({ name: "clerk", arguments: { plan: 5 } });
    expect(refused.isError).toBe(true);
    expect(textIn(refused)).toMatch(/InputInvalid.*#\/input\/plan/);
    expect(await server.runs()).toHaveLength(0);
  });

  test("says that a run waits for a human, if the client cannot ask one", async () => {
    const server = await protocolServer();
    const client = await open(server, { era });
    const result = await client.callTool(call("send"));
    expect(result.isError).toBe(true);
    expect(textIn(result)).toContain((await server.runs())[0]);
    expect(server.sent).toEqual([]);
  });
});

// Without a connection that lasts, a server of the era before 2026 cannot ask its client.
describe.each([
  ["HTTP, 2026-07-28", overHttp, "modern"],
  ["streams, 2026-07-28", overStreams, "modern"],
  ["streams, 2025-11-25", overStreams, "legacy"],
] as const)("asks the client's human over %s", (_, open, era) => {
  test("to approve a call, and runs it once", async () => {
    const server = await protocolServer();
    const asked: Asked[] = [];
    const human = (each: Asked): Form => {
      asked.push(each);
      return { action: "accept", content: { decision: "approve", note: "fine" } };
    };
    const result = await (await open(server, { era, human })).callTool(call("send"));
    expect(textIn(result)).toBe("did send: succeeded");
    expect(asked).toMatchObject([{ properties: ["decision", "note"] }]);
    expect(asked[0]?.message).toContain('"to": "Ada"');
    expect(server.sent).toHaveLength(1);
  });

  test("and denies the call that the human declines", async () => {
    const server = await protocolServer();
    const human = (): Form => ({ action: "decline" });
    const result = await (await open(server, { era, human })).callTool(call("send"));
    expect(textIn(result)).toBe("did send: failed");
    expect(server.sent).toEqual([]);
  });

  test.each([
    ["send", "cancel", "approve"],
    ["ask", "cancel", "answer"],
    ["ask", "decline", "answer"],
  ] as const)(
    "once: to %s, where the form is left with %s, names the run and how to go on",
    async (plan, action, how) => {
      const server = await protocolServer();
      const asked: Asked[] = [];
      const human = (each: Asked): Form => {
        asked.push(each);
        return { action };
      };
      const result = await (await open(server, { era, human })).callTool(call(plan));
      const [run = ""] = await server.runs();
      expect(asked).toHaveLength(1);
      expect(result).toMatchObject({ isError: true, _meta: { "cairn-run/run": run } });
      expect(textIn(result)).toContain(`"npx cairn ${how} ${run}"`);
      expect(server.sent).toEqual([]);
    },
  );

  test("and answers a question of the agent with the fields of its form", async () => {
    const server = await protocolServer();
    const asked: Asked[] = [];
    const human = (each: Asked): Form => {
      asked.push(each);
      return { action: "accept", content: { colour: "blue" } };
    };
    const result = await (await open(server, { era, human })).callTool(call("ask"));
    expect(textIn(result)).toBe("did ask: succeeded");
    expect(asked).toEqual([{ message: "Which colour?", properties: ["colour"] }]);
  });
});

describe("cancellation", () => {
  test("cancels the run when the client cancels its call over streams", async () => {
    const server = await protocolServer({ gate: new Promise(() => undefined) });
    const client = await overStreams(server);
    const abort = new AbortController();
    const calling = client.callTool(call("look"), { signal: abort.signal });
    calling.catch(() => undefined);
    await expect.poll(() => server.runs()).toHaveLength(1);
    abort.abort("the user stopped");
    await expect(calling).rejects.toThrow("the user stopped");
    const [run = ""] = await server.runs();
    await expect.poll(() => server.world.table.read(run, Date.now())).toMatchObject({ cancel: true });
  });

  test.each([
    ["HTTP", overHttp],
    ["streams", overStreams],
  ] as const)("leaves the run alone when a connection over %s is lost", async (_, open) => {
    const { promise: gate, resolve } = Promise.withResolvers<void>();
    const server = await protocolServer({ gate });
    const client = await open(server);
    const calling = client.callTool(call("look", "k1"));
    calling.catch(() => undefined);
    await expect.poll(() => server.runs()).toHaveLength(1);
    await client.close();
    await expect(calling).rejects.toThrow("Connection closed");
    resolve();
    const again = await open(server);
    expect(textIn(await again.callTool(call("look", "k1")))).toBe("did look: succeeded");
    expect(await server.runs()).toHaveLength(1);
  });
});
