/** Agents as objects in somebody's own server: no config is read, and what cannot work is refused at once. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { expect, onTestFinished, test } from "vitest";
import { createServer } from "../../src/embed/server.ts";
import { driveStore, workFor } from "../../src/embed/worker.ts";
import { childTool, defineAgent, scriptedModel } from "../../src/index.ts";
import { SCOPES } from "../../src/operations/operation.ts";
import { temporaryDir } from "../process/fixtures/store.ts";

const agentNamed = (name: string, tools = {}) =>
  defineAgent({
    ...{ name, version: "1", instructions: "", task: z.object({}), tools, budget: { beats: 3 } },
    model: scriptedModel({ name: "m", reply: () => ({ text: "Done." }) }),
  });

const auth = () => ({ tenant: "local", actor: "ann", scopes: SCOPES });
const ask = (path: string, init: RequestInit = {}) => new Request(`https://shop.example${path}`, init);

test("serves the agents that it is given, and reads no config", async () => {
  const cwd = temporaryDir();
  mkdirSync(cwd, { recursive: true });
  writeFileSync(join(cwd, "cairn.config.ts"), "throw new Error('it was read');\n");
  const server = await createServer({ agents: [agentNamed("clerk")], store: join(cwd, "store"), cwd, auth });
  onTestFinished(server.close);
  const { agents } = (await (await server.fetch(ask("/agents"))).json()) as { readonly agents: unknown };
  expect(agents).toMatchObject([{ name: "clerk" }]);
  const headers = { "content-type": "application/json" };
  const started = (agent: string) =>
    server.fetch(ask("/runs", { method: "POST", headers, body: JSON.stringify({ agent, input: {} }) }));
  expect([(await started("clerk")).status, (await started("nobody")).status]).toEqual([202, 404]);
});

const lonely = agentNamed("boss", {
  ask: childTool({ agent: "worker", description: "Asks.", input: z.object({}), budget: { beats: 1 } }),
});

test.each([
  ["no list", { clerk: agentNamed("clerk") }, /write agents: \[myAgent\]/],
  ["no agent", [agentNamed("clerk"), { name: "x" }], /agents\[1\] is no agent/],
  ["one name twice", [agentNamed("clerk"), agentNamed("clerk")], /two agents named clerk/],
  ["a child that is missing", [lonely], /agent boss: child tool ask dispatches runs of agent worker/],
])("refuses %s", async (_, agents, message) => {
  const options = { agents: agents as never, store: join(temporaryDir(), "store") };
  await expect(createServer({ ...options, auth })).rejects.toThrow(message);
  const entry = new URL(import.meta.url);
  await expect(driveStore({ ...options, entry })).rejects.toThrow(message);
});

test("drives agents as objects only with a module for its worker processes, which nothing else may start", async () => {
  const agents = [agentNamed("clerk")];
  const store = join(temporaryDir(), "store");
  await expect(driveStore({ agents, store })).rejects.toMatchObject({ code: "WorkerEntryMissing" });
  const entry = new URL(import.meta.url);
  await expect(driveStore({ entry, store })).rejects.toMatchObject({ code: "WorkerEntryMissing" });
  const absent = new URL("./absent.js", import.meta.url);
  await expect(driveStore({ agents, entry: absent.href, store })).rejects.toMatchObject({
    message: expect.stringMatching(/there is no entry [^:]*absent/),
  });
  const said = { code: "WorkerEntryMissing", message: expect.stringContaining("there is no entry") };
  await expect(driveStore({ agents, entry: absent, store })).rejects.toMatchObject(said);
  await expect(driveStore({ agents, entry: "absent.js", store })).rejects.toMatchObject(said);
  expect(() => workFor({ agents })).toThrow(/`entry` of driveStore/);
});

test.each([
  ["is misspelt", { agent: [] }, 'createServer has no option "agent": did you mean agents?'],
  [
    "is like none",
    { zzzzzzzzzz: 1 },
    /^createServer has no option "zzzzzzzzzz": take it out, or write one of agents, auth, /,
  ],
  ["is of another type", { store: 5 }, "createServer has store 5: write a text"],
])("an option of the server that %s is refused by name", async (_, options, says) => {
  const refused = createServer({ auth, ...options } as never);
  await expect(refused).rejects.toMatchObject({ code: "OptionInvalid" });
  await expect(refused).rejects.toThrow(says);
});

test.each([
  ["is misspelt", { worker: 2 }, 'driveStore has no option "worker": did you mean workers?'],
  ["is of another type", { workers: "2" }, 'driveStore has workers "2": write a number'],
])("an option of the driver that %s is refused by name", async (_, options, says) => {
  const refused = driveStore(options as never);
  await expect(refused).rejects.toMatchObject({ code: "OptionInvalid" });
  await expect(refused).rejects.toThrow(says);
});
