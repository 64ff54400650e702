/** The agent of a history, as each of its processes has it: a model that has moods, and tools that call the services. */
import { z } from "zod";
import type { Agent, Tool } from "../../src/ports/agent.ts";
import { check } from "../../src/sdk/define.ts";
import {
  type Conversation,
  type ScriptedReply,
  type ToolContext,
  defineAgent,
  scriptedModel,
  tool,
} from "../../src/index.ts";
import type { SeededChoices } from "./seeded-choices.ts";
import { SETTLE_MS, TIMEOUT_MS } from "./modes.ts";
import { type ModelOutagePlan, Provider } from "./provider.ts";
import type { SagaPlan } from "./saga-plan.ts";
import { lateEnough, sagaOfAgent, undoRules } from "./sagas.ts";
import { type Process, Services, type ServicesOptions, later } from "./services.ts";
import { topologyOf } from "./topologies.ts";
import { type Script, TOOLS, type ToolName, harmlessIn, replyOf, scriptOf } from "./script.ts";

export interface SimulatedAgents {
  readonly services: Services;
  /** Model calls that were paid for, whatever became of their replies. */
  readonly paid: () => number;
  /** Model calls that whoever made them gave up, and nobody charged for. */
  readonly givenUp: () => number;
  /** The agent as one process has it: its tools wait and stop with that process. */
  agentIn(here: Process): Agent;
}

export interface SimulatedAgentsOptions extends Omit<ServicesOptions, "behaviour"> {
  readonly chance: SeededChoices;
  /** What the model asks for. */
  readonly tools: readonly ToolName[];
  /** Whether some calls are asked about before they start. */
  readonly isGated: boolean;
  readonly isArchived: boolean;
  readonly isDialled: boolean;
  /** Whether keyed and unsafe calls run alone. */
  readonly isOrdered: boolean;
  readonly upgrade: Agent["upgrade"];
  readonly saga: SagaPlan | null;
  readonly away: ModelOutagePlan | null;
  /** Few of its processes may die. */
  readonly diesSoon: boolean;
  /** Hardly any. */
  readonly isDoomed: boolean;
}

const INPUT = z.object({ step: z.number(), index: z.number() });

/** An agent with a script of its own: how many steps, which tools at each, and how the model and each try behave. */
export function simulatedAgents(options: SimulatedAgentsOptions): SimulatedAgents {
  const { chance, isCalm } = options;
  const drawn = scriptOf(chance.child("script"), options.tools);
  const script = options.isDialled ? harmlessIn(drawn, chance.child("dial")) : drawn;
  const behaviour = chance.child("behaviour");
  const services = new Services({ ...options, behaviour });
  const moods = chance.child("moods");
  // Budgets that are hardly enough, so that some runs end by them.
  const budget = { beats: chance.oneIn(20) ? 3 : 40, takeovers: takeoversOf(chance.oneIn(12), options) };
  // In some histories what throws is tried again with its key, by whoever has the run by then.
  const retry = chance.child("retrying").oneIn(4) ? { attempts: 3, backoffMs: 20 } : null;
  const counts = { paid: 0, givenUp: 0 };
  const topology = topologyOf(chance.child("topology"), { undoes: options.saga !== null });
  const moodOf = (): ModelFault | undefined => (isCalm() ? undefined : MODEL_FAULTS[moods.below(MODEL_FAULTS_ONE_IN)]);
  const provider = new Provider(options.away, options.clock);
  const modelIn = (here: Process, isFallback: boolean): ReturnType<typeof scriptedModel> => {
    const modelFor = (pay: () => void) =>
      scriptedModel({
        name: isFallback ? "fallback" : "script",
        reply: (conversation) =>
          reply({ here, script, moodOf, pay, answer: () => provider.answer({ isFallback }) }, conversation),
      });
    const doGenerate: ReturnType<typeof scriptedModel>["doGenerate"] = (asked) => {
      const { giveUp, pay } = chargedCall(counts);
      asked.abortSignal?.addEventListener("abort", giveUp, { once: true });
      return modelFor(pay).doGenerate(asked);
    };
    return { ...modelFor(() => undefined), doGenerate };
  };
  const agentIn = (here: Process): Agent =>
    defineAgent({
      name: "actor",
      version: "1",
      upgrade: options.upgrade,
      dial: options.isDialled ? "auto" : "always",
      instructions: "",
      task: z.object({}),
      model: modelIn(here, false),
      fallbacks: (options.away?.fallback ?? "none") === "none" ? [] : [{ model: modelIn(here, true) }],
      tools: Object.fromEntries(
        TOOLS.map((name) => [name, toolIn({ ...{ here, services, script, retry }, ...options }, name)]),
      ),
      done: [
        ...(script.isStrict ? [check("said twice", ({ spent }) => spent.beats > script.steps.length + 1)] : []),
        ...(options.saga === null ? [] : [lateEnough(options.saga)]),
      ],
      ...(options.saga === null ? {} : { saga: sagaOfAgent(options.saga) }),
      budget,
      ...(topology === null ? {} : { topology }),
      ...(options.isArchived ? { retention: { archive: "cold" } } : {}),
    }) as Agent;
  return { services, agentIn, paid: () => counts.paid, givenUp: () => counts.givenUp };
}

