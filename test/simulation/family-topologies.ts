/**
 * The topologies of the bosses of a family. Each boss carries out the same script: it hands out its work, and acts itself.
 * Some repeat that section: the gate of a pipeline refuses its first output, and a plan goes stale after its first step.
 * What their workers did stands then, so an equal hand-off has to ask.
 */
import type { Topology } from "../../src/ports/agent.ts";
import {
  type Conversation,
  type ScriptedReply,
  debate,
  hierarchical,
  orchestrator,
  pipeline,
  planExecute,
  react,
} from "../../src/index.ts";

/** `react` stands for half of the bosses. */
export const BOSS_KINDS = [
  ...["react", "react", "react", "react", "react"],
  ...["orchestrator", "hierarchical", "pipeline", "plan-execute", "debate"],
] as const;
export type BossKind = "react" | "orchestrator" | "hierarchical" | "pipeline" | "plan-execute" | "debate";

/** Those that carry out the script again, under new calls. */
export const REPEATING: ReadonlySet<BossKind> = new Set(["pipeline", "plan-execute"]);

const MAX_BEATS = 4_000;
const ACT = { instructions: "Act.", maxBeats: MAX_BEATS } as const;
const role = (instructions: string) => ({ instructions });

/** `rounds`: how often the boss hands out. `tools`: what it may call besides its workers. */
export function topologyOfBoss(
  kind: BossKind,
  { rounds, tools }: { readonly rounds: number; readonly tools: readonly string[] },
): Topology {
  const roles = {
    ...{ workers: ["ask"], boss: { ...role("Hand out."), tools }, merger: role("Merge.") },
    ...{ rounds, maxBeats: MAX_BEATS },
  };
  switch (kind) {
    case "react":
      return react({ maxBeats: MAX_BEATS });
    case "orchestrator":
      return orchestrator(roles);
    case "hierarchical":
      return hierarchical({ ...roles, levels: 5 });
    case "pipeline":
      return pipeline({
        stages: [
          { name: "act", ...ACT, gate: ({ output }) => !output.includes("at first") || "too early" },
          { name: "tell", ...role("Tell.") },
        ],
        maxBeats: MAX_BEATS,
      });
    case "plan-execute":
      return planExecute({
        ...{ planner: role("Plan."), step: { maxBeats: MAX_BEATS }, maxBeats: MAX_BEATS },
        precondition: ({ about }) => !JSON.stringify(about).includes("at first") || "too early",
      });
    case "debate":
      return debate({
        ...{ drafter: ACT, critic: role("Object."), judge: role("Judge."), rounds: 2, maxBeats: MAX_BEATS },
      });
  }
}

const text = (said: string): ScriptedReply => ({ text: said, tokensIn: 1, tokensOut: 1 });

/** Which round of hand-outs the model is in; what it says instead, where its role carries out no script or it is over. */
export function roundOf(
  kind: BossKind,
  {
    conversation,
    width,
    rounds,
  }: { readonly conversation: Conversation; readonly width: number; readonly rounds: number },
): number | "over" | ScriptedReply {
  const { instructions, messages, calls } = conversation;
  const opening = messages.findLast(({ role: by, text: said }) => by === "user" && OPENING.test(said))?.text ?? "";
  const said = inRole(instructions, opening);
  if (said !== null) return text(said);
  if (instructions.includes("Hand out.")) {
    const hasAsked = calls.some(({ tool }) => tool === "ask") || /^No round is left/m.test(opening);
    const isLater = /^(Reports so far|These hand-offs gave no usable report)/m.test(opening);
    return hasAsked ? "over" : isLater ? 1 : 0;
  }
  const round = Math.floor(calls.length / (width + 1));
  if (round < rounds) return round;
  const isFirst = kind === "pipeline" && !messages.some(({ text: each }) => each.includes("was not accepted"));
  return isFirst ? text("over, at first") : "over";
}

const OPENING = /^(Stage|Step|Write|Revise|Criticise|Score|The plan|Reports so far|These hand-offs|Hand out|No round)/;

/** What the model says in a role that carries out no script; null: it carries it out. */
function inRole(instructions: string, opening: string): string | null {
  if (instructions.includes("Merge.")) return "merged";
  if (instructions.includes("Object.")) return "no";
  if (instructions.includes("Judge.")) return '{"score": 0.5, "why": "so"}';
  if (instructions.includes("Tell.")) return "told";
  if (instructions.includes("Plan.")) {
    const titles = opening.includes("cannot go on") ? ["act again", "tell"] : ["act", "tell at first"];
    return JSON.stringify({ steps: titles.map((title) => ({ title, does: title })) });
  }
  if (/^Step \d of \d: tell|^The plan is carried out/.test(opening)) return "told";
  return opening.startsWith("Revise") ? "another draft" : null;
}
