import * as z from "zod";
import { agentOfRun } from "./agents.ts";
import { type Forked, forkRun } from "./fork.ts";
import { RESPONSES, operation, respond, runInput } from "./operation.ts";
import { START_OUTCOMES, VERSION_UNKNOWN } from "./outcomes.ts";
import { json } from "./values.ts";
import { type Syntaxes, wholeNumbers, MAX_VERSION } from "./syntax.ts";

export const forkOperation = operation({
  scope: "runs:write",
  writes: true,
  typed: [{ command: "fork" }],
  help: "begin a new run with the state of a run at a version; names effects that they do not share",
  input: runInput.extend({
    at: z.int().nonnegative(),
    input: json.optional(),
    key: z.string().nullable().default(null),
    confirmed: z.boolean().default(false),
  }),
  run: async (context, { input, ...rest }): Promise<Forked> => {
    const { world, by, counted, trace } = context;
    const agent = await agentOfRun(context, rest.run);
    return forkRun(world, { ...rest, by, agent, counted, trace, ...(input !== undefined && { input }) });
  },
  outcomes: {
    ...START_OUTCOMES,
    versionUnknown: VERSION_UNKNOWN,
    notForkable: respond.refused("NotForkable", "The run cannot be forked at this version."),
    notConfirmed: respond.unconfirmed("It has to be confirmed; the answer names the effects."),
    missing: RESPONSES.missing,
  },
  over: ["store", "http"],
  http: { method: "post", path: "/runs/{run}/fork", key: "key" },
});

export const forkSyntax = (): Syntaxes => ({
  fork: {
    group: "Steering",
    words: "<run>",
    flags: [
      {
        flag: "--at <version>",
        help: "the version to begin with",
        takes: wholeNumbers(0, MAX_VERSION),
        required: true,
      },
      { flag: "--input <json>", help: "another task: JSON, @file, or - for stdin (default: the same task)" },
      { flag: "--key <key>", help: "idempotency key: the same key gives the same fork" },
      { flag: "--yes", help: "fork also past effects that the two runs do not share", fills: "confirmed" },
    ],
  },
});
