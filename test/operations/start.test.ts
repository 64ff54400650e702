/** A start checks what it was given once, before anything is recorded. */
import { z } from "zod";
import { describe, expect, test } from "vitest";
import type { Json } from "../../src/core/json.ts";
import { startRun } from "../../src/operations/start.ts";
import { SCOPES } from "../../src/operations/operation.ts";
import { performOperation } from "../../src/operations/perform.ts";
import { OPERATIONS } from "../../src/operations/table.ts";
import type { Agent } from "../../src/ports/agent.ts";
import { createHarness, scriptedAgent } from "../support/harness/harness.ts";

function harnessWithChecks() {
  const { world } = createHarness();
  const checked: string[] = [];
  const task = z.object({ to: z.string() }).refine(({ to }) => {
    checked.push(to);
    return to !== "Eve";
  });
  const agent = { ...scriptedAgent({}), task } as Agent;
  const loaded: string[] = [];
  const agentOf = async (name: string) => {
    loaded.push(name);
    return name === agent.name ? agent : null;
  };
  const context = { world, by: "ann", tenant: "local", scopes: SCOPES, agentOf };
  const start = (to: string) =>
    performOperation(OPERATIONS.start, context, { agent: agent.name, input: { to }, key: to });
  const records = async () => {
    const page = await performOperation(OPERATIONS.auditLog, context, {});
    if (page.kind === "missing") throw new Error("no log");
    return page.entries.map(({ outcome }) => outcome);
  };
  return { checked, loaded, start, records, agent };
}

test("checks an accepted input once, and loads the agent once", async () => {
  const { checked, loaded, start, records, agent } = harnessWithChecks();
  expect(await start("Ada")).toMatchObject({ kind: "started" });
  expect({ checked, loaded }).toEqual({ checked: ["Ada"], loaded: [agent.name] });
  expect(await records()).toEqual(["started"]);
  expect(await start("Ada")).toMatchObject({ kind: "exists" });
  expect(checked).toEqual(["Ada", "Ada"]);
});

test("reads the key of a start once, whether it is new, repeated, refused by its agent or by the spend cap", async () => {
  const { world } = createHarness();
  const asked: string[] = [];
  const counting = <Args extends readonly unknown[], Answer>(name: string, call: (...args: Args) => Answer) => {
    return (...args: Args): Answer => {
      asked.push(name);
      return call(...args);
    };
  };
  const table = Object.assign(Object.create(world.table) as typeof world.table, {
    read: counting("row", world.table.read.bind(world.table)),
    readKey: counting("key", world.table.readKey.bind(world.table)),
  });
  const startUnder = async (agent: Agent | null, key: string, spendMicroUsdPerDay = Number.MAX_SAFE_INTEGER) => {
    asked.length = 0;
    const limits = { ...world.limits, spendMicroUsdPerDay };
    const context = { world: { ...world, table, limits }, by: "ann", tenant: "local", agentOf: async () => agent };
    const { kind } = await performOperation(OPERATIONS.start, context, { agent: "scripted", input: {}, key });
    return [kind, ...asked.toSorted()];
  };
  const agent = { ...scriptedAgent({}), name: "scripted" } as Agent;
  expect(await startUnder(agent, "a")).toEqual(["started", "key", "row"]);
  expect(await startUnder(agent, "a")).toEqual(["exists", "key", "row"]);
  expect(await startUnder(null, "a")).toEqual(["exists", "key", "row"]);
  expect(await startUnder(null, "b")).toEqual(["agentUnknown", "key", "row"]);
  expect(await startUnder(agent, "a", 0)).toEqual(["exists", "key", "row"]);
  expect(await startUnder(agent, "b", 0)).toEqual(["spendCapReached", "key", "row"]);
});

