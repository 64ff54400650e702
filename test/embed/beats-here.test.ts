/** Beats in the caller's own process, by name. */
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { expect, onTestFinished, test } from "vitest";
import { createServer } from "../../src/embed/server.ts";
import { type SupervisorEvent, driveStore } from "../../src/embed/worker.ts";
import { defineAgent, scriptedModel, tool } from "../../src/index.ts";
import { SCOPES } from "../../src/operations/operation.ts";
import type { Agent } from "../../src/ports/agent.ts";
import { temporaryDir } from "../process/fixtures/store.ts";

const beats = "in this process" as const;
const auth = () => ({ tenant: "local", actor: "ann", scopes: SCOPES });

/** Calls its tool `post` once, and then says what it returned. */
const agentWith = (tools: Parameters<typeof defineAgent>[0]["tools"], name = "clerk"): Agent =>
  defineAgent({
    ...{ name, version: "1", instructions: "", task: z.object({}), tools, budget: { beats: 9 } },
    model: scriptedModel({
      name: "m",
      reply: ({ resultOf }) =>
        resultOf("post") === undefined ? { calls: [{ tool: "post", args: {} }] } : { text: String(resultOf("post")) },
    }),
  });

const postWith = (effect: "none" | "keyed" | "unsafe", run: () => unknown, timeoutMs = 30_000) =>
  tool({ description: "Posts.", input: z.object({}), effect, timeoutMs, run });

/** A store, an API in front of it, and its drivers. */
async function storeOf(agents: readonly Agent[]) {
  const store = join(temporaryDir(), "store");
  const server = await createServer({ agents, store, auth });
  onTestFinished(server.close);
  const ask = async (path: string, body?: object): Promise<Record<string, unknown>> => {
    const init = body && {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    };
    return (await (await server.fetch(new Request(`https://shop.example${path}`, init))).json()) as never;
  };
  const drive = async (of: object = {}) => {
    const events: SupervisorEvent[] = [];
    const waiting = new Map<string, PromiseWithResolvers<void>>();
    const ended = (run: string): PromiseWithResolvers<void> => {
      const known = waiting.get(run) ?? Promise.withResolvers<void>();
      waiting.set(run, known);
      return known;
    };
    const onEvent = (event: SupervisorEvent): void => {
      events.push(event);
      if (event.kind === "moved" && event.state === "End") ended(event.run).resolve();
    };
    const driving = await driveStore({ agents, store, beats, onEvent, ...of });
    onTestFinished(() => driving.stop());
    return { driving, events, ended: (run: string) => ended(run).promise };
  };
  const start = async (): Promise<string> => String((await ask("/runs", { agent: "clerk", input: {} }))["run"]);
  return { store, ask, drive, start };
}

test("a run completes in the caller's process, without a child process", async () => {
  const pids: number[] = [];
  const { ask, drive, start } = await storeOf([agentWith({ post: postWith("keyed", () => pids.push(process.pid)) })]);
  const { driving, events, ended } = await drive();
  const run = await start();
  await ended(run);
  expect(await ask(`/runs/${run}`)).toMatchObject({ status: "completed" });
  expect(pids).toEqual([process.pid]);
  expect(events.map(({ kind }) => kind)).not.toContain("workerSpawned");
  expect(driving.ended()).toBeNull();
  await driving.stop();
  await expect(driving.stopped).resolves.toBeUndefined();
  await expect(drive()).resolves.toBeDefined();
});

test.each([
  [
    "an unsafe tool",
    { post: postWith("unsafe", () => 1) },
    /agent clerk cannot run in this process: it has the tool post with effect: "unsafe"/,
  ],
  [
    "a probed tool",
    {
      post: tool({
        description: "",
        input: z.object({}),
        effect: "probed",
        run: () => 1,
        probe: () => ({ kind: "absent" }),
      }),
    },
    /has the tool post with effect: "probed"/,
  ],
  [
    "an unsafe undo",
    {
      post: tool({
        ...{ description: "", input: z.object({}), effect: "keyed", run: () => 1 },
        undo: { effect: "unsafe", run: () => undefined },
      }),
    },
    /has the tool post, whose undo has effect: "unsafe"/,
  ],
])("refuses an agent with %s when it is created", async (_, tools, says) => {
  const agents = [agentWith(tools)];
  const refused = driveStore({ agents, beats, store: join(temporaryDir(), "store") });
  await expect(refused).rejects.toMatchObject({ code: "BeatsNotHere" });
  await expect(refused).rejects.toThrow(says);
});