/** Few in some histories, and fewest where an operator may redrive the run. */
const takeoversOf = (isFew: boolean, { diesSoon, isDoomed: isCrashLoop }: SimulatedAgentsOptions): number =>
  isCrashLoop ? 1 : isFew || diesSoon ? 2 : 1_000;

/** One model call: the provider may charge for it after its caller gave it up. */
function chargedCall(counts: { paid: number; givenUp: number }): {
  readonly giveUp: () => void;
  readonly pay: () => void;
} {
  let state: "open" | "paid" | "given up" = "open";
  const giveUp = (): void => {
    if (state !== "open") return;
    state = "given up";
    counts.givenUp += 1;
  };
  const pay = (): void => {
    if (state === "given up") counts.givenUp -= 1;
    state = "paid";
    counts.paid += 1;
  };
  return { giveUp, pay };
}

function toolIn(
  of: Pick<SimulatedAgentsOptions, "isGated" | "isOrdered" | "saga"> & {
    readonly here: Process;
    readonly services: Services;
    readonly script: Script;
    readonly retry: Tool["retry"];
  },
  name: ToolName,
) {
  const { here, services, script, retry, isGated, isOrdered, saga } = of;
  return tool({
    input: INPUT,
    effect: name === "look" ? "none" : name,
    ...(name === "probed" ? { probe: ({ key }: { readonly key: string }) => services.probe(key, here) } : {}),
    // A function of the arguments alone: whichever process judges a call judges it the same.
    approval: ({ step, index }: z.output<typeof INPUT>) =>
      isGated && (step + index) % 2 === 0 ? "every other" : false,
    parallel: !isOrdered || name === "look" || name === "probed",
    timeoutMs: TIMEOUT_MS,
    settleMs: SETTLE_MS,
    retry: name === "unsafe" ? null : retry,
    ...(saga === null ? {} : undoRules({ plan: saga, name, services, here })),
    run: async ({ input, key, epoch, signal }: ToolContext<z.output<typeof INPUT>>) => {
      await services.act({ tool: name, key, epoch, signal }, here);
      return `${name} ${input.step}.${input.index}${".".repeat(script.bulk)}`;
    },
  }) as Tool;
}

/** How a call to the model may go. Most of them are answered. */
const MODEL_FAULTS = ["is away", "hangs", "says nothing"] as const;
type ModelFault = (typeof MODEL_FAULTS)[number];
const MODEL_FAULTS_ONE_IN = 30;
/** Longer than any call to a model may take. */
const HANGS_MS = 2_000;

async function reply(
  of: {
    readonly here: Process;
    readonly script: Script;
    readonly moodOf: () => ModelFault | undefined;
    readonly answer: () => void;
    /** The provider has begun to answer. */
    readonly pay: () => void;
  },
  conversation: Conversation,
): Promise<ScriptedReply> {
  const { here, script, moodOf, answer, pay } = of;
  await here.pause();
  answer();
  const mood = moodOf();
  if (mood !== undefined) here.note(`the model ${mood}`);
  if (mood === "is away") throw Object.assign(new Error("connection reset"), { code: "ECONNRESET" });
  const said = mood === "says nothing" ? { tokensIn: 1, tokensOut: 0 } : replyOf(script, conversation);
  pay();
  if (mood === "hangs") await later(here.clock, { ms: HANGS_MS, signal: null });
  return said;
}
