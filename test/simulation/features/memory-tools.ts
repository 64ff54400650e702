/** The memory of a history: what its agent recalls and learns, a tool that writes, and people who change entries. */
import { z } from "zod";
import { tool } from "../../../src/index.ts";
import { memoryOf } from "../../../src/features/memory/stored.ts";
import type { Memory } from "../../../src/ports/memory.ts";
import type { Tool } from "../../../src/ports/agent.ts";
import type { World } from "../../../src/ports/world.ts";
import { retryUntilAcknowledged } from "../operator-attempts.ts";
import type { Script } from "../script.ts";
import type { SeededChoices } from "../seeded-choices.ts";
import type { Sim } from "../sim.ts";
import type { FeatureLog } from "./log.ts";
import type { MemoryPlan } from "./memory-plan.ts";

/** A write of an entry that was acknowledged. */
export interface MemoryWrite {
  readonly id: string;
  readonly text: string;
}

/** The entry that the run recalls, and that people change. */
export const FACT = "fact";
export const factText = (version: number): string => `The fact of version ${version}.`;
/** The version of the fact in a text that shows it; null: it shows none. */
export const factIn = (text: string): number | null => {
  const [, version] = /The fact of version (\d+)\./.exec(text) ?? [];
  return version === undefined ? null : Number(version);
};

export const LEARNED = ["It went well.", "It took a while."] as const;

/** The memory of the simulated agent. */
const memoryIn = (world: World): Memory => memoryOf(world, { tenant: "local", scope: "actor" });

export const rememberFact = async (world: World): Promise<void> => {
  await memoryIn(world).put({ id: FACT, text: factText(0) });
};

export const memoryPolicy = (plan: MemoryPlan | null) =>
  plan === null ? {} : { memory: { recall: () => "fact", learn: () => LEARNED.map((text) => ({ text })) } };

export function memoryTools(plan: MemoryPlan | null, log: FeatureLog): Readonly<Record<string, Tool>> {
  if (plan === null) return {};
  const remember = tool({
    input: z.object({ step: z.number(), index: z.number() }),
    effect: "none",
    run: async ({ input, memory }) => {
      const entry = { id: `note-${input.step}.${input.index}`, text: `The note of ${input.step}.${input.index}.` };
      const { kind } = await memory.put(entry);
      if (kind === "kept" || kind === "unchanged") log.written.push(entry);
      return kind;
    },
  });
  return { remember: remember as Tool };
}

/** The same script, some of whose steps write a note first. */
export const withNotes = (script: Script, chance: SeededChoices): Script => ({
  ...script,
  steps: script.steps.map((calls, step) =>
    chance.oneIn(2) ? [{ tool: "remember", args: { step, index: 0 } }, ...calls] : calls,
  ),
});

/** Somebody changes the fact, and is not content before that is acknowledged. One of them does so at a time. */
export async function reviseFact(sim: Sim): Promise<void> {
  const { features: log } = sim;
  if (log.isRevising) return;
  log.isRevising = true;
  const version = log.revisions + 1;
  const kind = await retryUntilAcknowledged<string>(sim, {
    act: async (world) => (await memoryIn(world).put({ id: FACT, text: factText(version) })).kind,
    mayGiveUp: () => false,
  });
  log.revisions = version;
  log.isRevising = false;
  sim.record.note("person", `revises the fact to version ${version} → ${kind}`);
}
