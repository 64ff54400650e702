/** The tools of a history whose calls wait, and the script that asks for them. */
import { z } from "zod";
import { askHuman, sleep, waitFor } from "../../../src/index.ts";
import type { Tool } from "../../../src/ports/agent.ts";
import type { Script } from "../script.ts";
import type { SeededChoices } from "../seeded-choices.ts";
import type { WaitPlan } from "./wait-plan.ts";

const INPUT = z.object({ step: z.number(), index: z.number() });

/** An answer and an event each carry a number that no other has, so that the history shows whose counts. */
const NUMBERED = z.object({ n: z.number() });

/** What counts where nothing came in time. */
const NOTHING = { n: -1 };

export const eventOf = ({ step }: { readonly step: number }): string => `step-${step}`;

export function waitTools(plan: WaitPlan | null): Readonly<Record<string, Tool>> {
  if (plan === null) return {};
  const limit = { timeLimit: plan.limitMs, atLimit: plan.atLimit === "take" ? { take: NOTHING } : "tell" } as const;
  return {
    ask: askHuman({ input: INPUT, answer: NUMBERED, ...limit }) as Tool,
    event: waitFor({ input: INPUT, event: eventOf, detail: NUMBERED, ...limit }) as Tool,
    rest: sleep() as Tool,
  };
}

const SLEEP_SECONDS = 3;

/** The same script, with calls that wait before the others of some steps. */
export function withWaits(script: Script, chance: SeededChoices): Script {
  const steps = script.steps.map((calls, step) => {
    const kind = chance.pick(["ask", "ask", "event", "event", "rest", null] as const);
    if (kind === null) return calls;
    if (kind === "rest") return [{ tool: "rest", args: { seconds: 1 + chance.below(SLEEP_SECONDS) } }, ...calls];
    return [
      ...Array.from({ length: 1 + chance.below(2) }, (_, index) => ({ tool: kind, args: { step, index } })),
      ...calls,
    ];
  });
  return { ...script, steps };
}
