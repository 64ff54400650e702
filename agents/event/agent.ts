/**
 * Plan-execute: an evening for a team. The planner writes the steps, the run carries them out. A room may be taken by
 * another team in the meantime: then the plan is stale, and another one follows. Invitations come last, because nothing
 * takes them back.
 */
import { check, defineAgent, defineChaos, planExecute, tool } from "cairn-run";
import { z } from "zod";
import { act, effectsIn, worldOf } from "../shared/outside.ts";
import { model } from "./model.ts";

const evening = z.object({ team: z.string(), guests: z.int().positive().default(12), taken: z.string().default("") });

const ROOMS = ["Loft", "Garden", "Harbour Hall"];

export const event = defineAgent({
  name: "event",
  version: "1",
  model,
  instructions: "You organise an evening for a team: a room, food, and invitations.",
  task: evening,
  topology: planExecute({
    planner: { instructions: "Plan the evening. Rooms: Loft, Garden, Harbour Hall." },
    planTtl: "10m",
    effectsLast: ["invite"],
    // A step that books a room needs that room to be free.
    precondition: ({ output, task }) => {
      const { taken } = evening.parse(task);
      const room = ROOMS.find((name) => output.includes(`book ${name}`));
      return room === undefined || room !== taken || `room ${room} is taken`;
    },
  }),
  budget: { beats: 40 },

  tools: {
    bookRoom: tool({
      description: "Books a room for the evening.",
      input: z.object({ team: z.string(), room: z.string() }),
      effect: "keyed",
      run: ({ input, key }) => ({ booking: act({ tool: "bookRoom", key, of: input.team, what: input.room }) > 0 }),
    }),
    orderFood: tool({
      description: "Orders food for that many guests.",
      input: z.object({ team: z.string(), guests: z.int() }),
      effect: "keyed",
      run: ({ input, key }) => ({
        order: act({ tool: "orderFood", key, of: input.team, what: `${input.guests} meals` }) > 0,
      }),
    }),
    invite: tool({
      description: "Sends the invitations. They cannot be taken back.",
      input: z.object({ team: z.string(), room: z.string() }),
      effect: "keyed",
      run: ({ input, key }) => ({ sent: act({ tool: "invite", key, of: input.team, what: input.room }) > 0 }),
    }),
  },

  done: [
    check("is-invited", ({ calls }) =>
      calls.some(({ tool: name, outcome }) => name === "invite" && outcome === "succeeded"),
    ),
  ],
});

/** For `cairn chaos event`: one team per task. Each meets a room that is taken, so that kills fall into the other plan. */
export const chaos = defineChaos({
  input: (task) => ({ team: `Team ${task}`, guests: 5 + task, taken: "Loft" }),
  env: (dir) => ({ EXAMPLES: worldOf(dir) }),
  standIns: { bookRoom: "service", orderFood: "service", invite: "service" },
  effects: (dir) => effectsIn(worldOf(dir)).map(({ tool: name, key, of }) => ({ tool: name, id: key, of })),
});
