/** The agent of a history, as each of its processes has it: a model that has moods, and tools that call the services. */
import { z } from "zod";
import type { Agent, Tool } from "../../src/ports/agent.ts";
import { check } from "../../src/sdk/define.ts";
import { type ToolContext, defineAgent, tool } from "../../src/index.ts";
import type { SeededChoices } from "./seeded-choices.ts";
import { LONG_TIMEOUT_MS, SETTLE_MS, TIMEOUT_MS } from "./modes.ts";
import type { EndingsPlan, ModelOutagePlan } from "./provider.ts";
import type { SagaPlan } from "./saga-plan.ts";
import { lateEnough, sagaOfAgent, undoRules } from "./sagas.ts";
import { type Process, Services, type ServicesOptions } from "./services.ts";
import { SimulatedModel } from "./simulated-model.ts";
import { handTools, topologyOf } from "./topologies.ts";
import { PRICE } from "./features/cap-plan.ts";
import type { Batch } from "./features/batch-provider.ts";
import type { FeatureLog } from "./features/log.ts";
import { memoryPolicy, memoryTools, withNotes } from "./features/memory-tools.ts";
import type { FeaturePlan } from "./features/plan.ts";
import { waitTools, withWaits } from "./features/wait-tools.ts";
import { type Script, TOOLS, type ToolName, harmlessIn, scriptOf } from "./script.ts";

export interface SimulatedAgents {
  readonly services: Services;
  /** Model calls that were paid for, whatever became of their replies. */
  readonly paid: () => number;
  /** Model calls that whoever made them gave up, and nobody charged for. */
  readonly givenUp: () => number;
  /** The model batches that their provider has, or had. */
  readonly batches: readonly Batch[];
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
  readonly endings: EndingsPlan | null;
  readonly features: FeaturePlan;
  readonly log: FeatureLog;
  /** Few of its processes may die. */
  readonly diesSoon: boolean;
  /** Hardly any. */
  readonly isDoomed: boolean;
}

/** The schema computes `stamp` at each parse: two parses of the same arguments never make the same value. */
const inputFrom = (stamps: () => number) =>
  z.object({ step: z.number(), index: z.number(), stamp: z.number().default(stamps) });

type Input = ReturnType<typeof inputFrom>;

/** An agent with a script of its own: how many steps, which tools at each, and how the model and each try behave. */
export function simulatedAgents(options: SimulatedAgentsOptions): SimulatedAgents {
  const { chance } = options;
  const drawn = scriptOf(chance.child("script"), options.tools);
  const dialled = options.isDialled ? harmlessIn(drawn, chance.child("dial")) : drawn;
  const script = featuredIn(dialled, chance, options.features);
  const behaviour = chance.child("behaviour");
  const services = new Services({ ...options, behaviour });
  const moods = chance.child("moods");
  let parses = 0;
  const input = inputFrom(() => (parses += 1));
  // Budgets that are hardly enough, so that some runs end by them.
  const budget = { beats: chance.oneIn(20) ? 3 : 40, takeovers: takeoversOf(chance.oneIn(12), options) };
  // In some histories what throws is tried again with its key, by whoever has the run by then.
  const retry = chance.child("retrying").oneIn(4) ? { attempts: 3, backoffMs: 20 } : null;
  const { features, log } = options;
  const tools = [...TOOLS, ...Object.keys({ ...waitTools(features.waits), ...memoryTools(features.memory, log) })];
  const drawnTopology = topologyOf(chance.child("topology"), { undoes: options.saga !== null, tools });
  // In some histories a probe and its call do not fit into one beat.
  const isSlow = chance.child("slow").oneIn(6);
  const topology = features.chat === null ? drawnTopology : null;
  const batchChances = chance.child("batches");
  const model = new SimulatedModel({ ...options, script, moods, batchChances, endingChances: chance.child("endings") });
  const price = features.cap === null ? {} : { price: PRICE };
  const agentIn = (here: Process): Agent =>
    defineAgent({
      name: "actor",
      version: "1",
      upgrade: options.upgrade,
      dial: options.isDialled ? "auto" : "always",
      instructions: "",
      task: z.object({}),
      model: model.modelIn(here, false),
      ...price,
      fallbacks: (options.away?.fallback ?? "none") === "none" ? [] : [{ model: model.modelIn(here, true), ...price }],
      tools: {
        ...Object.fromEntries(
          TOOLS.map((name) => [
            name,
            toolIn({ ...{ here, services, script, retry, isSlow, input }, ...options }, name),
          ]),
        ),
        ...waitTools(features.waits),
        ...memoryTools(features.memory, log),
        ...handTools(topology),
      },
      done: [
        ...(script.isStrict && features.chat === null
          ? [check("said twice", ({ spent }) => spent.beats > script.steps.length + 1)]
          : []),
        ...(options.saga === null ? [] : [lateEnough(options.saga)]),
      ],
      ...(options.saga === null ? {} : { saga: sagaOfAgent(options.saga) }),
      budget,
      ...memoryPolicy(features.memory),
      ...(features.chat === null ? {} : { chat: { idle: features.chat.idleMs } }),
      ...(topology === null ? {} : { topology }),
      ...(options.isArchived ? { retention: { archive: "cold" } } : {}),
    }) as Agent;
  const { counts, batches } = model;
  return {
    ...{ services, agentIn, batches: batches?.batches ?? [] },
    ...{ paid: () => counts.paid, givenUp: () => counts.givenUp },
  };
}

