/** The operations that send one message to a run, as rows of the operation table. */
import { hasText } from "../core/message.ts";
import * as z from "zod";
import type { Meter } from "../core/policy/budget.ts";
import { agentOfRun } from "./agents.ts";
import { FILE_INVALID, type FileInvalid, contentsOf, sentFiles } from "./files.ts";
import { HELP } from "./help.ts";
import { answer } from "./answer.ts";
import { assign } from "./assign.ts";
import { decide } from "./decide.ts";
import type { Decided } from "./decision-fate.ts";
import { RESPONSES, runInput, operation, respond, reason } from "./operation.ts";
import { reconcile } from "./reconcile.ts";
import { type Sent, send } from "./steer.ts";
import { signal } from "./signal.ts";
import { acceptUpgrade } from "./upgrade.ts";
import { json } from "./values.ts";

const note = z.string().nullable().default(null);
/** What a run may spend beyond its budget, per meter. */
const amount = z.number().positive().exactOptional();
const more = z.strictObject({
  ...{ beats: amount, microUsd: amount, tokens: amount, wallMs: amount, toolCalls: amount },
} satisfies Record<Meter, z.ZodType>);
/** How long to wait until the run has absorbed the decision, in milliseconds. */
const waitMs = z.int().nonnegative().default(0);
/** API Gateway ends a request after 29 seconds. */
const DECISION_WAIT_MS_MAX = 20_000;

const DECIDED = {
  accepted: RESPONSES.accepted,
  duplicate: RESPONSES.duplicate,
  noEffect: respond.refused("NoEffect", "It was delivered, and the run ignores it."),
  stale: RESPONSES.stale,
  refused: respond.refused("Refused", "It does not fit what the gate asks, or grants too little."),
  argsInvalid: respond.invalid("ArgumentsInvalid", "The arguments do not fit the tool."),
  late: RESPONSES.late,
  missing: RESPONSES.missing,
} as const;

