/**
 * Topologies of a history: in one of six its agent has a pipeline, a plan or a debate. The script's steps happen in one
 * section of it, and happen again where a gate sends the run back.
 */
import type { Topology } from "../../src/ports/agent.ts";
import { type Conversation, type ScriptedReply, debate, pipeline, planExecute } from "../../src/index.ts";
import type { SeededChoices } from "./seeded-choices.ts";

const role = (instructions: string) => ({ instructions });

const debated = (): Topology =>
  debate({ drafter: role("Act."), critic: role("Object."), judge: role("Judge."), rounds: 2 });

const TOPOLOGIES: readonly (() => Topology)[] = [
  () =>
    pipeline({
      stages: [
        // The first output is refused, so the stage runs twice.
        { name: "act", instructions: "Act.", gate: ({ output }) => !output.includes("at first") || "too early" },
        { name: "tell", instructions: "Tell." },
      ],
      endToEnd: ({ output }) => output === "told",
    }),
  () => planExecute({ planner: role("Plan."), precondition: () => true }),
  debated,
];

/**
 * Those that carry out the script once in each attempt, for sagas: their checkers know an effect by its arguments. A gate
 * sends the run back behind the script, and a step that fails is skipped.
 */
const ONCE: readonly (() => Topology)[] = [
  () =>
    pipeline({
      stages: [
        { name: "act", instructions: "Act.", gate: () => true },
        { name: "tell", instructions: "Tell twice.", gate: ({ output }) => output === "told again" || "too early" },
      ],
      retriesPerStage: 1,
    }),
  () => planExecute({ planner: role("Plan once."), planTtl: "30d", onFailedStep: "skip" }),
  debated,
];

/** The topology of the history; null: ReAct. `undoes`: it carries out the script once in each attempt. */
export function topologyOf(chance: SeededChoices, { undoes }: { readonly undoes: boolean }): Topology | null {
  if (!chance.oneIn(6)) return null;
  return chance.pick(undoes ? ONCE : TOPOLOGIES)();
}

const text = (said: string): ScriptedReply => ({ text: said, tokensIn: 1, tokensOut: 1 });

/** What the model says in its role; null where it carries out the script. `over`: the script is carried out. */
export function inRole(conversation: Conversation): ScriptedReply | null {
  const { instructions, messages } = conversation;
  const opening = messages.findLast(({ role: by, text: said }) => by === "user" && OPENING.test(said))?.text ?? "";
  const isAgain = opening.includes("cannot go on");
  if (instructions.includes("Plan.") || instructions.includes("Plan once.")) {
    const titles = isAgain && instructions.includes("once") ? ["tell"] : ["act", "tell"];
    return text(JSON.stringify({ steps: titles.map((title) => ({ title, does: title })) }));
  }
  if (instructions.includes("Tell twice.")) return text(opening.includes("not accepted") ? "told again" : "told");
  if (/^Step \d of \d: tell/.test(opening)) return text("told");
  if (instructions.includes("Object.")) return text("no");
  if (instructions.includes("Judge.")) return text('{"score": 0.5, "why": "so"}');
  if (instructions.includes("Tell.") || /^Step 2|^The plan is carried out/.test(opening)) return text("told");
  if (opening.startsWith("Revise")) return text("another draft");
  return null;
}

/** The last words of the section that carried out the script. */
export const saidIn = ({ messages }: Conversation): string => {
  const isAgain = messages.some(({ text: said }) => said.includes("was not accepted"));
  return messages.some(({ text: said }) => said.startsWith("Stage 1")) && !isAgain ? "over, at first" : "over";
};

const OPENING = /^(Stage|Step|Write|Revise|Criticise|Score|The plan)/;
