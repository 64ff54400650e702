/** Each working day at eight: reads the open tickets, and posts one digest of those that wait too long. */
import { check, defineAgent, tool } from "cairn-run";
import { z } from "zod";
import { model } from "./model.ts";
import { openTickets, post, reassign } from "./desk.ts";

export const digest = defineAgent({
  name: "digest",
  version: "1",
  model,
  // Dollars per million tokens, as your provider charges.
  price: { inUsd: 1, outUsd: 5 },
  instructions:
    "You write the morning digest of a support desk: one line for each ticket that waits for more than two days. " +
    "Propose to hand a ticket over if it waits for more than a week. Post the digest once.",
  task: z.object({ team: z.string() }),
  budget: { usd: 0.2, beats: 12 },
  // `npx cairn work` starts a run at each of these times, and so does EventBridge Scheduler on AWS.
  schedule: { every: "cron(0 8 ? * MON-FRI *)", timezone: "Europe/Berlin", input: { team: "support" } },

  tools: {
    // `none`: it changes nothing, so after a crash it simply runs again.
    openTickets: tool({
      description: "Lists the open tickets of a team, with the days since their last answer.",
      input: z.object({ team: z.string() }),
      effect: "none",
      run: ({ input }) => openTickets(input.team),
    }),

    // `keyed`: every try of a call has the same key, by which the desk tells a repeated request from a new one.
    reassign: tool({
      description: "Hands a ticket over to the head of the team.",
      input: z.object({ ticket: z.int() }),
      effect: "keyed",
      // A human approves it. Until then the run waits and costs nothing.
      approval: ({ ticket }) => `ticket ${ticket} would change hands`,
      run: ({ input, key }) => reassign(input, key),
    }),

    post: tool({
      description: "Posts the digest to the channel of the team.",
      input: z.object({ team: z.string(), text: z.string().min(1).max(4_000) }),
      effect: "keyed",
      run: ({ input, key }) => post(input, key),
    }),
  },

  // The run completes only if this holds. Otherwise the model is told what is missing.
  done: [
    check(
      "posted",
      ({ calls }) =>
        calls.some(({ tool: name, outcome }) => name === "post" && outcome === "succeeded") ||
        "the digest was not posted",
    ),
  ],
});