export const MESSAGE_ROWS = {
  send: operation({
    ...{ scope: "runs:write", writes: true, typed: [{ command: "send" }] },
    help: HELP.send,
    // Without an ID each message is a new one.
    input: runInput.extend({
      text: z.string().refine(hasText, "it has no text"),
      files: sentFiles,
      id: z.string().nullable().default(null),
    }),
    run: async (
      context,
      { run: to, text, files, id },
    ): Promise<(Sent | FileInvalid) & { readonly message: string }> => {
      const message = id ?? context.world.random.hex().slice(0, 32);
      const sent = contentsOf(files);
      if (!sent.ok) return { kind: "fileInvalid", why: sent.why, message };
      const said = { run: to, text, files: sent.contents, by: context.by, id: message };
      return { ...(await send(context.world, { ...said, ...(context.row && { row: context.row }) })), message };
    },
    outcomes: {
      delivered: RESPONSES.accepted,
      duplicate: respond.done("It was delivered before."),
      conflict: respond.refused("MessageConflict", "The ID belongs to a message with another text."),
      tooLarge: { exit: "usage", status: 413, code: "TooLarge", says: "The text is too large." },
      fileInvalid: FILE_INVALID,
      late: RESPONSES.late,
      missing: RESPONSES.missing,
      unreadable: RESPONSES.unreadable,
    },
    http: { method: "post", path: "/runs/{run}/messages" },
  }),
  decide: operation({
    ...{ scope: "approve", writes: true },
    help: HELP.decide,
    typed: [
      {
        command: "approve",
        help: HELP.approve,
      },
      {
        command: "deny",
        help: HELP.deny,
      },
    ],
    input: runInput.extend({
      gate: z.string(),
      note,
      waitMs,
      as: z.enum(["approve", "edit", "deny"]),
      args: json.default(null),
      more: more.default({}),
    }),
    run: async (context, said): Promise<Decided> => {
      const agent = said.as === "edit" ? await agentOfRun(context, said.run) : null;
      return decide(context.world, { ...said, agent, by: context.by });
    },
    outcomes: DECIDED,
    http: {
      ...{ method: "post", path: "/runs/{run}/approvals/{gate}" },
      bounds: { waitMs: z.int().min(0).max(DECISION_WAIT_MS_MAX).default(0) },
    },
  }),
  budget: operation({
    ...{ scope: "approve", writes: true },
    help: HELP.budget,
    typed: [{ command: "approve", option: "--usd" }],
    input: runInput.extend({ gate: z.string(), note, waitMs, more }),
    run: ({ world, by }, said): Promise<Decided> => decide(world, { ...said, as: "approve", args: null, by }),
    outcomes: DECIDED,
  }),
  reconcile: operation({
    ...{ scope: "approve", writes: true, typed: [{ command: "reconcile" }] },
    help: HELP.reconcile,
    input: runInput.extend({
      call: z.string(),
      note,
      as: z.enum(["succeeded", "failed", "retry", "compensate"]),
      result: json.default(null),
    }),
    run: ({ world, by }, said) => reconcile(world, { ...said, by }),
    outcomes: {
      accepted: RESPONSES.accepted,
      duplicate: RESPONSES.duplicate,
      noUndo: respond.refused("NoUndo", "The tool of the call has no undo."),
      stale: RESPONSES.stale,
      tooEarly: respond.refused("TooEarly", "Its request may still take effect."),
      refused: respond.refused("Refused", "The result cannot be kept."),
      late: RESPONSES.late,
      missing: RESPONSES.missing,
    },
    http: { method: "post", path: "/runs/{run}/reconcile/{call}" },
  }),
  answer: operation({
    ...{ scope: "approve", writes: true, typed: [{ command: "answer" }] },
    help: HELP.answer,
    input: runInput.extend({ call: z.string(), result: json.default(null) }),
    run: async (context, said) =>
      answer(context.world, { ...said, by: context.by, agent: await agentOfRun(context, said.run) }),
    outcomes: {
      accepted: RESPONSES.accepted,
      duplicate: respond.refused("Duplicate", "The question was answered before; the first answer counts."),
      noEffect: respond.refused("NoEffect", "It was delivered, and the run ignores it."),
      stale: RESPONSES.stale,
      answerInvalid: respond.invalid("AnswerInvalid", "The answer does not fit what the call asks for."),
      refused: respond.refused("Refused", "The answer cannot be kept."),
      late: RESPONSES.late,
      missing: RESPONSES.missing,
    },
    http: { method: "post", path: "/runs/{run}/answers/{call}" },
  }),
  signal: operation({
    ...{ scope: "runs:write", writes: true, typed: [{ command: "signal" }] },
    help: HELP.signal,
    // Without an ID each event is a new one.
    input: runInput.extend({
      event: z.string(),
      detail: json.default(null),
      id: z.string().nullable().default(null),
    }),
    run: async (context, { id, ...said }) =>
      signal(context.world, {
        ...said,
        id: id ?? context.world.random.hex().slice(0, 32),
        by: context.by,
        agent: await agentOfRun(context, said.run),
      }),
    outcomes: {
      accepted: RESPONSES.accepted,
      duplicate: respond.done("It was signalled before."),
      conflict: respond.refused("SignalConflict", "The ID belongs to another event, or to one with another detail."),
      refused: respond.refused("Refused", "The run does not take this event."),
      detailInvalid: respond.invalid("DetailInvalid", "The detail does not fit what the call asks for."),
      late: RESPONSES.late,
      missing: RESPONSES.missing,
    },
    http: { method: "post", path: "/runs/{run}/signals/{event}" },
  }),
  assign: operation({
    ...{ scope: "runs:write", writes: true, typed: [{ command: "assign" }] },
    help: HELP.assign,
    input: runInput.extend({ to: z.string().regex(/\S/u, "it has no text") }),
    run: ({ world, by }, of) => assign(world, { ...of, by }),
    outcomes: {
      accepted: RESPONSES.accepted,
      same: respond.done("They have it already."),
      crossed: respond.refused("Crossed", "Another operator assigned it in the same moment."),
      late: RESPONSES.late,
      missing: RESPONSES.missing,
    },
    http: { method: "post", path: "/runs/{run}/assignment" },
  }),
  upgrade: operation({
    ...{ scope: "approve", writes: true, typed: [{ command: "resume", option: "--upgrade" }] },
    help: HELP.upgrade,
    input: runInput.extend({ why: reason }),
    run: ({ world, by }, of) => acceptUpgrade(world, { ...of, by }),
    outcomes: {
      accepted: RESPONSES.accepted,
      duplicate: RESPONSES.duplicate,
      stale: RESPONSES.stale,
      late: RESPONSES.late,
      missing: RESPONSES.missing,
    },
    http: { method: "post", path: "/runs/{run}/upgrade" },
  }),
} as const;
