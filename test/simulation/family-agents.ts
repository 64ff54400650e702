/** The agents of a family: who dispatches how many children, and how each of them fails. Drawn once from the seed. */
import { z } from "zod";
import type { Agent } from "../../src/ports/agent.ts";
import {
  type Conversation,
  type ScriptedReply,
  childTool,
  defineAgent,
  react,
  scriptedModel,
  tool,
} from "../../src/index.ts";
import type { SeededChoices } from "./seeded-choices.ts";

export interface FamilyPlan {
  /** Levels of bosses: 1 or 2. The workers are below them. */
  readonly levels: 1 | 2;
  /** How many children a boss dispatches at once, and whether it does so twice. */
  readonly width: number;
  readonly isTwice: boolean;
  readonly deadlineMs: number;
  readonly tries: number;
  /** One of its children is left alone. */
  readonly leaves: boolean;
  /** The boss fails at its end, and undoes what it did. */
  readonly fails: boolean;
  readonly restarts: number;
  readonly beats: number;
  readonly takeovers: number;
  readonly faultOneIn: number;
  readonly disturbOneIn: number;
  readonly wishes: readonly ("cancel" | "undo" | "restart" | "pause" | "send" | "remove")[];
}

export function familyPlan(chance: SeededChoices): FamilyPlan {
  const levels = chance.oneIn(3) ? 2 : 1;
  return {
    levels,
    width: levels === 2 ? 1 + chance.below(3) : 1 + chance.below(8),
    isTwice: chance.oneIn(3),
    deadlineMs: chance.pick([600, 4_000, 30_000, 600_000]),
    tries: 1 + chance.below(3),
    leaves: chance.oneIn(4),
    fails: chance.oneIn(4),
    restarts: chance.below(2),
    beats: chance.pick([25, 60, 400]),
    takeovers: chance.oneIn(6) ? 1 : 1_000,
    faultOneIn: chance.pick([25, 60, 200]),
    disturbOneIn: chance.pick([60, 200, 900]),
    wishes: chance.pick([
      ["send", "remove"],
      ["cancel", "remove"],
      ["restart", "remove", "send"],
      ["undo", "pause"],
      ["pause", "remove"],
    ] as const),
  };
}

interface Around {
  /** Effects outside, by key. */
  readonly effects: Map<string, number>;
  readonly isCalm: () => boolean;
  readonly chance: SeededChoices;
  readonly pause: () => Promise<void>;
}

const PART = z.object({ part: z.number() });
const MEMO = z.object({ memo: z.string() });
const HANGS_ONE_IN = 25;
const LIES_ONE_IN = 20;

/** The root first, then the agents of its children. */
export function agentsOf(plan: FamilyPlan, around: Around): readonly Agent[] {
  const below = plan.levels === 2 ? [bossOf(plan, around, { name: "middle", child: "worker" })] : [];
  const root = bossOf(plan, around, { name: "root", child: plan.levels === 2 ? "middle" : "worker" });
  return [root, ...below, workerOf(around)];
}

function bossOf(plan: FamilyPlan, around: Around, { name, child }: { name: string; child: string }): Agent {
  const grant = name === "root" && plan.levels === 2 ? 24 : 4;
  const parts = Array.from({ length: plan.width }, (_, part) => part);
  const asked = (from: number): ScriptedReply => ({
    calls: [
      ...parts.map((part) => ({ tool: plan.leaves && part === 1 ? "leave" : "ask", args: { part: part + from } })),
      { tool: "act", args: { part: from } },
    ],
    tokensIn: 5,
    tokensOut: 1,
  });
  const rounds = plan.isTwice ? 2 : 1;
  const reply = ({ calls }: Conversation): ScriptedReply => {
    const round = Math.floor(calls.length / (plan.width + 1));
    if (round < rounds) return asked(round * 10);
    return plan.fails ? { tokensIn: 1, tokensOut: 0 } : { text: "over", tokensIn: 1, tokensOut: 1 };
  };
  const shared = { agent: child, description: "a child", input: PART, budget: { beats: grant }, tries: plan.tries };
  return defineAgent({
    ...{ name, version: "1", instructions: "", task: z.object({}).loose(), topology: react({ maxBeats: 400 }) },
    ...{
      loops: "ignore",
      budget: { beats: name === "middle" ? 60 : Math.max(plan.beats, grant), takeovers: plan.takeovers },
    },
    saga: { restarts: plan.restarts },
    model: scriptedModel({ name, reply: thinking(around, reply) }),
    tools: {
      ask: childTool({ ...shared, output: MEMO, deadlineMs: plan.deadlineMs }),
      leave: childTool({ ...shared, wait: false }),
      act: actOf(around),
    },
    result: () => ({ memo: name }),
  }) as Agent;
}

const workerOf = (around: Around): Agent =>
  defineAgent({
    ...{ name: "worker", version: "1", instructions: "", task: PART.loose(), loops: "ignore", budget: { beats: 9 } },
    model: scriptedModel({
      name: "worker",
      reply: thinking(around, ({ calls }) =>
        calls.length === 0
          ? { calls: [{ tool: "act", args: { part: 0 } }], tokensIn: 3, tokensOut: 1 }
          : { text: "over", tokensIn: 1, tokensOut: 1 },
      ),
    }),
    tools: { act: actOf(around) },
    result: () => (!around.isCalm() && around.chance.oneIn(LIES_ONE_IN) ? { text: 1 } : { memo: "part" }),
  }) as unknown as Agent;

/** A model that takes its turn, and now and then never answers. */
const thinking =
  ({ pause, isCalm, chance }: Around, reply: (conversation: Conversation) => ScriptedReply) =>
  async (conversation: Conversation): Promise<ScriptedReply> => {
    await pause();
    if (!isCalm() && chance.oneIn(HANGS_ONE_IN)) await new Promise(() => undefined);
    return reply(conversation);
  };

/** An effect that is counted under its key, and undone under another. */
const actOf = ({ effects, pause }: Around) =>
  tool({
    input: PART,
    effect: "keyed",
    timeoutMs: 500,
    run: async ({ key }) => {
      await pause();
      effects.set(key, 1);
      return "acted";
    },
    undo: { effect: "keyed", run: async () => "undone" },
  });
