/** The list of an MCP server: which tools an agent gets of it, and what becomes of tools that change or vanish. */
import { describe, expect, test } from "vitest";
import { waitUntil } from "../support/gate/safety.ts";
import { z } from "zod";
import { audit } from "../../src/doctor/audit.ts";
import { withListedTools } from "../../src/doctor/listed-tools.ts";
import { withReleasedTools } from "../../src/engine/context/agent-sources.ts";
import { defineAgent, tool } from "../../src/index.ts";
import { mcpServer } from "../../src/mcp-tools/index.ts";
import { listedTools } from "../../src/mcp-tools/listed-tools.ts";
import type { OpenCall } from "../../src/core/state.ts";
import { AgentInvalid } from "../../src/ports/agent-invalid.ts";
import type { Agent, ToolSource } from "../../src/ports/agent.ts";
import { limitsFor } from "../../src/protocol/limits.ts";
import { checkAgent } from "../../src/sdk/check.ts";
import { runAgent } from "../../src/testing/kit/index.ts";
import { callingAgent, openDesk, patiently, serverOf, startedServerOf } from "./desk.ts";

const OF_RUNS = limitsFor(60_000);
const NO_SECRETS = { get: (name: string) => Promise.reject(new Error(`no ${name}`)) };
const listOf = (source: ToolSource, now = 0) => source.list({ secrets: NO_SECRETS, mayBeOld: false, now });

describe("the effect class of a tool", () => {
  test("is none only for a tool that says that it reads, whatever else the hints say", async () => {
    const tools = await listOf(serverOf(openDesk().options));
    const classes = Object.entries(tools).map(([name, { effect }]) => [name, effect]);
    expect(classes).toEqual([
      ["desk_look", "none"],
      ["desk_post", "unsafe"],
      ["desk_drop", "unsafe"],
    ]);
  });

  test("is what the user declares", async () => {
    const source = serverOf({ ...openDesk().options, effects: { look: "unsafe", post: "keyed" }, prefix: "" });
    const tools = await listOf(source);
    expect([tools["look"]?.effect, tools["post"]?.effect, tools["drop"]?.effect]).toEqual([
      "unsafe",
      "keyed",
      "unsafe",
    ]);
    expect({ retry: tools["look"]?.retry, attempts: tools["post"]?.retry?.attempts }).toEqual({
      retry: null,
      attempts: 3,
    });
  });
});

describe("the options of a tool", () => {
  test("may declare an expected loop by the name that the server gives the tool", async () => {
    const source = serverOf({ ...openDesk().options, loops: { look: "ignore" } });
    const tools = await listOf(source);
    expect(Object.entries(tools).map(([name, { loops }]) => ({ name, loops }))).toEqual([
      { name: "desk_look", loops: "ignore" },
      { name: "desk_post", loops: undefined },
      { name: "desk_drop", loops: undefined },
    ]);
    const wrong = { ...openDesk().options, loops: { look: "stop" } } as never;
    expect(() => serverOf(wrong)).toThrow(/an mcpServer is wrong: loops\.look: write "ignore"/);
  });

  test("of a name that every object has are those that are declared", async () => {
    const server = { label: "a server", prefix: "", approval: {}, loops: {}, effects: {}, connection: {} } as never;
    const listed = await listedTools(server, [{ name: "constructor", inputSchema: { type: "object" } }], null);
    const made = listed.tools["constructor"];
    expect(made).toMatchObject({ effect: "unsafe", approval: "never" });
    expect(made?.loops).toBeUndefined();
  });

  test("let an expected loop go on, and stop any other one", async () => {
    const polls = Array.from({ length: 12 }, () => "desk_look");
    const statusOf = async (loops: object): Promise<string> => {
      const source = await startedServerOf({ ...openDesk().options, ...loops, only: ["look"] });
      return (await patiently(() => runAgent(callingAgent({ source, tools: polls }), { input: {} }))).status;
    };
    expect(await statusOf({})).toBe("failed");
    expect(await statusOf({ loops: { look: "ignore" } })).toBe("completed");
  });
});

