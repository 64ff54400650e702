/** The process of one capture (`capture.ts`). It runs the description and records the resources that it requests. */
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import * as providers from "@pulumi/aws";
import { type Output, output, runtime } from "@pulumi/pulumi";
import { run } from "sst-auto";
import * as components from "sst-components";
import { run as describeAll } from "captured-description";
import type { Capture, CaptureOptions, Resource } from "./capture.ts";
import { answerOf, computedOf } from "./made-up.ts";

const [, , wantedFile = "", foundFile = ""] = process.argv;
const wanted = JSON.parse(readFileSync(wantedFile, "utf8")) as CaptureOptions;
const { app, stage, place } = wanted;

/** The requests that components send to SST's own process, with simulated answers. */
const answers: Readonly<Record<string, (args: { readonly bundle?: string; readonly handler?: string }) => unknown>> = {
  "Provider.Aws.Bootstrap": () => ({ asset: "@{Bootstrap.assets}", state: "", appsyncHttp: "", appsyncRealtime: "" }),
  "Runtime.Build": ({ bundle, handler }) => ({ handler, out: bundle, errors: [], sourcemaps: [] }),
};

function listen(): Promise<string> {
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => (body += chunk.toString()));
    request.on("end", () => {
      const { method, params } = JSON.parse(body) as { method: string; params: [Record<string, string>] };
      const answer = answers[method];
      response.end(JSON.stringify(answer ? { result: answer(params[0]) } : { error: `rpc: can't find ${method}` }));
    });
  });
  server.unref();
  return new Promise((resolve) =>
    server.listen(0, "127.0.0.1", () => resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)),
  );
}

async function main(): Promise<void> {
  process.env["SST_SERVER"] = await listen();
  Object.assign(globalThis, { aws: providers, sst: components });
  const resources: Omit<Resource, "isRetained" | "ignored">[] = [];
  const retained = new Set<string>();
  const ignored = new Map<string, readonly string[]>();
  await runtime.setMocks(
    {
      newResource: ({ type, name, inputs: given, id = "" }) => {
        const inputs = id === "" ? given : { ...given, name: id };
        const state = { ...inputs, ...computedOf({ type, name, inputs }, place) };
        // A resource with an ID exists already. The description looks it up and does not create it.
        if (id === "" && !/^(sst|pulumi):/.test(type)) resources.push({ type, name, inputs });
        return { id: String(state["id"] ?? `@{${name}.id}`), state };
      },
      call: ({ token, inputs }) => wanted.answers?.[token] ?? answerOf(token, inputs, place),
    },
    app,
    stage,
    false,
  );
  const told = Promise.withResolvers<Told>();
  await runtime.runInPulumiStack(() =>
    run(async () => {
      runtime.registerStackTransformation(({ type, name, opts }) => {
        if (opts.retainOnDelete === true) retained.add(`${type} ${name}`);
        if (opts.ignoreChanges !== undefined) ignored.set(`${type} ${name}`, opts.ignoreChanges);
        return undefined;
      });
      told.resolve({ ...(await describeAll(wanted)) });
    }),
  );
  await runtime.disconnect();
  const found = resources.map((each) => {
    const key = `${each.type} ${each.name}`;
    return { ...each, isRetained: retained.has(key), ignored: ignored.get(key) ?? [] };
  });
  const plain = (await plainOf(found)) as readonly Resource[];
  const outputs = (await plainOf(await resolved(await told.promise))) as Capture["outputs"];
  writeFileSync(foundFile, JSON.stringify({ resources: plain, outputs } satisfies Capture));
}

/** The engine's marker of wrapped values: secrets, and paths of archives that do not exist yet. */
const BOX = "4dabf18193072939515e22adb298388d";

async function plainOf(value: unknown): Promise<unknown> {
  const given = await value;
  if (Array.isArray(given)) return Promise.all(given.map(plainOf));
  if (typeof given !== "object" || given === null) return given;
  if (BOX in given) return plainOf((given as { readonly value?: unknown }).value);
  const fields = Object.entries(given).filter(([, each]) => typeof each !== "function");
  return Object.fromEntries(await Promise.all(fields.map(async ([name, each]) => [name, await plainOf(each)])));
}

type Told = Readonly<Record<string, unknown>>;

const resolved = async (told: Told): Promise<unknown> =>
  Object.fromEntries(
    await Promise.all(
      Object.entries(told).map(
        ([name, value]) =>
          new Promise<[string, unknown]>((resolve) => {
            (output(value) as Output<unknown>).apply((plain) => resolve([name, plain]));
          }),
      ),
    ),
  );

await main();
