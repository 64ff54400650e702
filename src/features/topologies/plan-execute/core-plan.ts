/** A plan as its planner writes it: the format, the check, and the difference of two plans for humans. */
import type { Json } from "../../../core/json.ts";
import { objectIn } from "../../../core/topologies/json-in.ts";

/** One step. `does` is for the model that carries it out. */
export type PlanStep = { readonly title: string; readonly does: string; readonly tools?: readonly string[] };

export interface PlanRules {
  readonly stepsMax: number;
  /** Tools whose steps come last: no step without one of them follows. */
  readonly effectsLast: readonly string[];
}

/** What a planner is asked to write. */
export const planFormat = ({ stepsMax, effectsLast }: PlanRules): string =>
  [
    'Answer with JSON alone: {"steps": [{"title": "a few words", "does": "what to do", "tools": ["NAME", ...]}]}.',
    `Write 1 to ${stepsMax} steps. Put effects last: whatever may still have to be found out or decided comes before them.`,
    ...(effectsLast.length === 0 ? [] : [`Only steps with these tools may come last: ${effectsLast.join(", ")}.`]),
  ].join("\n");

/** The steps in a planner's reply, or what is wrong with it. */
export function planIn(
  text: string,
  rules: PlanRules,
): { readonly steps: readonly PlanStep[]; readonly wrong: string | null } {
  const found = objectIn(text)?.["steps"];
  if (!Array.isArray(found)) return { steps: [], wrong: "it is not a JSON object with steps" };
  const steps = (found as readonly Json[]).flatMap(stepOf);
  if (steps.length < found.length) return { steps: [], wrong: "each step needs a title and does, and tools are names" };
  if (steps.length === 0 || steps.length > rules.stepsMax) {
    return { steps: [], wrong: `it has ${steps.length} steps, and 1 to ${rules.stepsMax} are allowed` };
  }
  const acts = ({ tools = [] }: PlanStep): boolean => tools.some((tool) => rules.effectsLast.includes(tool));
  const first = steps.findIndex(acts);
  const late = first < 0 ? undefined : steps.slice(first).find((step) => !acts(step));
  if (late === undefined) return { steps, wrong: null };
  return { steps: [], wrong: `effects come last, and "${late.title}" follows "${steps[first]?.title ?? ""}"` };
}

function stepOf(json: Json): readonly PlanStep[] {
  if (typeof json !== "object" || json === null || Array.isArray(json)) return [];
  const { title, does, tools } = json as { readonly [name: string]: Json };
  if (typeof title !== "string" || title === "" || typeof does !== "string") return [];
  if (tools === undefined) return [{ title, does }];
  if (!Array.isArray(tools)) return [];
  const names = tools.filter((tool) => typeof tool === "string");
  return names.length === tools.length ? [{ title, does, tools: names }] : [];
}

/** The steps that were taken out of the rest of a plan (`-`), and those that came in (`+`). */
export function planDiff(before: readonly PlanStep[], after: readonly PlanStep[]): string {
  const [old, fresh] = [before, after].map((steps) => steps.map(({ title }) => title)) as [string[], string[]];
  const gone = old.filter((title) => !fresh.includes(title)).map((title) => `- ${title}`);
  const come = fresh.filter((title) => !old.includes(title)).map((title) => `+ ${title}`);
  return [...gone, ...come].join("; ") || "the same steps again";
}