describe("the audit", () => {
  test("says what the hints would allow", async () => {
    const agent = callingAgent({ source: serverOf(openDesk().options), tools: [] });
    const listed = await withListedTools(agent, NO_SECRETS);
    const { tools, missing } = audit(listed.agent, OF_RUNS, listed.missing);
    expect(tools.map(({ tool, effect }) => `${tool} ${effect}`)).toContain("desk_post unsafe");
    expect(missing.find(({ what }) => what === "hints")?.why).toBe(
      "MCP server desk says that post is idempotent: if a repetition writes the same value, " +
        'write effects: { "post": "idempotent" }; if it deduplicates by the key in _meta, "keyed"; MCP server desk says that drop may destroy something: ' +
        'write approval: { "drop": "always" }',
    );
  });

  test("says what to write about tools of servers, whose options are those of mcpServer", async () => {
    const agent = callingAgent({ source: serverOf(openDesk().options), tools: [] });
    const own = tool({ input: z.object({}), effect: "unsafe", run: () => null });
    const mends = async (tools: object) => {
      const listed = await withListedTools({ ...agent, tools: { ...tools } } as Agent, NO_SECRETS);
      return audit(listed.agent, OF_RUNS).missing.flatMap(({ what, mend }) => (what === "approval" ? [mend] : []));
    };
    const listed = 'write approval: { TOOL: "always" } in mcpServer';
    expect(await mends({})).toEqual([listed]);
    expect(await mends({ own })).toEqual([`write approval: "always", or a policy; for tools of servers: ${listed}`]);
  });

  test("has nothing to say about hints that were answered", async () => {
    const options = { effects: { post: "unsafe" }, approval: { drop: "always" } } as const;
    const agent = callingAgent({ source: serverOf({ ...openDesk().options, ...options }), tools: [] });
    const listed = await withListedTools(agent, NO_SECRETS);
    expect(audit(listed.agent, OF_RUNS).missing.map(({ what }) => what)).not.toContain("hints");
  });

  test("names a server that does not answer, and audits the rest", async () => {
    const desk = openDesk();
    desk.fault("refuse-to-start");
    const listed = await withListedTools(callingAgent({ source: serverOf(desk.options), tools: [] }), NO_SECRETS);
    const { tools, missing } = audit(listed.agent, OF_RUNS, listed.missing);
    expect(tools).toEqual([]);
    expect(missing.find(({ what }) => what === "server")?.why).toMatch(
      /^the tools of MCP server desk are not audited: .*the desk is closed/s,
    );
  });
});

describe("a list that changes", () => {
  test("is asked for again, and an unchanged tool stays the same object", async () => {
    const desk = openDesk();
    const source = serverOf(desk.options);
    const before = await listOf(source);
    // An equal list that was asked for again, after a minute, is the same object too.
    expect(await listOf(source, 61_000)).toBe(before);
    desk.setTools(["look"]);
    desk.change();
    const after = await waitUntil(async () => {
      const tools = await listOf(source);
      expect(Object.keys(tools)).toEqual(["desk_look"]);
      return tools;
    });
    expect(after["desk_look"]).toBe(before["desk_look"]);
    expect(desk.seen("started")).toHaveLength(1);
  });

  test("tells a model that calls a vanished tool which tools there are", async () => {
    const desk = openDesk();
    desk.setTools(["look"]);
    const agent = callingAgent({ source: serverOf(desk.options), tools: ["desk_post", "desk_look"] });
    const run = await patiently(() => runAgent(agent, { input: {} }));
    expect(JSON.stringify(run.timeline)).toContain("UnknownTool: there is no tool desk_post; the tools are desk_look");
    expect(run.calls.map(({ status }) => status)).toEqual(["failed", "succeeded"]);
  });

  test("makes the server refuse a call of a tool that it has removed, and the list is asked for again", async () => {
    const desk = openDesk();
    const source = serverOf(desk.options);
    const before = await listOf(source);
    desk.setTools(["look"]);
    desk.change();
    const call = { input: { text: "a" }, key: "k", secrets: NO_SECRETS, signal: new AbortController().signal };
    const refused = await waitUntil(async () => {
      const answer = Promise.resolve(before["desk_post"]?.run(call as never));
      const error: unknown = await answer.catch((why: unknown) => why);
      expect(error).toBeInstanceOf(Error);
      return error as Error;
    });
    // A failure, and no unknown outcome: the server did not begin.
    expect({ name: refused.name, message: refused.message }).toEqual({
      name: "Error",
      message: expect.stringMatching(/^MCP server desk refused the call: .*Tool post not found/),
    });
    expect(Object.keys(await listOf(source))).toEqual(["desk_look"]);
  });

  test("is not mistaken for cairn_read, whose name may begin like those of a server", async () => {
    const source = { label: "MCP server cairn", prefix: "cairn_" } as ToolSource;
    const open = { tool: "cairn_read", intent: { effect: "none" } } as unknown as OpenCall;
    const agent = { ...callingAgent({ source: serverOf(openDesk().options), tools: [] }), sources: [source] };
    expect(withReleasedTools(agent, [open]).tools).not.toHaveProperty("cairn_read");
  });

  test("lets a released call of a vanished tool fail, and a released call of a changed tool go on", () => {
    const source = { label: "MCP server desk", prefix: "desk_" } as ToolSource;
    const open = { tool: "desk_look", intent: { effect: "none" } } as unknown as OpenCall;
    const agent = { ...callingAgent({ source: serverOf(openDesk().options), tools: [] }), sources: [source] };
    const gone = withReleasedTools(agent, [open]).tools["desk_look"];
    expect(gone?.effect).toBe("none");
    expect(() => gone?.run({} as never)).toThrow("ToolGone: MCP server desk no longer has the tool desk_look");
    const changed = { ...gone, input: z.object({ other: z.string() }), isListed: true } as typeof gone & object;
    const listed = { ...agent, tools: { desk_look: changed } };
    expect(withReleasedTools(listed, [open]).tools["desk_look"]?.input.safeParse({ text: "a" }).success).toBe(true);
    const own = { ...agent, tools: { desk_look: { ...changed, isListed: false } as unknown as typeof changed } };
    expect(withReleasedTools(own, [open]).tools["desk_look"]?.input).toBe(changed.input);
  });
});

