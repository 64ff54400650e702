/** An agent that sends one letter by a probed tool. The post office knows no keys: it only shows what it has sent. */
import { z } from "zod";
import type { Agent, Tool } from "../../../src/ports/agent.ts";
import { defineAgent, scriptedModel, tool } from "../../../src/index.ts";
import { FINAL_REPLY } from "../harness/harness.ts";

interface PostOffice {
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

/** An agent that sets these addresses, one after the other, and the service that keeps them. */
export function addressBook(addresses: readonly string[], change: Partial<Tool> = {}) {
  const written: string[] = [];
  const service = { written, write: (to: string): void => void written.push(to) };
  const act = tool({
    input: z.object({ to: z.string() }),
    effect: "idempotent",
    timeoutMs: 400,
    run: ({ input }) => {
      service.write(input.to);
      return "set";
    },
  });
  const agent = defineAgent({
    name: "mover",
    version: "1",
    instructions: "",
    task: z.object({}),
    model: scriptedModel({
      name: "script",
      reply: ({ calls }) => {
        const to = addresses[calls.length];
        return to === undefined ? FINAL_REPLY : { calls: [{ tool: "act", args: { to } }] };
      },
    }),
    tools: { act: { ...act, ...change } as Tool },
  }) as Agent;
  return { agent, service };
}
