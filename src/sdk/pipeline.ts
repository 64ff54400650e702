/** The constructor of a pipeline: it separates the options, which are data, from the functions that judge outputs. */
import { checkStage, checkTopologyOptions } from "./topology-forms.ts";
import { shown } from "./option-forms.ts";
import type * as z from "zod";
import type { JudgeOptions, PipelineOptions, Stage } from "../features/topologies/pipeline/core-options.ts";
import { reactTopology } from "../core/topologies/react.ts";
import { objectIn } from "../core/topologies/json-in.ts";
import type { Topology, TopologyFunction } from "../ports/agent.ts";
import { asJson } from "../codec/value.ts";

export interface StageOptions {
  readonly name: string;
  readonly instructions: string;
  /** The tools of the stage; default: all of the agent. */
  readonly tools?: readonly string[];
  /** The name of a model of the agent; default: the agent's own. */
  readonly model?: string;
  /** The output is a JSON object of this schema. That is its form, so a roll-back does not stop behind it. */
  readonly output?: z.ZodType;
  /** Judges the output before the next stage begins: a function, or a model (`judge`). */
  readonly gate?: TopologyFunction | JudgeOptions;
  /** The cap of one run of the stage; default 20. */
  readonly maxBeats?: number;
  /** How the stage works; default: ReAct. */
  readonly topology?: Topology;
}

/** A gate that is a model: the output passes with a score of at least `threshold`, from 0 to 1. */
export const judge = (options: JudgeOptions): JudgeOptions => options;

/** A pipeline: stages with gates, and a check of the whole. */
export function pipeline(options: {
  readonly stages: readonly StageOptions[];
  /** Judges the last output. `{ holds: false, why, detail: "STAGE" }` names the stage to return to. */
  readonly endToEnd?: TopologyFunction;
  /** How often a stage may run again after a refusal; default 2. */
  readonly retriesPerStage?: number;
  /**
   * What follows from the effects of a stage that is discarded, before it begins again. `undo`: each is undone, newest
   * first; a human is asked about one whose tool has no `undo`. `keep`: they stand. Default `undo`.
   */
  readonly onRollBack?: "undo" | "keep";
  /** The cap of the whole run; default 100. */
  readonly maxBeats?: number;
}): Topology & PipelineOptions {
  checkTopologyOptions("pipeline", options);
  const { endToEnd, retriesPerStage = 2, maxBeats = 100, onRollBack } = options;
  const made = options.stages.map(stageOf);
  return {
    kind: "pipeline",
    maxBeats,
    retriesPerStage,
    stages: made.map(({ stage }) => stage),
    ...(endToEnd === undefined ? {} : { endToEnd: "end-to-end" }),
    ...(onRollBack === undefined ? {} : { onRollBack }),
    functions: Object.assign(
      {},
      ...made.map(({ functions }) => functions),
      endToEnd === undefined ? {} : { "end-to-end": endToEnd },
    ) as Readonly<Record<string, TopologyFunction>>,
  };
}

function stageOf(options: StageOptions): {
  readonly stage: Stage;
  readonly functions: Readonly<Record<string, TopologyFunction>>;
} {
  checkStage(`stage ${shown(options.name)} of a pipeline`, options);
  const { name, instructions, tools, model, output, gate, maxBeats, topology } = options;
  const functions: Record<string, TopologyFunction> = {};
  const [form, judges] = [`output of ${name}`, `gate of ${name}`];
  if (output !== undefined) functions[form] = fits(output);
  if (typeof gate === "function") functions[judges] = gate;
  const inner = topology ?? (maxBeats === undefined ? undefined : reactTopology({ maxBeats }));
  const stage = {
    name,
    instructions,
    ...(tools === undefined ? {} : { tools }),
    ...(model === undefined ? {} : { model }),
    ...(output === undefined ? {} : { form }),
    ...(typeof gate === "function" ? { gates: [judges] } : {}),
    ...(typeof gate === "object" ? { judge: gate } : {}),
    ...(inner === undefined ? {} : { topology: inner }),
  };
  return { stage, functions: { ...functions, ...topology?.functions } };
}

/** Whether the output is JSON of the schema. The reason is for the model that has to write it again. */
const fits =
  (schema: z.ZodType): TopologyFunction =>
  ({ output }) => {
    const found = objectIn(output);
    if (found === null) return "the output is not a JSON object";
    const parsed = schema.safeParse(found);
    if (parsed.success) return asJson(parsed.data).ok;
    return parsed.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`).join("; ");
  };