test("names that no tool may have, names of cairn, and tools outside of only, are left out", async () => {
  const ofCairn = serverOf({ ...openDesk().options, name: "cairn" });
  expect(Object.keys(await listOf(ofCairn))).toEqual(["cairn_look", "cairn_post", "cairn_drop"]);
  const reading = openDesk();
  reading.setTools(["look", "read", "next_message"]);
  expect(Object.keys(await listOf(serverOf({ ...reading.options, name: "cairn" })))).toEqual(["cairn_look"]);
  const source = serverOf({ ...openDesk().options, only: ["post", "absent"], prefix: "d-" });
  expect(Object.keys(await listOf(source))).toEqual(["d-post"]);
});

describe("a tool that is left out", () => {
  const server = { label: "MCP server desk", prefix: "desk_", connection: {} } as never;
  const schema = { type: "object" as const };

  test("is named with its reason", async () => {
    const listed = await listedTools(
      server,
      [
        { name: "find.all", inputSchema: schema },
        { name: "find_all", inputSchema: schema },
        { name: "x".repeat(80), inputSchema: schema },
        { name: "broken", inputSchema: { type: "object", properties: { a: { type: "no such type" } } } } as never,
      ],
      null,
    );
    expect(Object.keys(listed.tools)).toEqual(["desk_find_all"]);
    expect(listed.leftOut.map(({ tool: name, why }) => ({ name: name.slice(0, 8), why }))).toEqual([
      { name: "find_all", why: "its tool find.all has the name desk_find_all already" },
      { name: "xxxxxxxx", why: "its name has 85 characters with its prefix, and 64 are allowed: set a shorter prefix" },
      { name: "broken", why: expect.stringMatching(/^its inputSchema cannot be used: .+/) },
    ]);
  });

  test("is named if an option names it as the model sees it, and if its arguments are no object", async () => {
    const declared = { approval: { desk_look: "always", look: "always" }, effects: { find: "keyed" } };
    const listed = await listedTools(
      { ...(server as object), ...declared } as never,
      [
        { name: "look", inputSchema: schema },
        { name: "list", inputSchema: { type: "array" } as never },
      ],
      null,
    );
    expect(listed.leftOut).toEqual([
      { tool: "list", why: 'its inputSchema cannot be used: it is of type "array", and arguments are an object' },
      { tool: "find", why: "effects names it, and the server has no such tool" },
      {
        tool: "desk_look",
        why: 'approval names it, and the server has no such tool: write "look", as the server names it',
      },
    ]);
  });

  test("is named if only names it, and if another tool of the agent has its name", async () => {
    const source = serverOf({ ...openDesk().options, only: ["look", "absent"] });
    const own = { desk_look: tool({ input: z.object({}), effect: "none", run: () => 1 }) };
    const agent = callingAgent({ source, tools: [], own } as never);
    const full = { ...agent, tools: { ...agent.tools, ...own } };
    const { missing } = await withListedTools(full, NO_SECRETS);
    expect(missing.map(({ what, why, mend }) => ({ what, why, mend }))).toEqual([
      {
        what: "leftOut",
        why: "MCP server desk has a tool absent, and no run gets it",
        mend: "only names it, and the server has no such tool",
      },
      {
        what: "leftOut",
        why: "MCP server desk has a tool desk_look, and no run gets it",
        mend: "the agent itself has a tool of that name: set another prefix",
      },
    ]);
  });

  test("is an event of each run, once, and again when that changes", async () => {
    const desk = openDesk();
    const source = serverOf({ ...desk.options, name: "cairn" });
    desk.setTools(["look", "next_message"]);
    const run = await patiently(() =>
      runAgent(callingAgent({ source, tools: ["cairn_look", "cairn_look"] }), { input: {} }),
    );
    expect(run.timeline.filter(({ kind }) => kind === "ToolsLeftOut")).toMatchObject([
      {
        count: 1,
        tools: [
          {
            tool: "next_message",
            source: "MCP server cairn",
            why: "cairn_next_message is a name of cairn: set another prefix",
          },
        ],
      },
    ]);
  });
});

