/** Whole runs of a topology, in memory: with a model that knows its role, and with a process that dies at any call. */
import { z } from "zod";
import type { Agent, Topology } from "../../../src/ports/agent.ts";
import { type Conversation, type ScriptedReply, defineAgent, scriptedModel } from "../../../src/index.ts";
import type { Json } from "../../../src/core/json.ts";
import type { TaskResult } from "../../../src/protocol/chain.ts";
import { show, timeline } from "../../../src/operations/views.ts";
import { type CrashPoint, crashAtCall } from "../faults/crash-at-call.ts";
import { beginRun } from "../harness/drive.ts";
import { type Harness, createChainHarness, MS } from "../harness/harness.ts";
import { type Household, householdOf } from "./parent-steps.ts";

/** What the model was asked: its instructions, the tools it saw, and the last message. */
export interface Asked {
  readonly instructions: string;
  readonly tools: readonly string[];
  readonly texts: readonly string[];
}

/** An agent whose model replies by role; every request is kept. */
export function roleAgent(
  topology: Topology,
  of: Partial<Parameters<typeof defineAgent>[0]> & {
    readonly reply: (conversation: Conversation) => ScriptedReply;
  },
): { readonly agent: Agent; readonly asked: Asked[] } {
  const { reply, ...rest } = of;
  const asked: Asked[] = [];
  const scripted = scriptedModel({ name: "script", reply });
  const model: typeof scripted = {
    ...scripted,
    doGenerate: (call) => {
      const [system, ...others] = call.prompt;
      const texts = others.map(({ content }) =>
        typeof content === "string"
          ? content
          : content.flatMap((part) => (part.type === "text" ? [part.text] : [`(${part.type})`])).join(" "),
      );
      const instructions = typeof system?.content === "string" ? system.content : "";
      asked.push({ instructions, tools: (call.tools ?? []).map(({ name }) => name), texts });
      return scripted.doGenerate(call);
    },
  };
  const agent = defineAgent({
    ...{ name: "actor", version: "1", instructions: "Be brief.", task: z.object({}), model, tools: {}, topology },
    ...rest,
  }) as Agent;
  return { agent, asked };
}

/**
 * Plays a run to its end, or until nothing happens for an hour. `crash`: its first process dies there, and then
 * `afterDeath` changes the world.
 */
export async function playRun(
  agent: Agent,
  of: {
    readonly crash?: CrashPoint;
    readonly afterDeath?: (harness: Harness) => void;
    readonly harness?: Harness;
    readonly input?: Json;
    /** The agents of its child runs. */
    readonly others?: readonly Agent[];
    /** What happens before the process that may die. */
    readonly before?: (house: Household) => Promise<void>;
  } = {},
) {
  const harness = of.harness ?? createChainHarness();
  const { run } = await beginRun(harness.world, agent, of.input ?? {});
  const agents = [agent, ...(of.others ?? [])];
  await of.before?.(householdOf({ harness, agents, run }));
  const lives = of.crash === undefined || (await survives(harness, agents, of.crash));
  if (!lives) of.afterDeath?.(harness);
  await harness.runForTime(agents, MS.hour);
  const shown = await show(harness.world, run);
  const events = (await timeline(harness.world, { run, after: 0 })) ?? [];
  const moves = events.flatMap((event) => (event.kind === "TopologyMoved" ? [event] : []));
  const cracks = events.flatMap((event) => (event.kind === "CrackSignalled" ? [event.crack] : []));
  return { harness, run, lives, shown, events, moves, cracks };
}

async function survives(harness: Harness, agent: readonly Agent[], crash: CrashPoint): Promise<boolean> {
  const process = crashAtCall(harness.world, crash);
  for (
    let next = harness.world.chain.next();
    next !== null && next <= harness.clock.now() + MS.hour;
    next = harness.world.chain.next()
  ) {
    const out = harness.startAttempt();
    let result: TaskResult | null = null;
    const lives = await harness.advanceUntilSettled(
      process.survives(async (world) => {
        result = await out.perform({ world, agent });
      }),
    );
    out.end(result);
    if (!lives) return false;
  }
  return true;
}
