/** An agent that sends three letters and pays for them, with the services that it calls. */
import { z } from "zod";
import { defineAgent, tool } from "../../src/index.ts";
import { fakeService, scriptedModel } from "../../src/testing/kit/index.ts";
import type { FakeServiceOptions } from "../../src/testing/kit/index.ts";
import type { Tool } from "../../src/ports/agent.ts";

interface Letter {
  readonly number: number;
}

export function lettersAgent(
  of: {
    readonly service?: Partial<FakeServiceOptions<Letter, unknown>>;
    readonly effect?: Tool["effect"];
    readonly approval?: Tool["approval"];
    readonly letters?: number;
  } = {},
) {
  const { effect = "keyed", approval = "never", letters = 3 } = of;
  const post = fakeService<Letter, unknown>({
    name: "post",
    reply: ({ number }) => ({ sent: number }),
    ...of.service,
  });
  const send = tool({
    ...{ description: "Sends a letter.", input: z.object({ number: z.int() }), effect, approval, run: post.call },
    ...(effect === "probed" ? { probe: post.probe } : {}),
  });
  const clerk = defineAgent({
    name: "clerk",
    version: "1",
    instructions: "Send the letters, one after the other.",
    model: scriptedModel({
      name: "clerk-model",
      reply: ({ calls }) =>
        calls.filter(({ outcome }) => outcome === "succeeded").length < letters
          ? { calls: [{ tool: "send", args: { number: calls.length + 1 } }] }
          : { text: "All are sent." },
    }),
    task: z.object({ to: z.string() }),
    tools: { send },
    budget: { beats: 30 },
  });
  return { post, clerk };
}

export const INPUT = { to: "Ada" };
