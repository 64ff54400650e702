/** The operations that start, steer and remove runs, as rows of the operation table. */
import * as z from "zod";
import { runId } from "../protocol/ids.ts";
import type { Request } from "../protocol/row.ts";
import type { World } from "../ports/world.ts";
import { findRow } from "../history/damage.ts";
import { type SpendCapReached, spendCapReached } from "../history/spend-today.ts";
import { sendRequest } from "../engine/loop/request.ts";
import { FILE_INVALID, type FileInvalid, contentsOf, sentFiles } from "./files.ts";
import { agentOfRun } from "./agents.ts";
import { checkRun } from "./checked.ts";
import { type CancelledAll, cancelAll } from "./cancel-all.ts";
import { type Forked, forkRun } from "./fork.ts";
import { HELP } from "./help.ts";
import { RESPONSES, runInput, operation, reason, respond } from "./operation.ts";
import { type Purged, purge } from "./purge.ts";
import { redrive } from "./redrive.ts";
import type { CheckedStore, Restored } from "./restored.ts";
import { type Started, startTask, taskToStart } from "./start.ts";
import { type Undone, undoAndCancel, undoAndRestart } from "./undo.ts";
import { json } from "./values.ts";
import { LIMITED_OUTCOMES } from "./access/start-limits.ts";

type StartRefused = { readonly kind: "agentUnknown" } | FileInvalid | Extract<Started, { readonly kind: "invalid" }>;

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

type StartCapped = { readonly kind: "spendCapReached" } & SpendCapReached;

/** A refusal while the spend cap is reached; null: it may start. A retry of an earlier start gets its run. */
async function cappedStart(
  world: World,
  { tenant, agent, key }: { readonly tenant: string; readonly agent: string; readonly key: string | null },
): Promise<StartCapped | null> {
  const reached = await spendCapReached(world);
  if (reached === null) return null;
  const run = key === null ? null : runId(world.hash, { tenant, agent, idempotencyKey: key });
  const now = world.clock.earliest();
  const isKnown = run !== null && ((await findRow(world, run, now)) ?? (await world.table.readKey(run, now))) !== null;
  return isKnown ? null : { ...reached, kind: "spendCapReached" };
}

/** The outcomes of everything that starts a run. */
export const START_OUTCOMES = {
  started: respond.done("It is started.", 202),
  exists: respond.done("An earlier request of that key started it."),
  conflict: respond.refused("KeyConflict", "The key belongs to a run with another input or other files."),
  ended: respond.refused("Ended", "The key belongs to an ended run whose data is removed."),
  invalid: respond.invalid("InputInvalid", "The input does not match the agent's task schema."),
  fileInvalid: FILE_INVALID,
  agentUnknown: { exit: "notFound", status: 404, code: "AgentUnknown", says: "There is no such agent." },
  ...LIMITED_OUTCOMES,
} as const;

export const START_ROWS = {
  start: operation({
    ...{ scope: "runs:write", writes: true, typed: [{ command: "start" }] },
    help: HELP.start,
    input: z.strictObject({
      agent: z.string(),
      input: json,
      files: sentFiles,
      key: z.string().nullable().default(null),
    }),
    check: async ({ world, agentOf }, { agent: name, input, files }) => {
      const refused = (outcome: StartRefused) => ({ kind: "refused", outcome }) as const;
      const agent = await agentOf(name);
      if (agent === null) return refused({ kind: "agentUnknown" });
      const sent = contentsOf(files);
      if (!sent.ok) return refused({ kind: "fileInvalid", why: sent.why });
      const task = await taskToStart(world, { agent, input });
      if (!task.ok) return refused({ kind: "invalid", why: task.why, issues: task.issues });
      return { kind: "passed", checked: { agent, task: task.json, dropped: task.dropped, files: sent.contents } };
    },
    settle: ({ world, tenant }, input) => {
      const key = input.key ?? world.random.hex();
      return { run: runId(world.hash, { tenant, agent: input.agent, idempotencyKey: key }), input: { ...input, key } };
    },
    run: async ({ world, tenant, by, counted }, { key }, checked): Promise<Started | StartRefused | StartCapped> =>
      (await cappedStart(world, { tenant, agent: checked.agent.name, key })) ??
      startTask(world, { ...checked, tenant, idempotencyKey: key, by, counted }),
    outcomes: { ...START_OUTCOMES, spendCapReached: respond.refused("SpendCapReached", "No money is left for today.") },
    http: { method: "post", path: "/runs" },
  }),
} as const;

