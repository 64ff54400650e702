/** An agent that sends one letter by a probed tool. The post office knows no keys: it only shows what it has sent. */
import { z } from "zod";
import type { Agent, Tool } from "../../../src/ports/agent.ts";
import { defineAgent, scriptedModel, tool } from "../../../src/index.ts";
import { FINAL_REPLY } from "../harness/harness.ts";

export interface PostOffice {
  readonly agent: Agent;
  /** All letters to Ada, also those of others. */
  readonly letters: string[];
  /** What each probe got as before-image. */
  readonly images: unknown[];
}

/** `probe` decides by the number of letters before and now. `change`: other options of the tool. */
export function postOffice(letters: string[], change: Partial<Tool> = {}): PostOffice {
  const images: unknown[] = [];
  const send = tool({
    input: z.object({}),
    effect: "probed",
    timeoutMs: 400,
    before: () => letters.length,
    run: ({ key }) => {
      letters.push(key);
      return "sent";
    },
    probe: ({ before }) => {
      images.push(before);
      return letters.length > Number(before) ? { kind: "happened", result: "sent" } : { kind: "absent" };
    },
  });
  const agent = defineAgent({
    name: "writer",
    version: "1",
    instructions: "",
    task: z.object({}),
    model: scriptedModel({
      name: "script",
      reply: ({ calls }) => (calls.length === 0 ? { calls: [{ tool: "act", args: {} }] } : FINAL_REPLY),
    }),
    tools: { act: { ...send, ...change } as Tool },
  }) as Agent;
  return { agent, letters, images };
}
