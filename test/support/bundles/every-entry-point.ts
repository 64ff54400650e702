/** An agent that imports every entry point that a function can use, and what a function that has loaded it says of them. */
import { spawnSync } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { gatewayEvent } from "../aws/gateway-event.ts";

/** It leaves a function behind that compares what the entry points have in common. */
export const EVERY_ENTRY_POINT = `
import * as library from "cairn-run";
import * as client from "cairn-run/client";
import * as effects from "cairn-run/effects";
import * as langgraph from "cairn-run/langgraph";
import * as mcp from "cairn-run/mcp";
import * as mcpTools from "cairn-run/mcp-tools";
import * as testing from "cairn-run/testing";
import manifest from "cairn-run/package.json" with { type: "json" };
import { z } from "zod";

function errorOf(work) {
  try {
    work();
  } catch (error) {
    return error;
  }
}

globalThis.seen = () => ({
  clientErrors: new Set([client.CairnError, langgraph.CairnError, mcp.CairnError]).size,
  models: new Set([library.scriptedModel, testing.scriptedModel]).size,
  mcpError: errorOf(() => mcpTools.mcpServer({ name: "", command: "desk" })) instanceof library.AgentInvalid,
  effectError: errorOf(() => effects.sqlEffect({})) instanceof library.AgentInvalid,
  name: manifest.name,
});

export const one = library.defineAgent({
  name: "one", version: "1", instructions: "", task: z.object({ to: z.string() }), tools: {},
  model: library.scriptedModel({ name: "m", reply: () => ({ text: "done" }) }), price: { inUsd: 1, outUsd: 1 },
});
`;

/** What that agent sees where all entry points are one library. */
export const ONE_LIBRARY = { clientErrors: 1, models: 1, mcpError: true, effectError: true, name: "cairn-run" };

/** The variables of the function of the API. They name no store that exists. */
const ENV = {
  AWS_REGION: "us-east-1",
  CAIRN_TABLE: "t",
  CAIRN_BUCKET: "b",
  CAIRN_BEAT_SECONDS: "60",
  CAIRN_MACHINE: "arn:aws:states:us-east-1:000000000000:stateMachine:m",
  CAIRN_PARAMETERS: "[]",
};

/** Lets the bundled API refuse an input of the agent, which it loads for that, in a process of its own. */
export function seenByApi(functions: string): { readonly status: number; readonly seen: unknown } {
  const url = JSON.stringify(pathToFileURL(join(functions, "api", "index.mjs")).href);
  const event = gatewayEvent({
    method: "POST",
    path: "/runs",
    body: JSON.stringify({ agent: "one", input: { to: 7 } }),
  });
  const code = `const { handler } = await import(${url});
    const { statusCode: status } = await handler(${JSON.stringify(event)});
    console.log(JSON.stringify({ status, seen: globalThis.seen() }));`;
  const env = { PATH: process.env["PATH"] ?? "", ...ENV };
  const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", code], {
    env,
    encoding: "utf8",
  });
  if (stderr !== "") throw new Error(stderr);
  return JSON.parse(stdout) as { readonly status: number; readonly seen: unknown };
}

/** How often the bundled function of beats defines a class of the library, and one of zod. */
export function definitionsIn(functions: string): { readonly outcome: number; readonly zod: number } {
  const beat = join(functions, "beat");
  const text = readdirSync(beat, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".mjs"))
    .map((file) => readFileSync(join(beat, file), "utf8"))
    .join("\n");
  const times = (part: RegExp): number => [...text.matchAll(part)].length;
  return { outcome: times(/name="OutcomeUnknown"/g), zod: times(/\("ZodObject",/g) };
}
