/** What the planner and the steps of a plan are told: the messages that open their sections. */
import { type PlanRules, type PlanStep, planFormat } from "./core-plan.ts";
import type { Context } from "../../../core/topologies/topology.ts";

/** A step that is over. `effects`: it was given up, and these calls of it took effect or may have. */
export type Done = {
  readonly title: string;
  readonly message: string;
  readonly skipped: boolean;
  readonly effects?: readonly string[];
};

/** The part of the progress that the messages are about. */
interface PlanState {
  readonly steps: readonly PlanStep[];
  readonly cursor: number;
  readonly done: readonly Done[];
  readonly why: string;
}

export const stepAt = ({ steps, cursor }: PlanState): PlanStep => steps[cursor] ?? { title: "", does: "" };

export const doneWords = (done: readonly Done[]): string =>
  done.length === 0 ? "no step was done" : `done: ${done.map(({ title, ...of }) => `${title}${state(of)}`).join("; ")}`;

const state = ({ skipped, effects }: Omit<Done, "title">): string => {
  if (effects !== undefined) return ` (given up, after ${effects.join(", ")})`;
  return skipped ? " (skipped)" : "";
};

/** What came of the steps so far, for the model. */
const results = ({ done }: PlanState, { textOf }: Context): string =>
  done
    .map(({ title, message, skipped, effects }) => {
      if (effects !== undefined) return `- ${title}: was given up. What it did: ${effects.join(", ")}`;
      return `- ${title}: ${skipped ? "was skipped" : textOf(message)}`;
    })
    .join("\n");

export function stepOpening(progress: PlanState, context: Context): string {
  const { steps, cursor, done } = progress;
  const { title, does } = stepAt(progress);
  return [
    `Step ${cursor + 1} of ${steps.length}: ${title}.\n${does}`,
    ...(done.length === 0 ? [] : [`What came of the steps before:\n${results(progress, context)}`]),
    "Do this step only, then say in words what came of it.",
  ].join("\n\n");
}

export const answerOpening = (progress: PlanState, context: Context): string =>
  `The plan is carried out. What came of its steps:\n${results(progress, context)}\n\nAnswer the task.`;

export function replanOpening(progress: PlanState, options: PlanRules, context: Context): string {
  const left = progress.steps.slice(progress.cursor).map(({ title }) => `- ${title}`);
  return [
    `The plan cannot go on: ${progress.why}.`,
    ...(progress.done.length === 0 ? [] : [`Already done, not to be done again:\n${results(progress, context)}`]),
    ...(left.length === 0 ? [] : [`Not done yet:\n${left.join("\n")}`]),
    `Write a plan for what is left, from the world as it is now.\n${planFormat(options)}`,
  ].join("\n\n");
}