test("leaves no record of an input that the agent refuses", async () => {
  const { checked, start, records } = harnessWithChecks();
  expect(await start("Eve")).toMatchObject({ kind: "invalid" });
  // The check also judges the example that the answer suggests.
  expect(checked).toEqual(["Eve", "text"]);
  expect(await records()).toEqual([]);
});

describe("what the task schema drops of an input", () => {
  const proto = JSON.parse('{"to":"Ada","__proto__":{"admin":true}}') as Json;
  const starting = (task: z.ZodType, input: Json, key: string | null = null) => {
    const { world } = createHarness();
    const agent = { ...scriptedAgent({}), task } as Agent;
    return startRun(world, { agent, input, tenant: "local", idempotencyKey: key });
  };

  test("is named in the answer, also to a repeated start", async () => {
    const { start, agent } = harnessWithChecks();
    const { world } = createHarness();
    const of = { agent, input: { to: "Ada", form: "Eve" }, tenant: "local", idempotencyKey: "k" };
    expect(await startRun(world, of)).toMatchObject({ kind: "started", dropped: ["form"] });
    expect(await startRun(world, of)).toMatchObject({ kind: "exists", dropped: ["form"] });
    expect(await start("Ada")).not.toHaveProperty("dropped");
  });

  test.each([
    ["an object", z.object({ to: z.string() })],
    ["an object that takes other names", z.looseObject({ to: z.string() })],
    ["a record", z.record(z.string(), z.unknown())],
    ["any JSON", z.json()],
  ])("is refused if it is `__proto__` in %s", async (_, task) => {
    expect(await starting(task, proto)).toMatchObject({
      ...{ kind: "invalid", why: expect.stringContaining("__proto__"), issues: [{ path: ["__proto__"] }] },
    });
  });

  test("is nothing where the schema keeps `__proto__`", async () => {
    const started = await starting(z.any(), proto);
    expect(started.kind).toBe("started");
    expect(started).not.toHaveProperty("dropped");
  });
});

describe("a start that is repeated with its key after a new version of the agent", () => {
  function deployments() {
    const { world } = createHarness();
    const under = (task: z.ZodType | null) => (input: Json, key: string | null) => {
      const agent = { ...scriptedAgent({}), task } as Agent;
      const agentOf = async () => (task === null ? null : agent);
      const context = { world, by: "ann", tenant: "local", scopes: SCOPES, agentOf };
      return performOperation(OPERATIONS.start, context, { agent: agent.name, input, key });
    };
    return { world, before: under(z.object({ to: z.string() })), under };
  }

  test.each([
    ["asks for one field more", z.object({ to: z.string(), from: z.string() })],
    ["gives a field a default", z.object({ to: z.string(), from: z.string().default("Ada") })],
    ["is gone", null],
  ])("that %s gets its run", async (_, task) => {
    const { before, under } = deployments();
    const first = await before({ to: "Eve" }, "a");
    if (first.kind !== "started") throw new Error(first.kind);
    expect(await under(task)({ to: "Eve" }, "a")).toMatchObject({ kind: "exists", row: { run: first.row.run } });
  });

  test("with another input is a conflict that names the run", async () => {
    const { before, under } = deployments();
    const first = await before({ to: "Eve" }, "a");
    if (first.kind !== "started") throw new Error(first.kind);
    const after = under(z.object({ to: z.string(), from: z.string() }));
    expect(await after({ to: "Bob" }, "a")).toEqual({ kind: "conflict", run: first.row.run });
  });

  test("with another key, or none, is judged by the new version", async () => {
    const { before, under } = deployments();
    await before({ to: "Eve" }, "a");
    const after = under(z.object({ to: z.string(), from: z.string() }));
    expect(await after({ to: "Eve" }, "b")).toMatchObject({ kind: "invalid" });
    expect(await after({ to: "Eve" }, null)).toMatchObject({ kind: "invalid" });
    expect(await under(null)({ to: "Eve" }, "b")).toEqual({ kind: "agentUnknown" });
  });
});
