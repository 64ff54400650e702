/** Real processes whose tools return and throw the worst: no worker dies of it, and the run knows what happened. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  LONG_TIMEOUTS,
  createCliFolder,
  runCairn,
  spawnCairn,
  waitForOutput,
} from "../support/processes/cli-process.ts";

const WORST = `
import { defineAgent, scriptedModel, tool } from "cairn-run";
import { z } from "zod";

const input = z.object({});
const steps = ["deep", "late", "thorny", "look"];

const nested = (depth) => {
  let value = 1;
  for (let level = 0; level < depth; level += 1) value = [value];
  return value;
};

export const worst = defineAgent({
  name: "worst", version: "1", instructions: "", task: z.object({}),
  model: scriptedModel({
    name: "m",
    reply: ({ calls }) =>
      calls.length < steps.length
        ? { calls: [{ tool: steps[calls.length], args: {} }] }
        : { text: calls.map(({ tool, outcome }) => tool + " " + outcome).join(", ") },
  }),
  tools: {
    deep: tool({ effect: "unsafe", input, run: () => ({ sent: nested(3_000) }) }),
    late: tool({ effect: "unsafe", input, run: () => { setImmediate(() => { throw null; }); return "sent"; } }),
    thorny: tool({
      effect: "keyed", input,
      run: async () => {
        const { proxy, revoke } = Proxy.revocable(new Error("x"), {});
        revoke();
        throw proxy;
      },
    }),
    look: tool({ effect: "none", input, run: () => "seen" }),
  },
});`;

test("tool results and errors of any kind end no process and lose no call's outcome", async () => {
  const at = createCliFolder(LONG_TIMEOUTS);
  writeFileSync(join(at.dir, "worst.ts"), WORST);
  const started = await runCairn(at, ["start", "./worst.ts", "--wait", "--json"]);
  expect({ exit: started.exit, err: started.err }).toEqual({
    exit: 0,
    err: expect.stringContaining("uncaught error in worker"),
  });
  const run = /local-[a-z2-7]{26}/.exec(started.out)?.[0] ?? "";
  const shown = JSON.parse((await runCairn(at, ["show", run, "--json"])).out) as Record<string, unknown>;
  expect(shown).toMatchObject({
    status: "completed",
    result: "deep succeeded, late succeeded, thorny failed, look succeeded",
    takeovers: 0,
  });
});

const DESTRUCTIVE_AGENT = `
import { defineAgent, scriptedModel, tool } from "cairn-run";
import { z } from "zod";

globalThis.vandals = (globalThis.vandals ?? 0) + 1;
const input = z.object({});
const tools = {
  json: () => { JSON.stringify = () => '"ruined"'; },
  clock: () => { Object.defineProperty(Date, "now", { value: () => 0 }); },
  timers: () => { globalThis.setTimeout = () => { throw new Error("no timers"); }; },
  objects: () => { Object.keys = () => []; },
  count: () => globalThis.vandals,
};
const agent = (name) => defineAgent({
  name, version: "1", instructions: "", task: z.object({}),
  model: scriptedModel({
    name: "m",
    reply: ({ calls }) => {
      const step = Object.keys(tools)[calls.length];
      return step === undefined
        ? { text: calls.map(({ tool, outcome, result }) => tool + " " + outcome + " " + result).join(", ") }
        : { calls: [{ tool: step, args: {} }] };
    },
  }),
  tools: Object.fromEntries(Object.entries(tools).map(([name, run]) => [name, tool({ effect: "none", input, run })])),
});
export const NAME = agent("NAME");`;

test("a tool that replaces built-in functions fails and affects no other agent", async () => {
  const at = createCliFolder(LONG_TIMEOUTS);
  for (const name of ["vandal", "guest"])
    writeFileSync(join(at.dir, `${name}.ts`), DESTRUCTIVE_AGENT.replaceAll("NAME", name));
  writeFileSync(
    join(at.dir, "cairn.config.ts"),
    'export const config = { agents: ["./vandal.ts", "./guest.ts"], workers: 1 };',
  );
  const supervisor = spawnCairn(at, ["work", "--json"]);
  await waitForOutput(supervisor, "supervising");
  const results: unknown[] = [];
  for (const name of ["vandal", "guest", "vandal"]) {
    const started = await runCairn(at, ["start", name, "--wait", "--json"]);
    const run = /local-[a-z2-7]{26}/.exec(started.out)?.[0] ?? "";
    const shown = JSON.parse((await runCairn(at, ["show", run, "--json"])).out) as Record<string, unknown>;
    expect(shown).toMatchObject({ status: "completed", takeovers: 0 });
    results.push(shown["result"]);
  }
  expect(supervisor.out().split("workerSpawned")).toHaveLength(1 + results.length);
  const refused = ["json", "clock", "timers", "objects"].map((tool) => expect.stringContaining(`${tool} failed`));
  for (const result of results) expect(String(result).split(", ")).toEqual([...refused, "count succeeded 1"]);
});
