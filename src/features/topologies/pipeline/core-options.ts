/** The options of a pipeline, and what may be wrong with them. */
import { problemOfWhole } from "../../../core/topologies/problems.ts";
import type { Shape } from "../../../core/topologies/topology.ts";

/** A model that judges an output. The output passes with a score of at least `threshold`. */
export interface JudgeOptions {
  readonly instructions: string;
  readonly threshold: number;
  /** The name of a model of the agent. */
  readonly model?: string;
}

/** One stage, with the names of its functions. */
export interface Stage {
  readonly name: string;
  readonly instructions: string;
  readonly tools?: readonly string[];
  readonly model?: string;
  /** The function that checks the form of the output. It vouches for nothing: poison may have the right form. */
  readonly form?: string;
  /** Functions that judge the output. */
  readonly gates?: readonly string[];
  readonly judge?: JudgeOptions;
  readonly topology?: Shape;
}

export interface PipelineOptions extends Shape {
  readonly kind: "pipeline";
  readonly stages: readonly Stage[];
  /** The function that judges the last output as a whole. */
  readonly endToEnd?: string;
  /** How often a stage may run again. */
  readonly retriesPerStage: number;
  /** What a discarded stage did outside stands. Absent: it is undone before the stage begins again. */
  readonly onRollBack?: "undo" | "keep";
}

/** The functions that judge the output of a stage. */
export const judgesOf = ({ form, gates = [] }: Stage): readonly string[] => [
  ...(form === undefined ? [] : [form]),
  ...gates,
];

export function pipelineProblems({
  stages,
  retriesPerStage,
  endToEnd: check,
  onRollBack = "undo",
}: PipelineOptions): readonly string[] {
  if (!Array.isArray(stages) || stages.length === 0) return ["write stages: [{ name, instructions }]"];
  const names = stages.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  return [
    ...names.flatMap((name) => (typeof name === "string" && name !== "" ? [] : ["a stage has no name"])),
    ...(twice === undefined ? [] : [`two stages have the name ${twice}`]),
    ...stages.flatMap(({ name, judge }) =>
      judge === undefined || (judge.threshold > 0 && judge.threshold <= 1)
        ? []
        : [`the judge of stage ${name} has threshold ${judge.threshold}: write a number above 0, and 1 at most`],
    ),
    ...problemOfWhole("retriesPerStage", retriesPerStage, 0),
    ...(onRollBack === "undo" || onRollBack === "keep" ? [] : ['onRollBack: write "undo" or "keep"']),
    ...(check === undefined || typeof check === "string" ? [] : ["endToEnd is no function"]),
  ];
}
