import * as z from "zod";
import { decide } from "./decide.ts";
import type { DecisionFate } from "./decision-fate.ts";
import { operation, runInput } from "./operation.ts";
import { DECIDED } from "./outcomes.ts";
import { more, note, waitMs } from "./values.ts";
import type { Syntaxes } from "./syntax.ts";

export const budgetOperation = operation({
  scope: "approve",
  writes: true,
  help: "grant more budget to a run that asks for it",
  typed: [{ command: "approve", option: "--usd" }],
  input: runInput.extend({ gate: z.string(), note, waitMs, more }),
  run: ({ world, by }, said): Promise<DecisionFate> => decide(world, { ...said, as: "approve", args: null, by }),
  outcomes: DECIDED,
  over: ["store", "http"],
  routeOf: { operation: "decide", adds: { as: "approve" } },
});

export const budgetSyntax = (): Syntaxes => ({
  "approve --usd": {
    flags: [
      { flag: "--usd <amount>", help: "if it waits for more budget: grant it more dollars", fills: "more" },
      { flag: "--tokens <amount>", help: "if it waits for more budget: grant it more tokens", fills: "more" },
      { flag: "--beats <amount>", help: "if it waits for more budget: grant it more beats", fills: "more" },
      { flag: "--tool-calls <amount>", help: "if it waits for more budget: grant it more tool calls", fills: "more" },
      {
        flag: "--wall <amount>",
        help: "if it waits for more budget: grant it more time at work, such as 30m",
        fills: "more",
      },
    ],
  },
});
