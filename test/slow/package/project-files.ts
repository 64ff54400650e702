/** The files of a user's project: an agent, its test, and a server that mounts the API and drives the runs. */

/** Sends three letters. While there is a file `slow`, it is not told that the service has one. */
export const AGENT = `
import { appendFileSync, existsSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import { check, defineAgent, scriptedModel, tool } from "cairn-run";
import { z } from "zod";

export const clerk = defineAgent({
  name: "clerk",
  version: "1",
  instructions: "Send three letters, one after the other.",
  model: scriptedModel({
    name: "clerk-model",
    reply: ({ calls }) =>
      calls.length < 3 ? { calls: [{ tool: "send", args: { number: calls.length + 1 } }] } : { text: "All are sent." },
  }),
  task: z.object({ to: z.string() }),
  tools: {
    send: tool({
      description: "Sends a letter.",
      input: z.object({ number: z.int() }),
      effect: "keyed",
      run: async ({ input, key }) => {
        appendFileSync("letters", input.number + " " + key + "\\n");
        while (existsSync("slow")) await wait(20);
        return { sent: input.number };
      },
    }),
  },
  done: [check("three-sent", ({ calls }) => calls.length === 3)],
  price: { inUsd: 1, outUsd: 5 },
  budget: { usd: 1, beats: 10 },
});
`;

/** The same agent under another name, in TypeScript that Node cannot run as it is. */
export const TYPED = {
  words: 'export type Word = string;\nexport enum Name { Typed = "typed" }\nexport const said: Word = "typed";\n',
  agent: AGENT.replace(
    'from "zod";',
    'from "zod";\nimport { Name, Word } from "./words";\n\nconst name: Word = Name.Typed;',
  )
    .replace('name: "clerk",', "name,")
    .replace("export const clerk", "export const typed"),
};

/** Its model is given as text. */
export const WRITER = `
import { defineAgent } from "cairn-run";
import { z } from "zod";

export const writer = defineAgent({
  name: "writer",
  version: "1",
  instructions: "",
  model: "google:gemini-2.5-pro",
  task: z.object({}),
  tools: {},
});
`;

/** The user's own test, with the test runner of Node. */
export const AGENT_TEST = `
import assert from "node:assert/strict";
import { test } from "node:test";
import { everyFaultPoint, expectEffectsOnce, fakeService, runAgent } from "cairn-run/testing";
import { clerk } from "./agent.ts";

test("a killed clerk sends each letter once", async () => {
  const post = fakeService({ name: "post", reply: ({ number }: { number: number }) => ({ sent: number }) });
  const run = await runAgent(clerk, { input: { to: "Ann" }, tools: { send: post }, killAt: "after:effect:send#2" });
  assert.equal(run.status, "completed");
  assert.equal(post.requests.length, 4);
  expectEffectsOnce(run);
});

test("a clerk who is killed at any fault point does the same", async () => {
  const post = fakeService({ name: "post", reply: ({ number }: { number: number }) => ({ sent: number }) });
  const { points } = await everyFaultPoint(clerk, { input: { to: "Ann" }, tools: { send: post } });
  assert.ok(points.includes("after:effect:send#3"));
});

test("a service that ignores its keys fails the test", async () => {
  const post = fakeService({ name: "post", reply: () => null, honoursKeys: false });
  const run = await runAgent(clerk, { input: { to: "Ann" }, tools: { send: post }, killAt: "after:effect:send" });
  assert.throws(() => expectEffectsOnce(run), assert.AssertionError);
});
`;

/** A program with the client, for any runtime: it starts a run, follows it to its end, and prints what it saw. */
export const CLIENT_PROGRAM = `
import { CairnError, connect } from "cairn-run/client";
import type * as agents from "./agent.ts";

const cairn = await connect<typeof agents>({ api: process.argv[2] ?? "" });
const { run } = await cairn.start("clerk", { to: "Ann" });
const kinds: string[] = [];
for await (const { kind } of cairn.events(run)) kinds.push(kind);
const { status } = await cairn.wait<"clerk">(run);
const missing = await cairn.get("local-none").catch((error: unknown) => error);
console.log(JSON.stringify({ status, last: kinds.at(-1), missing: missing instanceof CairnError && missing.code }));
`;