test("a server with that option drives its runs, until it is closed", async () => {
  const store = join(temporaryDir(), "store");
  const agents = [agentWith({ post: postWith("none", () => 1) })];
  const open = () => createServer({ agents, store, auth, beats });
  const server = await open();
  const body = JSON.stringify({ agent: "clerk", input: {} });
  const headers = { "content-type": "application/json", accept: "text/event-stream" };
  const started = await server.fetch(new Request("https://shop.example/runs", { method: "POST", headers, body }));
  const { run } = (await started.json()) as { readonly run: string };
  // The stream ends with the run.
  const events = await server.fetch(new Request(`https://shop.example/runs/${run}/events`, { headers }));
  expect(await events.text()).toContain('{"status":"completed"}');
  await server.close();
  const [again, unsafe] = [await open(), [agentWith({ post: postWith("unsafe", () => 1) })]];
  await again.close();
  await expect(createServer({ agents: unsafe, store, auth, beats })).rejects.toMatchObject({ code: "BeatsNotHere" });
  await expect(createServer({ store, auth, beats })).rejects.toMatchObject({ code: "OptionInvalid" });
});

test.each([
  ["without agents as objects", { beats }, /there are no agents/],
  ["with a module for worker processes", { beats, agents: [], entry: import.meta.url }, /there is an entry/],
  ["under another name", { beats: "here", agents: [] }, /driveStore has beats "here": write "in this process"/],
])("refuses beats in this process %s", async (_, options, says) => {
  const refused = driveStore({ store: join(temporaryDir(), "store"), ...options } as never);
  await expect(refused).rejects.toMatchObject({ code: "OptionInvalid" });
  await expect(refused).rejects.toThrow(says);
});

test("after a call has outlived its timeout the process takes no further beat, says so, and another driver goes on", async () => {
  const held = Promise.withResolvers<number>();
  onTestFinished(() => held.resolve(1));
  let calls = 0;
  let second = "";
  const post = postWith(
    "keyed",
    async () => {
      calls += 1;
      if (calls > 1) return calls;
      // Ready while the first call hangs, so a process that went on would take it.
      second = await start();
      return held.promise;
    },
    100,
  );
  const { ask, drive, start } = await storeOf([agentWith({ post })]);
  const one = await drive({ beatsPerWorker: 1 });
  const first = await start();
  await expect(one.driving.stopped).rejects.toMatchObject({ code: "BeatsEnded", run: first });
  expect(one.driving.ended()).toMatch(/beats in this process have ended: a call outlived its timeout in run /);
  expect(one.events.at(-1)).toMatchObject({ kind: "beatsEnded", run: first, what: "a call outlived its timeout" });
  const begun = one.events.flatMap((event) => (event.kind === "attemptStarted" ? [event.run] : []));
  expect({ isMissing: second === "", hasBegun: begun.includes(second), calls }).toEqual({
    isMissing: false,
    hasBegun: false,
    calls: 1,
  });
  await one.driving.stop();
  const two = await drive({ beatsPerWorker: 1 });
  await Promise.all([two.ended(first), two.ended(second)]);
  for (const run of [first, second]) expect(await ask(`/runs/${run}`)).toMatchObject({ status: "completed" });
});

test("the program of the page drives a store in its own process", async () => {
  const page = readFileSync(join(ROOT, "docs", "embedding.md"), "utf8");
  const [program = ""] = [...page.matchAll(/```ts\n([^]*?)```/g)].flatMap(([, code = ""]) =>
    code.includes("// drive.js") ? [code] : [],
  );
  const dir = temporaryDir();
  mkdirSync(join(dir, "node_modules"));
  symlinkSync(ROOT, join(dir, "node_modules", "cairn-run"));
  symlinkSync(join(ROOT, "node_modules", "zod"), join(dir, "node_modules", "zod"));
  writeFileSync(join(dir, "package.json"), '{ "type": "module" }');
  writeFileSync(join(dir, "agents.js"), AGENTS);
  writeFileSync(join(dir, "drive.js"), program + START);
  const { stdout, stderr } = spawnSync(process.execPath, ["drive.js"], { cwd: dir, encoding: "utf8" });
  expect({ stdout, stderr }).toEqual({ stdout: "completed: posted by the program\n", stderr: "" });
});

const ROOT = join(import.meta.dirname, "..", "..");

const AGENTS = `
import { defineAgent, scriptedModel, tool } from "cairn-run";
import { z } from "zod";
const post = tool({ input: z.object({}), effect: "keyed", run: () => (process.send ? "posted by a worker" : "posted by the program") });
const model = scriptedModel({
  name: "m",
  reply: ({ resultOf }) => (resultOf("post") ? { text: resultOf("post") } : { calls: [{ tool: "post", args: {} }] }),
});
const clerk = { name: "clerk", version: "1", instructions: "Post.", task: z.object({}), budget: { beats: 5 } };
export const agents = [defineAgent({ ...clerk, model, tools: { post } })];
`;

const START = `
import { connect } from "cairn-run/client";
const cairn = await connect({ store: "./store", agents });
const { run } = await cairn.start("clerk", {});
const { status, result } = await cairn.wait(run);
console.log(status + ": " + result);
cairn.close();
await driving.stop();
`;
