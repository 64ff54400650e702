/** The operations that start, steer and remove runs, as rows of the operation table. */
import * as z from "zod";
import type { Request } from "../protocol/row.ts";
import type { World } from "../ports/world.ts";
import { sendRequest } from "../engine/loop/request.ts";
import { HELP } from "./help.ts";
import { RESPONSES, runInput, operation, respond } from "./operation.ts";
import { type Purged, purge } from "./purge.ts";
import { redrive } from "./redrive.ts";
import { type Restored, fenceRestored } from "./restored.ts";
import { type Started, startRun } from "./start.ts";
import { type Undone, undoAndCancel, undoAndRestart } from "./undo.ts";
import { json } from "./values.ts";

type Steered = { readonly kind: Awaited<ReturnType<typeof sendRequest>> };

const asked = async (world: World, of: Pick<Request, "run" | "want">): Promise<Steered> => ({
  kind: await sendRequest(world, of),
});

const STEERED = {
  requested: RESPONSES.accepted,
  late: RESPONSES.late,
  missing: RESPONSES.missing,
  unreadable: RESPONSES.unreadable,
} as const;

const UNDONE = {
  accepted: RESPONSES.accepted,
  duplicate: RESPONSES.duplicate,
  notStarted: respond.refused("NotStarted", "The run has not started."),
  late: RESPONSES.late,
  missing: RESPONSES.missing,
  unreadable: RESPONSES.unreadable,
} as const;

const notRedriven = (code: string) => respond.refused(code, "The run cannot be redriven.");

export const START_ROWS = {
  start: operation({
    ...{ scope: "operate", writes: true, typed: [{ command: "start" }] },
    help: HELP.start,
    input: z.strictObject({ agent: z.string(), input: json, key: z.string().nullable().default(null) }),
    run: async (
      { world, tenant, by, agentOf },
      { agent: name, input, key },
    ): Promise<Started | { readonly kind: "agentUnknown" }> => {
      const agent = await agentOf(name);
      if (agent === null) return { kind: "agentUnknown" };
      return startRun(world, { agent, input, tenant, idempotencyKey: key, by });
    },
    outcomes: {
      started: respond.done("It is started.", 202),
      exists: respond.done("An earlier request of that key started it."),
      conflict: respond.refused("KeyConflict", "The key belongs to a run with another input."),
      ended: respond.refused("Ended", "The key belongs to an ended run whose data is removed."),
      invalid: respond.invalid("InputInvalid", "The input does not match the agent's task schema."),
      agentUnknown: { exit: "notFound", status: 404, code: "AgentUnknown", says: "There is no such agent." },
    },
    http: { method: "post", path: "/runs" },
  }),
} as const;

export const STEERING_ROWS = {
  pause: operation({
    ...{ scope: "operate", writes: true, typed: [{ command: "pause" }] },
    help: HELP.pause,
    input: runInput,
    run: ({ world }, of) => asked(world, { run: of.run, want: "pause" }),
    outcomes: STEERED,
    http: { method: "post", path: "/runs/{run}/pause" },
  }),
  resume: operation({
    ...{ scope: "operate", writes: true, typed: [{ command: "resume" }] },
    help: HELP.resume,
    input: runInput,
    run: ({ world }, of) => asked(world, { run: of.run, want: "resume" }),
    outcomes: STEERED,
    http: { method: "post", path: "/runs/{run}/resume" },
  }),
  cancel: operation({
    ...{ scope: "operate", writes: true, typed: [{ command: "cancel" }] },
    help: HELP.cancel,
    input: runInput.extend({ compensate: z.boolean().default(false) }),
    run: ({ world, by }, of): Promise<Steered | Undone> =>
      of.compensate ? undoAndCancel(world, { run: of.run, by }) : asked(world, { run: of.run, want: "cancel" }),
    outcomes: { ...STEERED, ...UNDONE },
    http: { method: "post", path: "/runs/{run}/cancel" },
  }),
  restart: operation({
    ...{ scope: "operate", writes: true, typed: [{ command: "restart" }] },
    help: HELP.restart,
    input: runInput.extend({ confirmed: z.boolean().default(false) }),
    run: ({ world, by }, of) => undoAndRestart(world, { ...of, by }),
    outcomes: {
      ...UNDONE,
      notConfirmed: respond.invalid("NotConfirmed", "It has to be confirmed; the answer says what it costs."),
    },
    http: { method: "post", path: "/runs/{run}/restart" },
  }),
  redrive: operation({
    ...{ scope: "operate", writes: true, typed: [{ command: "redrive" }] },
    help: HELP.redrive,
    input: runInput.extend({ why: z.string().default("") }),
    run: ({ world, by }, of) => redrive(world, { ...of, by }),
    outcomes: {
      redriven: RESPONSES.accepted,
      NotFailed: notRedriven("NotFailed"),
      NotInfrastructure: notRedriven("NotInfrastructure"),
      Compensated: notRedriven("Compensated"),
      HasParent: notRedriven("HasParent"),
      HasChildren: notRedriven("HasChildren"),
      EndedBefore: notRedriven("EndedBefore"),
      Expired: notRedriven("Expired"),
      Late: notRedriven("Late"),
      missing: RESPONSES.missing,
      unreadable: RESPONSES.unreadable,
    },
    http: { method: "post", path: "/runs/{run}/redrive" },
  }),
  purge: operation({
    ...{ scope: "admin", writes: true, typed: [{ command: "purge" }] },
    help: HELP.purge,
    input: runInput.extend({
      keepArchive: z.boolean().default(false),
      forgetKey: z.boolean().default(false),
    }),
    run: ({ world }, { run: of, ...options }): Promise<Purged> => purge(world, of, options),
    outcomes: {
      purged: respond.done("It is removed."),
      forgotten: respond.done("Its data was removed before, and its key is free."),
      live: respond.refused("NotEnded", "The run has not ended."),
      tooEarly: respond.refused("TooEarly", "Its archive may still be written."),
      missing: RESPONSES.missing,
      unreadable: RESPONSES.unreadable,
    },
    http: { method: "delete", path: "/runs/{run}" },
  }),
  restored: operation({
    ...{ scope: "admin", writes: true, typed: [{ command: "restored" }] },
    help: HELP.restored,
    input: z.strictObject({}),
    run: async ({ world }): Promise<{ readonly kind: "fenced" | "partly"; readonly restored: Restored }> => {
      const restored = await fenceRestored(world);
      const isWhole = restored.held.length + restored.damaged.length === 0;
      return { kind: isWhole ? "fenced" : "partly", restored };
    },
    outcomes: {
      fenced: respond.done("Every run that had not ended is fenced and paused."),
      partly: respond.refused("NotFenced", "Some runs are held or damaged, and not fenced."),
    },
  }),
} as const;
