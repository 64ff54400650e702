/**
 * Topologies of a history: in one of six its agent has a pipeline, a plan or a debate. The script's steps happen in one
 * section of it, and happen again where a gate sends the run back. Some agents are bosses whose every hand-off is refused:
 * they carry out the script themselves, once their rounds are used up.
 */
import { z } from "zod";
import type { Tool, Topology } from "../../src/ports/agent.ts";
import {
  type Conversation,
  type ScriptedReply,
  childTool,
  debate,
  orchestrator,
  pipeline,
  planExecute,
} from "../../src/index.ts";
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

/** How often a boss tries to hand out, and how many rounds it has. */
export const REFUSED_ROUNDS = 2;
const HANDS = "hand";

/** The tool by which a boss hands out work. The boss gives it arguments that do not fit. */
export const handTools = (topology: Topology | null): Readonly<Record<string, Tool>> =>
  topology?.kind !== "orchestrator"
    ? {}
    : {
        [HANDS]: childTool({
          ...{ agent: "actor", description: "", budget: { beats: 1 } },
          ...{ input: z.object({ part: z.number() }), output: z.object({}) },
        }) as unknown as Tool,
      };

/**
 * The topology of the history; null: ReAct. `undoes`: it carries out the script once in each attempt. `tools`: those of
 * the script.
 */
export function topologyOf(
  chance: SeededChoices,
  { undoes, tools }: { readonly undoes: boolean; readonly tools: readonly string[] },
): Topology | null {
  if (!undoes && chance.child("refused").oneIn(30)) {
    const boss = { ...role("Hand out."), tools };
    return orchestrator({ workers: [HANDS], boss, merger: role("Merge."), rounds: REFUSED_ROUNDS });
  }
  if (!chance.oneIn(6)) return null;
  return chance.pick(undoes ? ONCE : TOPOLOGIES)();
}

const text = (said: string): ScriptedReply => ({ text: said, tokensIn: 1, tokensOut: 1 });

/** What the model says in its role; null where it carries out the script. `over`: the script is carried out. */
export function inRole(conversation: Conversation): ScriptedReply | null {
  const { instructions, messages, calls } = conversation;
  if (instructions.includes("Hand out.")) {
    const hands = calls.filter(({ tool }) => tool === HANDS).length;
    const isOver = hands >= REFUSED_ROUNDS || messages.some(({ text: said }) => NO_MORE.test(said));
    const args = { step: -1, part: "none" };
    return isOver ? null : { calls: [{ tool: HANDS, args }], tokensIn: 10, tokensOut: 1 };
  }
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

/** Its earlier hand-offs are in a summary, or in a section that it has left. */
const NO_MORE = /so far|^These calls were refused|Also wanted|No round is left/m;

const OPENING = /^(Stage|Step|Write|Revise|Criticise|Score|The plan)/;
