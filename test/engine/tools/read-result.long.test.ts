/** Results that are too long to show: the model reads them in parts, through crashes, and reads nothing else. */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { AgentInvalid, defineAgent, react, scriptedModel, tool } from "../../../src/index.ts";
import { everyFaultPoint, fakeService, runAgent } from "../../../src/testing/kit/index.ts";
import type { Json } from "../../../src/core/json.ts";
import { requestDigests } from "../../../src/engine/model/request-digests.ts";
import { agentInRole } from "../../../src/engine/model/role.ts";
import { IN_PHASE } from "../../support/states/states-and-events.ts";

const SIGN = "password=hunter2hunter2";
/** About 40 KB, with one needle. */
const page = (number: number): string =>
  `${`page ${number} is long. `.repeat(1_000)}\nneedle ${number}\n${"and goes on. ".repeat(1_500)}${SIGN}`;

interface Read {
  readonly outcome: string;
  readonly result: Json;
}

/** Fetches pages one after the other, then makes these reads, and answers with what they gave. */
function reader(reads: readonly Json[], { pages = 1, more = {}, fetched = page as (number: number) => Json } = {}) {
  const fetches = fakeService<{ number: number }, Json>({ name: "web", reply: ({ number }) => fetched(number) });
  const seen: (readonly string[])[] = [];
  const script = scriptedModel({
    name: "script",
    reply: ({ calls }) => {
      if (calls.length < pages) return { calls: [{ tool: "fetch", args: { number: calls.length + 1 } }] };
      const args = reads[calls.length - pages];
      if (args !== undefined) return { calls: [{ tool: "cairn_read", args: args as Record<string, Json> }] };
      return { text: JSON.stringify(calls.slice(pages).map(({ outcome, result }) => ({ outcome, result }))) };
    },
  });
  const model = {
    ...script,
    doGenerate: (options: Parameters<typeof script.doGenerate>[0]) => {
      seen.push((options.tools ?? []).map(({ name }) => name));
      return script.doGenerate(options);
    },
    doStream: (options: Parameters<typeof script.doStream>[0]) => {
      seen.push((options.tools ?? []).map(({ name }) => name));
      return script.doStream(options);
    },
  };
  const agent = defineAgent({
    ...{ name: "reader", version: "1", instructions: "Read.", model, task: z.object({}), loops: "ignore" },
    topology: react({ maxBeats: 1_000 }),
    budget: { toolCalls: 1_000 },
    tools: { fetch: tool({ input: z.object({ number: z.int() }), effect: "keyed", run: fetches.call }) },
    ...more,
  });
  return { agent, fetches, seen };
}

async function readsOf(reads: readonly Json[], of: Parameters<typeof reader>[1] = {}): Promise<readonly Read[]> {
  const { agent, fetches } = reader(reads, of);
  const run = await runAgent(agent, { input: {}, services: [fetches] });
  expect(run.failure).toBeNull();
  return JSON.parse(String(run.result)) as readonly Read[];
}

test("finds a text in a long result, and reads around it", async () => {
  const [found, around] = await readsOf([
    { result: "c1", search: "NEEDLE" },
    { result: "c1", offset: page(1).indexOf("needle"), length: 8 },
  ]);
  expect(found).toMatchObject({
    outcome: "succeeded",
    result: { matches: [{ offset: page(1).indexOf("needle") }], next: null },
  });
  expect(around).toMatchObject({ outcome: "succeeded", result: { text: "needle 1" } });
});

test("reads a result that is not text as its JSON", async () => {
  const [read] = await readsOf([{ result: "c1", search: '"id":77,' }], {
    fetched: () => Array.from({ length: 2_000 }, (_, id) => ({ id, name: "n" })),
  });
  expect(JSON.stringify(read?.result)).toContain(JSON.stringify('{"id":77,"name":"n"}').slice(1, -1));
});

test("offers the tool once the transcript has a long result, and not before", async () => {
  const { agent, fetches, seen } = reader([{ result: "c1" }]);
  await runAgent(agent, { input: {}, services: [fetches] });
  expect(seen).toEqual([["fetch"], ["fetch", "cairn_read"], ["fetch", "cairn_read"]]);
});

test("says in place of a long result how to read the rest, by a name that works", async () => {
  const { agent, fetches } = reader([], {
    more: {
      model: scriptedModel({
        name: "script",
        reply: ({ calls }) => {
          const [fetched, read] = calls;
          if (fetched === undefined) return { calls: [{ tool: "fetch", args: { number: 1 } }] };
          const name = /cairn_read, where it is offered, reads the rest: its `result` is "([0-9a-f]{16})"/.exec(
            String(fetched.result),
          )?.[1];
          if (read === undefined)
            return { calls: [{ tool: "cairn_read", args: { result: name ?? "", line: 2, lines: 1 } }] };
          return { text: JSON.stringify(read.result) };
        },
      }),
    },
  });
  const run = await runAgent(agent, { input: {}, services: [fetches] });
  expect(String(run.result)).toContain("needle 1");
});

