/**
 * Topologies of a history: in one of six its agent has a pipeline, a plan or a debate. The script's steps happen in one
 * section of it, and happen again where a gate sends the run back.
 */
import type { Topology } from "../../src/ports/agent.ts";
import { type Conversation, type ScriptedReply, debate, pipeline, planExecute } from "../../src/index.ts";
import type { SeededChoices } from "./seeded-choices.ts";

const role = (instructions: string) => ({ instructions });

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
  () => debate({ drafter: role("Act."), critic: role("Object."), judge: role("Judge."), rounds: 2 }),
];

/**
 * The topology of the history; null: ReAct. `undoes`: the checkers of sagas know an effect by its arguments, so these
 * histories have the debate alone, which carries out the script once.
 */
export function topologyOf(chance: SeededChoices, { undoes }: { readonly undoes: boolean }): Topology | null {
  if (!chance.oneIn(6)) return null;
  const drawn = chance.below(TOPOLOGIES.length);
  return (TOPOLOGIES[undoes ? TOPOLOGIES.length - 1 : drawn] as () => Topology)();
}

const text = (said: string): ScriptedReply => ({ text: said, tokensIn: 1, tokensOut: 1 });

/** What the model says in its role; null where it carries out the script. `over`: the script is carried out. */
export function inRole(conversation: Conversation): ScriptedReply | null {
  const { instructions, messages } = conversation;
  const opening = messages.findLast(({ role: by, text: said }) => by === "user" && OPENING.test(said))?.text ?? "";
  if (instructions.includes("Plan.")) {
    return text(JSON.stringify({ steps: ["act", "tell"].map((title) => ({ title, does: title })) }));
  }
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
