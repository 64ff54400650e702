/** What a power loss may not break: agents whose calls leave the machine, and the judgement of how their runs go on. */
import * as z from "zod";
import type { Agent } from "../../../src/ports/agent.ts";
import { defineAgent, tool } from "../../../src/sdk/define.ts";
import { scriptedModel } from "../../../src/sdk/scripted.ts";
import { type AfterLoss, type AgentOver, type Left, type PlayedRun, loseAt } from "./power-loss.ts";

/** It calls these tools one after another; each call notes what left the machine. */
export const agentWith =
  (...calls: readonly ("look" | "write" | "mail" | "pay")[]): AgentOver =>
  (left) => {
    const note = (what: string): string => {
      left.push({ kind: "effect", what });
      return what;
    };
    const input = z.object({});
    return defineAgent({
      name: "actor",
      version: "1",
      instructions: "",
      task: z.object({}),
      loops: "ignore",
      model: scriptedModel({
        name: "script",
        reply: ({ calls: made }) => {
          left.push({ kind: "model", what: String(made.length) });
          const next = calls[made.length];
          return next === undefined ? { text: "over" } : { calls: [{ tool: next, args: {} }] };
        },
      }),
      tools: {
        look: tool({ input, effect: "none", run: () => "seen" }),
        write: tool({ input, effect: "keyed", run: ({ key }) => note(`write ${key}`) }),
        mail: tool({ input, effect: "unsafe", run: ({ key }) => note(`mail ${key}`) }),
        pay: tool({ input, effect: "unsafe", approval: "always", run: ({ key }) => note(`pay ${key}`) }),
      },
    }) as Agent;
  };

const doublesIn = (left: readonly Left[], name: string): readonly string[] => {
  const done = left.filter(({ kind, what }) => kind === "effect" && what.startsWith(name)).map(({ what }) => what);
  return done.filter((what, index) => done.indexOf(what) !== index);
};

/** What a power loss broke; empty if it broke nothing. */
function brokenBy({ before, found, ended, left, modelCalls }: AfterLoss): readonly string[] {
  const told = before.flatMap(({ kind, what }) => (kind === "told" ? [what] : []));
  const broken: string[] = [];
  if (told.includes("started") && found === null) broken.push("a run that was confirmed is gone");
  if (found === null) return broken;
  if (told.includes("done") && found.status !== "completed") broken.push(`told done, and it is ${found.status}`);
  if (told.at(-1) === "park" && found.gates.length === 0) broken.push("a gate that a person saw is gone");
  if (told.some((what) => what.startsWith("approved")) && found.gates.some(({ decided }) => !decided))
    broken.push("a decision that was confirmed is gone");
  broken.push(...doublesIn(left, "mail"), ...doublesIn(left, "pay"));
  // Under one key a service performs a call once; another key would be another effect.
  const keys = new Set(left.flatMap(({ what }) => (what.startsWith("write ") ? [what] : [])));
  if (keys.size > 2) broken.push(`${keys.size} keys for two calls`);
  const paid = left.filter(({ kind }) => kind === "model").length;
  if (ended?.status === "completed" && modelCalls < paid) broken.push(`${paid} model calls, ${modelCalls} accounted`);
  const isSafe = ended?.status === "completed" || (ended?.unknown.length ?? 0) > 0;
  if (!isSafe) broken.push(`it ended as ${ended?.status}`);
  return broken;
}

/** The cuts of the log that broke something, and what they broke. */
export async function breaksOf(played: PlayedRun, cuts: readonly number[], of: Parameters<typeof loseAt>[2]) {
  const breaks: { readonly cut: number; readonly broken: readonly string[] }[] = [];
  for (const cut of cuts) {
    const broken = brokenBy(await loseAt(played, cut, of));
    if (broken.length > 0) breaks.push({ cut, broken });
  }
  return breaks;
}

/** Where the log ended after each transaction. */
export const endsOf = ({ moments }: PlayedRun): readonly number[] => [
  ...new Set(moments.map(({ logBytes }) => logBytes)),
];
