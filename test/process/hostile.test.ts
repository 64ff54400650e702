/** Real processes whose tools return and throw the worst: no worker dies of it, and the run knows what happened. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { cairn, desk } from "../support/cli.ts";

const WORST = `
import { defineAgent, scriptedModel, tool } from "cairn";
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

test("what tools return and throw ends no process, and costs no call its outcome", async () => {
  const at = desk();
  writeFileSync(join(at.dir, "worst.ts"), WORST);
  const started = await cairn(at, ["start", "./worst.ts", "--wait", "--json"]);
  expect([started.exit, started.err]).toEqual([0, expect.stringContaining("uncaught error in worker")]);
  const run = /local-[a-z2-7]{26}/.exec(started.out)?.[0] ?? "";
  const shown = JSON.parse((await cairn(at, ["show", run, "--json"])).out) as Record<string, unknown>;
  expect(shown).toMatchObject({
    status: "completed",
    result: "deep succeeded, late succeeded, thorny failed, look succeeded",
    takeovers: 0,
  });
});
