/** The agents of a family: bosses that dispatch children, and workers that hang, break their schema or echo the task. */
import { z } from "zod";
import type { Json } from "../../src/core/json.ts";
import type { Agent, ToolContext } from "../../src/ports/agent.ts";
import { type Conversation, type ScriptedReply, childTool, defineAgent, scriptedModel, tool } from "../../src/index.ts";
import type { FamilyService } from "./family-service.ts";
import { roundOf, topologyOfBoss } from "./family-topologies.ts";
import { BOSSES, type FamilyPlan, grantAt } from "./family-plan.ts";
import type { SeededChoices } from "./seeded-choices.ts";

interface Around {
  readonly isCalm: () => boolean;
  readonly chance: SeededChoices;
  readonly service: FamilyService;
  /** That of all processes. */
  readonly trouble: ReturnType<typeof troubleOf>;
  readonly pause: () => Promise<void>;
  readonly sleep: (ms: number) => Promise<void>;
  /** How often the boss of that run has asked for it. */
  readonly dispatchOf: (run: string) => number;
}

const PART = z.object({ part: z.number() });
const MEMO = z.object({ memo: z.string() });
const HANGS_ONE_IN = 25;

/** The root first, then the agents of its children. */
export function agentsOf(plan: FamilyPlan, around: Around): readonly Agent[] {
  return [...plan.widths.map((_, level) => bossOf(plan, around, level)), workerOf(plan, around)];
}

function bossOf(plan: FamilyPlan, around: Around, level: number): Agent {
  const name = BOSSES[level] ?? "root";
  const isLast = level + 1 === plan.widths.length;
  const child = isLast ? "worker" : (BOSSES[level + 1] ?? "worker");
  const width = plan.widths[level] ?? 1;
  const grant = grantAt(plan, level);
  const enough = 10 + 6 * width * grant;
  const parts = Array.from({ length: width }, (_, part) => part);
  const asked = (from: number): ScriptedReply => ({
    calls: [
      ...parts.map((part) => ({ tool: plan.leaves && part === 1 ? "leave" : "ask", args: { part: part + from } })),
      { tool: "act", args: { part: from } },
    ],
    tokensIn: 5,
    tokensOut: 1,
  });
  const rounds = plan.isTwice ? 2 : 1;
  const kind = plan.bosses[level] ?? "react";
  const reply = (conversation: Conversation): ScriptedReply => {
    const round = roundOf(kind, { conversation, width, rounds });
    if (typeof round === "number") return asked(round * 10);
    if (round !== "over") return round;
    return plan.failsAt === level ? { tokensIn: 1, tokensOut: 0 } : { text: "over", tokensIn: 1, tokensOut: 1 };
  };
  const shared = { agent: child, description: "a child", input: PART, budget: { beats: grant }, tries: plan.tries };
  return defineAgent({
    ...{ name, version: "1", instructions: "", task: z.object({}).loose() },
    topology: topologyOfBoss(kind, { rounds, tools: ["act", "leave"] }),
    ...{
      loops: "ignore",
      budget: {
        beats: level === 0 && plan.beats !== null ? Math.max(plan.beats, grant) : enough,
        takeovers: plan.takeovers,
      },
    },
    saga: { restarts: plan.restarts },
    model: scriptedModel({ name, reply: thinking(around, reply, level === 0 ? plan.slowMs : 0) }),
    tools: {
      ask: childTool({ ...shared, output: MEMO, deadlineMs: plan.deadlineMs }),
      leave: childTool({ ...shared, wait: false }),
      act: actOf(around),
    },
    result: () => ({ memo: name }),
  }) as Agent;
}

function workerOf(plan: FamilyPlan, around: Around): Agent {
  const { trouble } = around;
  const worker = defineAgent({
    ...{ name: "worker", version: "1", instructions: "", task: PART.loose(), loops: "ignore" },
    budget: { beats: 20, takeovers: plan.takeoversOfWorker },
    model: scriptedModel({
      name: "worker",
      reply: thinking(around, ({ calls }) =>
        calls.length === 0
          ? { calls: [{ tool: "act", args: { part: 0 } }], tokensIn: 3, tokensOut: 1 }
          : (trouble.reply() ?? { text: "over", tokensIn: 1, tokensOut: 1 }),
      ),
    }),
    tools: { act: workOf(plan, around) },
    // Now and then the answer breaks its schema, gives the task back, or is none.
    result: ({ task }) => {
      trouble.result();
      return !around.isCalm() && around.chance.oneIn(plan.liesOneIn)
        ? around.chance.pick<Json>([{ text: 1 }, { part: task.part }, null])
        : { memo: "part" };
    },
  }) as unknown as Agent;
  return { ...worker, outageMaxMs: plan.failsOneIn > 0 ? OUTAGE_MS_MAX : worker.outageMaxMs };
}

/** Longer than the quick retries. */
const OUTAGE_MS_MAX = 8_000;

/** Trouble that lasts for some replies of the workers' model: its provider is away, or it answers nothing. */
export function troubleOf(
  { failsOneIn }: FamilyPlan,
  { isCalm, own }: Pick<Around, "isCalm"> & { own: SeededChoices },
) {
  const begins = (): boolean => failsOneIn > 0 && !isCalm() && own.oneIn(failsOneIn);
  let [left, isAway] = [0, false];
  return {
    reply: (): ScriptedReply | null => {
      if (left === 0 && begins()) [left, isAway] = [2 + own.below(7), own.oneIn(2)];
      if (left === 0 || isCalm()) return null;
      left -= 1;
      if (isAway) throw Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
      return { tokensIn: 1, tokensOut: 0 };
    },
    result: (): void => {
      if (begins()) throw new Error("no figures");
    },
  };
}

/** A model that takes its turn, and now and then never answers. */
const thinking =
  ({ pause, sleep, isCalm, chance }: Around, reply: (conversation: Conversation) => ScriptedReply, slowMs = 0) =>
  async (conversation: Conversation): Promise<ScriptedReply> => {
    await pause();
    if (slowMs > 0 && !isCalm()) await sleep(chance.below(slowMs));
    if (!isCalm() && chance.oneIn(HANGS_ONE_IN)) await new Promise(() => undefined);
    return reply(conversation);
  };

/** What a worker does outside. Only a keyed effect can be undone. */
function workOf({ effect, planted }: FamilyPlan, { pause, service, dispatchOf }: Around) {
  const of = {
    ...{ input: PART, timeoutMs: 500 },
    run: async ({ key, run, restart }: Pick<ToolContext<unknown>, "key" | "run" | "restart">) => {
      await pause();
      const sent = planted === "the number in the key" ? `${key}#${dispatchOf(run)}` : key;
      if (effect !== "none") service.act({ key: sent, run, restart });
      return "acted";
    },
  };
  const undone = async ({ of: { key } }: { readonly of: { readonly key: string } }) => {
    service.undo(key);
    return "undone";
  };
  if (effect === "keyed") return tool({ ...of, effect, undo: { effect: "keyed", run: undone } });
  if (effect !== "probed") return tool({ ...of, effect });
  return tool({
    ...{ ...of, effect },
    probe: async ({ key }) => (service.has(key) ? { kind: "happened", result: "acted" } : { kind: "absent" }),
  });
}

/** An effect that can be undone. */
const actOf = ({ pause }: Around) =>
  tool({
    input: PART,
    effect: "keyed",
    timeoutMs: 500,
    run: async () => {
      await pause();
      return "acted";
    },
    undo: { effect: "keyed", run: async () => "undone" },
  });
