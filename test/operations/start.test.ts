/** A start checks what it was given once, before anything is recorded. */
import { z } from "zod";
import { expect, test } from "vitest";
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

test("leaves no record of an input that the agent refuses", async () => {
  const { checked, start, records } = harnessWithChecks();
  expect(await start("Eve")).toMatchObject({ kind: "invalid" });
  expect(checked).toEqual(["Eve"]);
  expect(await records()).toEqual([]);
});