/** The script with the calls of the features. */
function featuredIn(script: Script, chance: SeededChoices, { waits, memory }: FeaturePlan): Script {
  const waiting = waits === null ? script : withWaits(script, chance.child("waits"));
  return memory === null ? waiting : withNotes(waiting, chance.child("notes"));
}

/** Few in some histories, and fewest where an operator may redrive the run. */
const takeoversOf = (isFew: boolean, { diesSoon, isDoomed: isCrashLoop }: SimulatedAgentsOptions): number =>
  isCrashLoop ? 1 : isFew || diesSoon ? 2 : 1_000;

type Probing = { readonly key: string; readonly input: z.output<Input> };

function toolIn(
  of: Pick<SimulatedAgentsOptions, "isGated" | "isOrdered" | "saga"> & {
    readonly here: Process;
    readonly services: Services;
    readonly script: Script;
    readonly retry: Tool["retry"];
    readonly isSlow: boolean;
    readonly input: Input;
  },
  name: ToolName,
) {
  const { here, services, script, retry, input, isGated, isOrdered, saga, isSlow } = of;
  const probeMs = isSlow ? LONG_TIMEOUT_MS - 100 : 0;
  return tool({
    input,
    effect: name === "look" ? "none" : name,
    ...(name === "probed"
      ? { probe: (of: Probing) => services.probe({ key: of.key, body: of.input.stamp }, here, probeMs) }
      : {}),
    // A function of the arguments alone: whichever process judges a call judges it the same.
    approval: ({ step, index }: z.output<Input>) => (isGated && (step + index) % 2 === 0 ? "every other" : false),
    parallel: !isOrdered || name === "look" || name === "probed",
    timeoutMs: isSlow && name === "probed" ? LONG_TIMEOUT_MS : TIMEOUT_MS,
    settleMs: SETTLE_MS,
    retry: name === "unsafe" ? null : retry,
    ...(saga === null ? {} : undoRules({ plan: saga, name, services, here })),
    run: async ({ input: given, key, epoch, signal }: ToolContext<z.output<Input>>) => {
      await services.act({ tool: name, key, epoch, signal, body: given.stamp }, here);
      return `${name} ${given.step}.${given.index}${".".repeat(script.bulk)}`;
    },
  }) as Tool;
}