export const STEERING_ROWS = {
  pause: operation({
    ...{ scope: "runs:write", writes: true, typed: [{ command: "pause" }] },
    help: HELP.pause,
    input: runInput.extend({ why: reason }),
    run: ({ world }, of) => asked(world, { run: of.run, want: "pause" }),
    outcomes: STEERED,
    http: { method: "post", path: "/runs/{run}/pause" },
  }),
  resume: operation({
    ...{ scope: "runs:write", writes: true, typed: [{ command: "resume" }] },
    help: HELP.resume,
    input: runInput.extend({ why: reason }),
    run: ({ world }, of) => asked(world, { run: of.run, want: "resume" }),
    outcomes: STEERED,
    http: { method: "post", path: "/runs/{run}/resume" },
  }),
  cancel: operation({
    ...{ scope: "runs:write", writes: true, typed: [{ command: "cancel" }] },
    help: HELP.cancel,
    input: runInput.extend({ compensate: z.boolean().default(false), why: reason }),
    run: ({ world, by }, of): Promise<Steered | Undone> =>
      of.compensate ? undoAndCancel(world, { run: of.run, by }) : asked(world, { run: of.run, want: "cancel" }),
    outcomes: { ...STEERED, ...UNDONE },
    http: { method: "post", path: "/runs/{run}/cancel" },
  }),
  cancelAll: operation({
    ...{ scope: "runs:write", writes: true, typed: [{ command: "cancel", option: "--all" }] },
    help: HELP.cancelAll,
    input: z.strictObject({ agent: z.string(), confirmed: z.boolean().default(false), why: reason }),
    run: ({ world, tenant }, of): Promise<CancelledAll> => cancelAll(world, { ...of, tenant }),
    outcomes: {
      cancelled: respond.done("They are asked to end; `more`: the same request again goes on with further runs."),
      notConfirmed: respond.unconfirmed("It has to be confirmed; the answer names the runs."),
    },
    http: { method: "post", path: "/agents/{agent}/cancel-all" },
  }),
  restart: operation({
    ...{ scope: "runs:write", writes: true, typed: [{ command: "restart" }] },
    help: HELP.restart,
    input: runInput.extend({ confirmed: z.boolean().default(false), why: reason }),
    run: ({ world, by }, of) => undoAndRestart(world, { ...of, by }),
    outcomes: {
      ...UNDONE,
      notConfirmed: respond.unconfirmed("It has to be confirmed; the answer says what it costs."),
    },
    http: { method: "post", path: "/runs/{run}/restart" },
  }),
  fork: operation({
    ...{ scope: "runs:write", writes: true, typed: [{ command: "fork" }] },
    help: HELP.fork,
    input: runInput.extend({
      at: z.int().nonnegative(),
      input: json.optional(),
      key: z.string().nullable().default(null),
      confirmed: z.boolean().default(false),
    }),
    run: async (context, { input, ...of }): Promise<Forked> => {
      const { world, by, counted } = context;
      const agent = await agentOfRun(context, of.run);
      return forkRun(world, { ...of, by, agent, counted, ...(input !== undefined && { input }) });
    },
    outcomes: {
      ...START_OUTCOMES,
      versionUnknown: { exit: "notFound", status: 404, code: "VersionUnknown", says: "The run has no such version." },
      notForkable: respond.refused("NotForkable", "The run cannot be forked at this version."),
      notConfirmed: respond.unconfirmed("It has to be confirmed; the answer names the effects."),
      missing: RESPONSES.missing,
    },
    http: { method: "post", path: "/runs/{run}/fork", key: "key" },
  }),
  redrive: operation({
    ...{ scope: "runs:write", writes: true, typed: [{ command: "redrive" }] },
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
  checked: operation({
    ...{ scope: "approve", writes: true, typed: [{ command: "checked" }] },
    help: HELP.checked,
    input: runInput.extend({ why: reason }),
    run: ({ world, by }, of) => checkRun(world, { run: of.run, by }),
    outcomes: {
      checked: RESPONSES.accepted,
      same: respond.done("It bears no mark of a restore, or it was said before."),
      missing: RESPONSES.missing,
      unreadable: RESPONSES.unreadable,
    },
    http: { method: "post", path: "/runs/{run}/checked" },
  }),
  checkedAll: operation({
    ...{ scope: "admin", writes: true, typed: [{ command: "checked", option: "--all" }] },
    help: HELP.checkedAll,
    input: z.strictObject({ confirmed: z.boolean().default(false), why: reason }),
    // The function of the API has no route for it, and must not load it.
    run: async ({ world, by }, of): Promise<CheckedStore> =>
      (await import("./restored.ts")).checkStore(world, { confirmed: of.confirmed, by }),
    outcomes: {
      checked: respond.done("No run of the store asks any more, and what waited for it starts."),
      partly: respond.refused("NotChecked", "Some runs are damaged, and still marked."),
      notConfirmed: respond.unconfirmed("It has to be confirmed; the answer names the runs."),
    },
  }),
  restored: operation({
    ...{ scope: "admin", writes: true, typed: [{ command: "restored" }] },
    help: HELP.restored,
    input: z.strictObject({}),
    run: async ({ world }): Promise<{ readonly kind: "fenced" | "partly"; readonly restored: Restored }> => {
      const restored = await (await import("./restored.ts")).fenceRestored(world);
      const isWhole = restored.held.length + restored.damaged.length === 0;
      return { kind: isWhole ? "fenced" : "partly", restored };
    },
    outcomes: {
      fenced: respond.done("Every run that had not ended is fenced, marked and paused."),
      partly: respond.refused("NotFenced", "Some runs are held or damaged, and not fenced."),
    },
  }),
} as const;
