/**
 * A debate about a letter of application: a drafter writes, a critic objects, and a judge who sees no criticism scores
 * each draft. The best-scored draft is filed once. The judge has a model of its own.
 */
import { check, debate, defineAgent, defineChaos, tool } from "cairn-run";
import { z } from "zod";
import { act, effectsIn, worldOf } from "../shared/outside.ts";
import { judge, model } from "./model.ts";

const application = z.object({ name: z.string(), position: z.string(), strengths: z.array(z.string()).min(1) });

export const letter = defineAgent({
  name: "letter",
  version: "1",
  model,
  models: { judge },
  instructions: "The letter is short, concrete and polite.",
  task: application,
  topology: debate({
    drafter: { instructions: "You write the letter.", tools: ["readPosting"] },
    critic: { instructions: "You are the reader. Say in one sentence what is missing most." },
    judge: { instructions: "Score the letter: does it name each strength, and the position?", model: "judge" },
  }),
  budget: { beats: 30 },

  tools: {
    readPosting: tool({
      description: "Reads the advertisement of a position. The office counts each reader once.",
      input: z.object({ name: z.string(), position: z.string() }),
      effect: "keyed",
      key: ({ name, position }) => `posting_${position}_${name}_v1`.replaceAll(/\s/g, "_"),
      run: ({ input: { name, position }, key }) => {
        act({ tool: "readPosting", key, of: name, what: position });
        return `${position}: we look for somebody reliable.`;
      },
    }),
  },

  done: [
    check<z.output<typeof application>>(
      "names-the-position",
      ({ text, task }) => text.includes(task.position) || "the position is not named",
    ),
  ],
});

/** For `cairn chaos letter`: one applicant per task. */
export const chaos = defineChaos({
  input: (task) => ({
    name: `Applicant ${task}`,
    position: "lighthouse keeper",
    strengths: ["patience", "good eyes", "no fear of heights"].slice(0, 1 + (task % 3)),
  }),
  env: (dir) => ({ EXAMPLES: worldOf(dir) }),
  standIns: { readPosting: "service" },
  effects: (dir) => effectsIn(worldOf(dir)).map(({ tool: name, key, of }) => ({ tool: name, id: key, of })),
});
