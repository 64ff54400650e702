/** An agent whose model is asynchronous, and what its provider knows about the jobs. */
import { z } from "zod";
import { defineAgent, tool } from "../../../src/index.ts";
import type { Agent, Tool } from "../../../src/ports/agent.ts";
import {
  type ScriptedAsynchronousModel,
  type ScriptedAsynchronousOptions,
  scriptedAsynchronousModel,
} from "../../../src/sdk/scripted-asynchronous.ts";
import type { Conversation } from "../../../src/sdk/conversation.ts";
import type { ScriptedReply } from "../../../src/sdk/scripted.ts";

/** A tool call, then the end. */
const looksOnce = ({ resultOf }: Conversation): ScriptedReply =>
  resultOf("look") === undefined
    ? { calls: [{ tool: "look", args: {} }], tokensIn: 40, tokensOut: 4 }
    : { text: "over", tokensIn: 60, tokensOut: 6 };

const look = tool({ input: z.object({}), effect: "none", run: () => "seen" }) as unknown as Tool;

export interface AsynchronousAgent {
  readonly agent: Agent;
  readonly model: ScriptedAsynchronousModel;
}

export function asynchronousAgent(
  of: Partial<ScriptedAsynchronousOptions> = {},
  change: Partial<Agent> = {},
): AsynchronousAgent {
  const model = scriptedAsynchronousModel({ name: "slow", reply: looksOnce, ...of });
  const agent = defineAgent({
    ...{ name: "actor", version: "1", model, instructions: "", task: z.object({}), tools: { look } },
    price: { inUsd: 1, outUsd: 10 },
  }) as Agent;
  return { agent: { ...agent, ...change }, model };
}
