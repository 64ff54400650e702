/** `cairn memory --api URL`, against the API of a store on a real server. */
import { serve } from "@hono/node-server";
import { expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import { createApi } from "../../src/api/app.ts";
import { runCommand } from "../../src/cli/program.ts";
import { memoryOf } from "../../src/features/memory/stored.ts";
import { SCOPES } from "../../src/operations/operation.ts";
import { defineAgent, scriptedModel } from "../../src/index.ts";
import type { Agent } from "../../src/ports/agent.ts";
import { createLocalHarness } from "../support/harness/drive.ts";
import { createShell } from "../support/processes/cli-in-process.ts";

const agentOf = (name: string, scope: string): Agent =>
  defineAgent({
    ...{ name, version: "1", instructions: "", task: z.object({}), tools: {}, memory: { scope } },
    model: scriptedModel({ name: "script", reply: () => ({ text: "done" }) }),
  }) as Agent;

/** A server with these agents, and two entries of the memory `harbour`; and a command line that speaks to it. */
async function served(...agents: readonly Agent[]) {
  const { world, dir } = createLocalHarness();
  const memory = memoryOf(world, { tenant: "local", scope: "harbour" });
  await memory.put({ id: "ferry", text: "Ferries leave at nine." });
  await memory.put({ id: "train", text: "Trains leave at ten." });
  const api = createApi<object>({
    ...{ world, baseOf: () => "", callerOf: () => ({ tenant: "local", actor: "ann", scopes: SCOPES }) },
    ...{ agentOf: async () => null, agents: async () => ({ agents, broken: [] }) },
  });
  const { promise, resolve } = Promise.withResolvers<number>();
  const server = serve({ fetch: (request) => api.fetch(request, {}), port: 0, hostname: "127.0.0.1" }, ({ port }) =>
    resolve(port),
  );
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${await promise}`;
  return async (...words: readonly string[]) => {
    const { shell, said } = createShell({ dir, person: null }, ["memory", ...words, "--api", url]);
    return { exit: await runCommand(shell, "0"), ...said };
  };
}

test("lists, searches, shows and forgets the memory of the only agent", async () => {
  const type = await served(agentOf("pilot", "harbour"));
  expect((await type("list")).out).toMatch(/^memory harbour: 2 entries of at most 500\n/);
  const found = await type("search", "when", "ferries", "leave", "nine", "--limit", "1");
  expect(found.out).toMatch(/\nthe best 1 for when ferries leave nine:\n[\s\S]*Ferries leave at nine\.\n$/);
  expect(JSON.parse((await type("show", "train", "--json")).out)).toMatchObject({ scope: "harbour", id: "train" });
  const asked = await type("forget", "ferry");
  expect({ exit: asked.exit, err: asked.err }).toEqual({
    exit: 2,
    err: expect.stringMatching(/memory forget ferry --api \S+ --yes/),
  });
  expect((await type("forget", "ferry", "--yes")).out).toContain("ferry is forgotten");
  const again = await type("forget", "ferry", "--yes");
  expect({ exit: again.exit, err: again.err }).toEqual({
    exit: 3,
    err: expect.stringContaining("npx cairn memory list --scope harbour --api"),
  });
  const all = await type("forget", "--all", "--yes", "--json");
  expect(JSON.parse(all.out)).toEqual({ scope: "harbour", entries: 1, sources: 0 });
  expect((await type("list")).out).toContain("0 entries");
});

test("names the memory by agent or scope where there are several", async () => {
  const type = await served(agentOf("pilot", "harbour"), agentOf("clerk", "desk"));
  for (const words of [["pilot"], ["--agent", "pilot"], ["--scope", "harbour"], ["harbour"]]) {
    expect((await type("list", ...words)).out).toContain("2 entries");
  }
  const unnamed = await type("list");
  expect({ exit: unnamed.exit, err: unnamed.err }).toEqual({
    exit: 2,
    err: expect.stringContaining("the agents have several: desk, harbour"),
  });
});
