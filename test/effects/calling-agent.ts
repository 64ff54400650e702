/** An agent that calls one tool with the given arguments, one call after the other. */
import { z } from "zod";
import { defineAgent, scriptedModel } from "../../src/index.ts";
import type { Json } from "../../src/core/json.ts";
import type { Tool } from "../../src/ports/agent.ts";

export const callingAgent = (of: {
  readonly act: Tool;
  readonly args: readonly Json[];
  /** `failed`: its budget ends before its last call, so it undoes the others. */
  readonly end?: "completed" | "failed";
  readonly secrets?: readonly string[];
}) => {
  const { act, args, end = "completed", secrets = [] } = of;
  return defineAgent({
    name: "caller",
    version: "1",
    instructions: "Make the calls, one after the other.",
    model: scriptedModel({
      name: "caller-model",
      reply: ({ calls }) => {
        const next = args[calls.length];
        return next === undefined ? { text: "All calls are made." } : { calls: [{ tool: "act", args: next }] };
      },
    }),
    task: z.object({}),
    tools: { act },
    budget: { beats: end === "failed" ? args.length - 1 : 30 },
    saga: { onFailure: "undo" },
    secrets,
  });
};
