/** A schema makes another value of the same arguments at each parse, and processes die in between. */
import { expect, test } from "vitest";
import { z } from "zod";
import { check, defineAgent, scriptedModel, tool } from "../../src/index.ts";
import { fakeService, runAgent } from "../../src/testing/kit/index.ts";
import { SafetyViolation } from "../support/gate/safety.ts";

let parses = 0;
const input = z.object({ euros: z.number(), stamp: z.number().default(() => (parses += 1)) });
type Input = z.output<typeof input>;

const bank = fakeService({
  name: "bank",
  reply: ({ stamp }: Input) => ({ stamp }),
  subject: ({ euros }) => `${euros}`,
});

/** What was approved and what was undone, by the arguments as proposed. */
const seen: { readonly by: string; readonly euros: number; readonly stamp: number }[] = [];

const payer = defineAgent({
  ...{ name: "payer", version: "1", instructions: "", task: z.object({}) },
  model: scriptedModel({
    name: "script",
    reply: ({ calls }) =>
      calls.length === 0
        ? { calls: [1, 2].map((euros) => ({ tool: "pay", args: { euros } })) }
        : { text: "the payments are made" },
  }),
  tools: {
    pay: tool({
      input,
      effect: "keyed",
      approval: (given) => {
        seen.push({ by: "approval", ...given });
        return given.euros === 1 ? "the first one" : false;
      },
      run: bank.call,
      undo: {
        effect: "keyed",
        run: (context) => {
          seen.push({ by: "undo", ...context.input });
          bank.undo(context);
        },
      },
    }),
  },
  done: [check("never", () => "it never is")],
  saga: { onFailure: "undo" },
  budget: { beats: 3 },
});

test("schedule 204: a process dies after a human approved a call, and the next one would parse its arguments to another value; each key leaves with one body", async () => {
  const options = { input: {}, services: [bank] } as const;
  const { points, status } = await runAgent(payer, options);
  expect({ status, hasManyPoints: points.length > 20 }).toEqual({ status: "failed", hasManyPoints: true });
  for (const killAt of points) {
    seen.length = 0;
    const run = await runAgent(payer, { ...options, killAt });
    expect({ status: run.status, killed: run.killed }).toEqual({ status: "failed", killed: [killAt] });
    const bodies = Map.groupBy(bank.requests, ({ key }) => key);
    for (const [key, requests] of bodies) {
      const sent = new Set(requests.map((request) => JSON.stringify(request.input)));
      expect(requests[0]?.input).toEqual({ euros: expect.any(Number), stamp: expect.any(Number) });
      if (sent.size > 1) throw new SafetyViolation(`${killAt}: ${key} left with ${[...sent].join(" and ")}`);
    }
    const intents = run.timeline.filter((event) => event.kind === "ToolIntended");
    for (const { key, parsed } of intents) {
      const sent = bodies.get(key)?.[0]?.input;
      if (parsed === undefined || sent === undefined) continue;
      expect(parsed).toEqual({ as: "value", json: { kind: "inline", json: sent } });
    }
    for (const { by, euros, stamp } of seen.filter((each) => each.by === "undo")) {
      const sent = bank.requests.find((request) => (request.input as Input).euros === euros)?.input;
      expect({ by, euros, stamp }).toEqual({ by: "undo", euros, stamp: (sent as Input).stamp });
    }
  }
});