/** The user's own server: the API below a path, with the user's own login, and the runs driven in the same process. */
export const SERVER = `
import { createServer as createHttpServer } from "node:http";
import { createServer, SCOPES } from "cairn-run/server";
import { CairnError, driveStore } from "cairn-run/worker";

const isAnn = (request: Request) => request.headers.get("x-user") === "ann";
const api = await createServer({
  base: "/cairn",
  auth: (request) => (isAnn(request) ? { tenant: "local", actor: "ann", scopes: SCOPES } : null),
});
const driving = await driveStore({ workers: 1, beatSeconds: 10 });
const second = await driveStore().catch((error: unknown) => (error instanceof CairnError ? error.code : String(error)));
const http = createHttpServer((request, response) => void api.listener(request, response));
http.listen(0, "127.0.0.1", () => console.log(JSON.stringify({ address: http.address(), second })));
process.once("SIGTERM", async () => {
  await driving.stop();
  api.close();
  http.close();
});
`;

/**
 * Imports every entry point. A type that the compiler does not find reads as `any`, which accepts every use. So nothing
 * may be `any`: no export, no result of a function, no result of a method of the client.
 */
export const EVERY_EXPORT = `
import * as library from "cairn-run";
import * as client from "cairn-run/client";
import * as conformance from "cairn-run/conformance";
import * as effects from "cairn-run/effects";
import * as langgraph from "cairn-run/langgraph";
import * as mcp from "cairn-run/mcp";
import * as mcpTools from "cairn-run/mcp-tools";
import * as server from "cairn-run/server";
import * as sst from "cairn-run/sst";
import * as testing from "cairn-run/testing";
import * as worker from "cairn-run/worker";
import manifest from "cairn-run/package.json" with { type: "json" };

type IsAny<T> = 0 extends 1 & T ? true : false;
type Anys<M> = {
  [K in keyof M]: true extends
    | IsAny<M[K]>
    | (M[K] extends (...given: never) => infer Result ? IsAny<Awaited<Result>> : never)
    ? K
    : never;
}[keyof M];
function expectNone<Found extends never>(): Found | void {}

expectNone<Anys<typeof library>>();
expectNone<Anys<typeof client>>();
expectNone<Anys<client.Client>>();
expectNone<Anys<typeof conformance>>();
expectNone<Anys<typeof effects>>();
expectNone<Anys<typeof langgraph>>();
expectNone<Anys<typeof mcp>>();
expectNone<Anys<typeof mcpTools>>();
expectNone<Anys<typeof server>>();
expectNone<Anys<typeof sst>>();
expectNone<Anys<typeof testing>>();
expectNone<Anys<typeof worker>>();
// @ts-expect-error a value of this type is found
expectNone<Anys<{ found: any }>>();
// @ts-expect-error and a function with such a result
expectNone<Anys<{ found: () => Promise<any> }>>();

export async function start(cairn: client.Client): Promise<string> {
  const started = await cairn.start("clerk", {});
  // @ts-expect-error the answer of a start has no such field
  started.nothing;
  return started.run + manifest.name;
}
`;

/** The entry points that `EVERY_EXPORT` imports. */
export const importedIn = (text: string): readonly string[] =>
  [...text.matchAll(/from "cairn-run(\/[^"]+)?"/g)].map(([, path = ""]) => `.${path}`);

/** Serves the API of a store with agents as objects, and asks it. Where it cannot drive the store, it says the code. */
export const SERVED_ANYWHERE = `
import { rmSync } from "node:fs";
import { defineAgent, scriptedModel } from "cairn-run";
import { SCOPES, createServer } from "cairn-run/server";
import { driveStore } from "cairn-run/worker";
import { z } from "zod";

rmSync("served", { recursive: true, force: true });
const model = scriptedModel({ name: "m", reply: () => ({ text: "done" }) });
const clerk = defineAgent({ name: "clerk", version: "1", model, instructions: "", task: z.object({}), tools: {} });
const auth = () => ({ tenant: "local", actor: "ann", scopes: SCOPES });
const api = await createServer({ agents: [clerk], store: "served", console: false, auth });
const headers = { "content-type": "application/json", "idempotency-key": "one" };
const body = JSON.stringify({ agent: "clerk", input: {} });
const started = await api.fetch(new Request("http://localhost/runs", { method: "POST", headers, body }));
const { run } = await started.json();
const { status: shown } = await (await api.fetch(new Request("http://localhost/runs/" + run))).json();
api.close();
const drives = await driveStore({ store: "driven" }).then(
  async (driving) => (await driving.stop(), "drives"),
  (error) => error.code,
);
console.log(JSON.stringify({ started: started.status, shown, drives }));
process.exit();
`;