test("shows no credential that redaction removed", async () => {
  const [found, end] = await readsOf([
    { result: "c1", search: "hunter2" },
    { result: "c1", offset: page(1).length - 100 },
  ]);
  expect(found?.result).toMatchObject({ matches: [] });
  expect(JSON.stringify(end?.result)).toContain("password=[redacted");
});

describe("hostile arguments", () => {
  test.each([
    [{ result: "c99" }, "UnknownResult"],
    [{ result: "" }, "InvalidArguments"],
    [{ result: "__proto__" }, "UnknownResult"],
    [{ result: "0000000000000000" }, "UnknownResult"],
    [{ result: "c1", offset: -1 }, "InvalidArguments"],
    [{ result: "c1", length: 1e9 }, "InvalidArguments"],
    [{ result: "c1", search: "a".repeat(101) }, "InvalidArguments"],
    [{ result: "c1", search: "a", length: 3 }, "ReadInvalid"],
    [{ result: "c1", line: 1, offset: 3 }, "ReadInvalid"],
    [{ result: "c1", path: "/etc/passwd" }, "InvalidArguments"],
  ])("%j are refused, and the model is told why", async (args, code) => {
    const [read] = await readsOf([args]);
    expect({ outcome: read?.outcome, result: String(read?.result) }).toEqual({
      outcome: "failed",
      result: expect.stringContaining(code),
    });
  });

  test("a pattern that would take exponential time is a text like others", async () => {
    const [read] = await readsOf([{ result: "c1", search: "(a+)+$" }], { fetched: () => "a".repeat(1_000_000) });
    expect(read).toMatchObject({ outcome: "succeeded", result: { characters: 1_000_000, matches: [] } });
  });
});

describe("an agent", () => {
  test("that declines has no such tool, and a call of it is refused", async () => {
    const { agent, fetches, seen } = reader([{ result: "c1" }], { more: { results: { read: false } } });
    const run = await runAgent(agent, { input: {}, services: [fetches] });
    expect(new Set(seen.flat())).toEqual(new Set(["fetch"]));
    expect(String(run.result)).toContain("UnknownTool");
  });

  test.each([
    ["a tool of that name", { tools: { cairn_read: tool({ input: z.object({}), effect: "none", run: () => 1 }) } }],
    ["another option", { results: { read: "yes" } }],
  ])("with %s is refused", (_, more) => {
    expect(() => reader([], { more })).toThrow(AgentInvalid);
  });
});

test("keeps the digests of the tools of a request", () => {
  const { agent } = reader([]);
  const state = IN_PHASE.AwaitingLLM();
  const large = { kind: "blob", sha256: "a".repeat(64), bytes: 40_000, head: "h", tail: "t" } as const;
  const part = { kind: "result", call: "c1", tool: "fetch", outcome: "succeeded", value: large, edited: null } as const;
  const with_ = {
    ...state,
    messages: [
      ...state.messages,
      { ...{ id: "m9", at: 1, source: "tool:fetch", role: "tool" as const, tokens: 0 }, parts: [part] },
    ],
  };
  const digest = (): readonly string[] => requestDigests(agentInRole(with_, agent as never), with_.messages).tools;
  expect(digest()).toHaveLength(2);
  expect(digest()).toEqual(digest());
  expect(agentInRole(state, agent as never).tools).not.toHaveProperty("cairn_read");
});

test("reads the same with a kill at each fault point", async () => {
  const { agent, fetches } = reader(
    [
      { result: "c1", search: "needle" },
      { result: "c2", line: 2, lines: 1 },
    ],
    { pages: 2 },
  );
  const { points, uninterrupted } = await everyFaultPoint(agent, { input: {}, services: [fetches] });
  expect(points.length).toBeGreaterThan(20);
  expect(String(uninterrupted.result)).toContain("needle 2");
});

test("reads in each of two hundred long results", async () => {
  const pages = 200;
  const reads = Array.from({ length: pages }, (_, index) => ({ result: `c${index + 1}`, search: "needle" }));
  const all = await readsOf(reads, { pages });
  expect(all).toHaveLength(pages);
  all.forEach(({ result }, index) => {
    expect(JSON.stringify(result)).toContain(`needle ${index + 1}\\n`);
  });
});