test("arguments are checked by the schema of the server, which the model sees as it is", async () => {
  const tools = await listOf(serverOf(openDesk().options));
  const input = tools["desk_post"]?.input;
  expect(input?.safeParse({ text: 7 }).error?.issues[0]?.message).toContain("data/text must be string");
  expect(input?.safeParse({ text: "a" }).success).toBe(true);
  expect(z.toJSONSchema(input ?? z.never())).toMatchObject({
    type: "object",
    properties: { text: { type: "string" } },
    required: ["text"],
  });
});

describe("an agent with a server as a process", () => {
  test("is refused in a function on Lambda, and one over HTTP is not", () => {
    const stdio = callingAgent({ source: serverOf(openDesk().options), tools: [] });
    expect(() => checkAgent(stdio, OF_RUNS, { isFunction: true })).toThrow(
      /^agent clerk: MCP server desk is a process over stdio, and Lambda .*: run the server elsewhere and write its url/,
    );
    expect(() => checkAgent(stdio, OF_RUNS)).not.toThrow();
    const http = callingAgent({ source: mcpServer({ name: "web", url: "http://127.0.0.1:9/mcp" }), tools: [] });
    expect(() => checkAgent(http, OF_RUNS, { isFunction: true })).not.toThrow();
  });

  test("has timeouts that fit into a beat", () => {
    const source = serverOf({ ...openDesk().options, timeoutMs: 59_000 });
    expect(() => checkAgent(callingAgent({ source, tools: [] }), OF_RUNS)).toThrow(
      /of MCP server desk may take 59000 ms/,
    );
  });
});

test.each([
  [{ name: "a b", command: "x" }, /name: write 1 to 32 letters/],
  [{ name: "a" }, /the mcpServer a needs either a command or a url/],
  [{ name: "a", command: "x", url: "http://127.0.0.1" }, /needs either a command or a url/],
  [{ name: "a", url: "ftp://127.0.0.1" }, /url/],
  [
    { name: "a", command: "x", effects: { b: "probed" } },
    /effects.b: write none, keyed, idempotent, unsafe: MCP has no/,
  ],
  [{ name: "a", command: "x", headers: { b: 1 } }, /headers: write names with texts/],
  [{ name: "a", command: "x", headers: { b: "1" } }, /the mcpServer a is a process, .*: write env in place of headers/],
  [{ name: "a", command: "x", token: () => "t" }, /the mcpServer a is a process, .*: write env/],
  [
    { name: "a", url: "http://127.0.0.1", env: { b: "1" } },
    /the mcpServer a is no process, .*: write headers or token/,
  ],
  [{ name: "a", url: "http://127.0.0.1", token: "t" }, /token: write a function that returns a token/],
])("options %j are refused with what to write", (options, why) => {
  expect(() => mcpServer(options as never)).toThrow(AgentInvalid);
  expect(() => mcpServer(options as never)).toThrow(why);
});

test("two servers of one name are refused, and so is anything that is no server", () => {
  const server = serverOf(openDesk().options);
  const agentWith = (mcp: readonly ToolSource[]) => ({ ...AGENT, mcp });
  expect(() => defineAgent(agentWith([server, server]))).toThrow(/two servers with one name: MCP server desk/);
  expect(() => defineAgent(agentWith([{ command: "x" } as never]))).toThrow(/write mcp: \[mcpServer\(/);
  expect(defineAgent(agentWith([server])).sources).toEqual([server]);
});

const AGENT = {
  name: "a",
  version: "1",
  model: "openai-compatible:http://127.0.0.1:9/v1#m",
  instructions: "",
  task: z.object({}),
  tools: {},
};
