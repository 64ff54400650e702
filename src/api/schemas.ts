/**
 * The schemas of everything that the HTTP API takes and returns. They check every request and generate
 * `docs/openapi.json`; a test checks every real response against them. The document of a run has the type that `cairn
 * show` prints.
 */
import { EFFECT_NAMES } from "../core/calls/effects.ts";
import { CRACK_NAMES } from "../core/crack.ts";
import { z } from "@hono/zod-openapi";
import { key } from "./header-schemas.ts";
import { SIZES } from "../codec/limits.ts";
import { TOO_DEEP, isTooDeep } from "../codec/to-json.ts";
import { MENDS_NAMES } from "../core/policy/mends.ts";
import { ARCHIVE_TIERS } from "../core/policy/retention.ts";
import { PHASE_NAMES, PHASES, type Phase, type Status } from "../core/phases.ts";
import { again, detachedCall, json, openGate, openWait } from "./shown-schemas.ts";
import { givenLabels, placeFields, summaryFields } from "./summary-schemas.ts";
import { files, shownFile } from "./file-schemas.ts";
import type { EndedRun } from "./problem.ts";
import { hasText } from "../core/message.ts";
import type { Shown, UnknownCall, WaitsFor } from "../operations/views.ts";

const count = z.int().nonnegative();
const at = count.openapi({ description: "Epoch milliseconds." });

const statuses: readonly Status[] = ["queued", ...new Set(PHASE_NAMES.map((name) => PHASES[name].status))];
const status = z.enum(statuses);
const phase = z.enum(PHASE_NAMES as readonly [Phase, ...Phase[]]);

const run = z.string().openapi({ description: "The id of the run.", example: "local-q2w3e4r5t6y7uaiaopasadafag" });
const agent = z.string().openapi({ description: "The name of an agent.", example: "travel" });

const resumeToken = z.string().openapi({
  description:
    "The state of the run when this was answered; opaque. It is the entity tag of `GET /runs/{run}`. As `If-Match` it names the epoch that the caller has seen.",
});

export const runParams = z.object({
  // The handler checks the ID before any read. An invalid ID is answered like an unknown run: not found.
  run: z.string().openapi({
    description:
      "The id of the run, as `POST /runs` answered it, or the whole key of its start if one agent has a run under it.",
  }),
});

export const exportQuery = z.strictObject({
  redirect: z.enum(["true", "false"]).optional().openapi({
    description: "`false`: a large export is answered by a document with its URL, for scripts of a page.",
  }),
});

export const exportDocument = z.object({
  location: z.url().openapi({ description: "A signed URL of the gzipped export. Send no credentials there." }),
  seconds: z.int().positive().openapi({ description: "How long it works." }),
});

export const startBody = z
  .strictObject({
    agent: z.string(),
    input: json
      .refine((input) => !isTooDeep(input), TOO_DEEP)
      .default({})
      .openapi({ description: "The task of the agent, which matches the agent's task schema." }),
    files,
    labels: givenLabels,
  })
  .openapi("Start");

export const startedDocument = z
  .object({
    run,
    agent,
    status,
    statusSince: at,
    started: z.boolean().openapi({ description: "False where an earlier request of that key started the run." }),
    resumeToken,
    dropped: z.array(z.string()).exactOptional().openapi({
      description: "What the input has and the agent does not get, because its task schema drops it. Absent: nothing.",
    }),
  })
  .openapi("Started");

export const messageBody = z
  .strictObject({
    text: z
      .string()
      .refine(hasText, "it has no text")
      .openapi({ description: `The message for the model, ${SIZES.messageBytesMax} bytes at most.`, pattern: "\\S" }),
    files,
    id: key.optional().openapi({
      description:
        "The same id twice is one message; with another text it is refused (409 `MessageConflict`). Without an id each request is a message of its own.",
    }),
    stop: z.boolean().optional().openapi({
      description:
        "It ends the answer under way: calls that did not begin are dropped, and those that began are awaited. A conversation then waits for the next message, with which its model reads this one.",
    }),
  })
  .openapi("Message");

export const messageDocument = z
  .object({
    run,
    message: z.string().openapi({ description: "The id of the message." }),
    delivered: z.boolean().openapi({ description: "False where it was delivered before." }),
  })
  .openapi("Delivered");

const unknownCall: z.ZodType<UnknownCall> = z.object({
  call: z.string(),
  tool: z.string(),
  key: z.string(),
  args: json,
  reconcilableFrom: at,
  answered: z.boolean(),
  business: z.boolean().openapi({ description: "The key is the agent's own." }),
  toolGone: z.boolean().openapi({
    description: "Its agent has no such tool any more. The call continues by itself once the tool is deployed again.",
  }),
  unbegun: z.string().nullable().openapi({
    description:
      "Why no beat could start it: it did not begin, and `retry` makes it. Null where its outcome is unknown.",
  }),
  lostTime: z.boolean().openapi({
    description:
      "The run was restored from a backup and has not made the call since: it may have happened before that.",
  }),
  approval: z.string().exactOptional().openapi({
    description: "Why its tool needs approval, where this question asks for that as well: `retry` approves it.",
  }),
  did: z.array(z.string()).openapi({
    description:
      "What its child runs did outside, one line for each call; of an undo, those of the hand-off that it undoes. Empty where it is no hand-off.",
  }),
  otherwise: z
    .enum(["ask", "tell", "fail", "compensate"])
    .openapi({ description: "What follows at reconcilableFrom without a reconciliation; `ask` keeps waiting." }),
  undo: z.boolean().openapi({ description: "Its tool can undo it." }),
  undoes: z.string().exactOptional().openapi({
    description:
      "It is the undo of this call. `succeeded`: that call is undone. `failed`: its effect stays. Absent: it is no undo.",
  }),
  byHand: z.literal(true).exactOptional().openapi({
    description: "No tool can undo it: its agent declared no undo. Absent: a tool can.",
  }),
});

const waitsFor: z.ZodType<WaitsFor> = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("upgrade"), from: z.string(), to: z.string(), accepted: z.boolean() }),
  z.object({ kind: z.literal("agent"), why: z.string() }),
  z.object({
    kind: z.literal("operator"),
    mends: z.enum(MENDS_NAMES).openapi({ description: "What an operator has to mend. A resume tries again." }),
    code: z.string(),
    why: z.string(),
  }),
  z.object({ kind: z.literal("tools"), tools: z.array(z.string()) }),
]);

const some = count.exactOptional();

const grant = z.object({ beats: some, microUsd: some, tokens: some, wallMs: some, toolCalls: some });

const child = z.object({
  run,
  agent,
  call: z.string(),
  grant,
  try: count.openapi({ description: "Which child of that call it is, from 1." }),
  deadline: at.nullable().openapi({ description: "When it is too late, epoch milliseconds; null: never." }),
  superseded: z.boolean().openapi({ description: "It was too late: its answer is not taken." }),
  late: z.boolean().openapi({ description: "It was too late: its call waits for its end, which says what it did." }),
  asked: z.boolean().openapi({ description: "It was asked to stop." }),
  dispatch: count.openapi({
    description: "How often its parent has asked for it. Above 1: it was too late, and the same run goes on.",
  }),
  settlesAt: at.nullable().openapi({
    description: "Until when a request of an earlier process of it may land, epoch milliseconds; null: none may.",
  }),
  again,
}) satisfies z.ZodType<Shown["children"][number]>;

const shown = {
  run,
  agent,
  agentVersion: z.string(),
  waitsFor: waitsFor.nullable().openapi({
    description:
      "What it waits for at its agent: a version that an operator has to accept, its code, tools of open calls, or what the provider of its model refuses.",
  }),
  outage: z
    .object({ since: at, tries: count, nextTryAt: at })
    .nullable()
    .openapi({ description: "The provider of its model does not answer; the next attempt is at nextTryAt." }),
  detachedCall,
  status,
  phase,
  inProgress: z.boolean().openapi({ description: "It has not ended." }),
  resumable: z
    .boolean()
    .openapi({ description: "It has not ended, and no invocation holds it: any invocation may claim it." }),
  version: count.openapi({ description: "The number of commits." }),
  epoch: count.openapi({ description: "The fencing token." }),
  beats: count,
  takeovers: count.openapi({ description: "How often an invocation took it over from a process that had died." }),
  createdAt: at,
  statusSince: at,
  lastCheckpointAt: at.openapi({ description: "When its last checkpoint was written, epoch milliseconds." }),
  wakeAt: at.nullable(),
  askingSince: at.nullable().openapi({
    description: "Since when it asks its model, by the mark that is written before each call; null: it does not.",
  }),
  slowFrom: at.nullable().openapi({
    description: "From when on that call takes longer than usual: 80 % of what it may take, or 90 seconds.",
  }),
  ready: z.boolean().openapi({
    description:
      "An invocation could go on with it: it is queued or running, it was woken, or its time has come. If it is resumable as well, no process drives it.",
  }),
  storeOutage: z
    .object({ store: z.string(), since: at })
    .nullable()
    .openapi({ description: "The store that did not answer when the run was last released, and since when." }),
  spent: z.object({ usd: z.number(), tokensIn: count, tokensOut: count }),
  ...summaryFields,
  ...placeFields,
  label: z.string().openapi({ description: "What it waits for, as a sentence for people." }),
  task: json,
  startedAt: at.nullable(),
  startedBy: z.string().nullable().openapi({
    description:
      "The identity that started it: the ARN that signed the request, user@host of a command line, schedule:NAME; null if none was recorded.",
  }),
  cancelling: z
    .array(z.object({ call: z.string(), tool: z.string(), effect: z.enum(EFFECT_NAMES), stops: z.boolean() }))
    .readonly()
    .nullable()
    .openapi({
      description:
        "A cancel was asked for, and the run has not ended: its calls under way. `stops`: the signal of the call is aborted; otherwise its end is awaited. Null if no cancel was asked for.",
    }),
  firing: z
    .object({ schedule: z.string(), dueAt: at, previousDueAt: at.nullable(), makesUp: z.boolean() })
    .nullable()
    .openapi({
      description:
        "The firing of a schedule that started it: when it was due, when that of the run before was, and whether it makes up for a missed time. Null if none did.",
    }),
  deadline: z
    .object({ at, endBy: at, onExpiry: z.enum(["undo", "leave"]) })
    .nullable()
    .openapi({
      description:
        "When it must be over, epoch milliseconds. An expired run compensates until `endBy`; null if its agent sets no deadline.",
    }),
  messages: count,
  unread: z.object({ count, since: at }).nullable().openapi({
    description: "Messages, decisions and reports that no beat has taken in; `since`: when the oldest came.",
  }),
  attempt: count.openapi({ description: "Counts up each time that the run begins again from its task." }),
  children: z.array(child).openapi({ description: "The child runs that it waits for." }),
  again,
  parent: run.nullable().openapi({ description: "The run that dispatched it; null if no run did." }),
  forkedFrom: z
    .object({ run, version: count })
    .nullable()
    .openapi({ description: "The run and version that it was forked from; null for a run that was started." }),
  unknown: z.array(unknownCall).openapi({ description: "Calls with an unknown outcome." }),
  gates: z
    .array(openGate)
    .openapi({ description: "Calls that wait for approval, and `budget` if the run asks for more." }),
  waits: z.array(openWait).openapi({ description: "Calls that wait for an answer, an event or a time." }),
  topology: z
    .object({ kind: z.string(), progress: json, role: z.string(), where: z.string(), from: count })
    .extend({ final: z.string().exactOptional() })
    .nullable()
    .openapi({ description: "Where its topology stands: its plan, cursor or round; null for a plain ReAct run." }),
  standing: z.array(z.string()).readonly().openapi({
    description: "What earlier runs of repeated work did outside, as far as it stands: `tool (call)`.",
  }),
  cracks: z
    .partialRecord(z.enum(CRACK_NAMES), z.object({ times: count, at, why: z.string(), section: count }))
    .openapi({ description: "The first signals of typical failures that it gave." }),
  ignoredDecision: z
    .object({ gate: z.string(), call: z.string(), by: z.string(), at, why: z.string() })
    .extend({ as: z.enum(["approve", "deny", "edit"]) })
    .nullable()
    .openapi({
      description: "The newest decision that had no effect, since its gate was closed before the run read it.",
    }),
  granted: grant.nullable().openapi({ description: "What an operator granted it beyond the budget of its agent." }),
  assigned: z
    .object({ to: z.string(), by: z.string() })
    .nullable()
    .openapi({ description: "The operator to whom it is assigned, and who assigned it." }),
  result: json,
  files: z
    .array(shownFile)
    .openapi({ description: "The files of the run; `GET /runs/{run}/files/{file}` has the bytes." }),
  failure: z.object({ code: z.string(), message: z.string() }).nullable(),
  redrivable: z
    .boolean()
    .openapi({ description: "It failed for an infrastructure reason; `cairn redrive` continues it." }),
  keptUntil: at.nullable().openapi({
    description: "When it is removed, epoch milliseconds; null until the notifications about its end are sent.",
  }),
  archive: z
    .object({ tier: z.enum(ARCHIVE_TIERS), key: z.string() })
    .nullable()
    .openapi({
      description:
        "Where its archive is stored, after the notifications about its end; null if its agent declares none.",
    }),
} satisfies { readonly [K in keyof Shown]: z.ZodType<Shown[K]> };

export const runDocument = z
  .object({
    ...shown,
    omitted: z
      .array(z.string())
      .optional()
      .openapi({
        description: `JSON pointers of values that are null here because the document would have more than ${SIZES.httpBodyBytesMax} bytes with them. \`cairn show\` has them.`,
      }),
  })
  .openapi("Run");

const endedRun: z.ZodType<EndedRun> = z
  .object({
    status: z.enum(["completed", "failed", "cancelled"]),
    at,
    keptUntil: at.openapi({ description: "Until then the key is kept, epoch milliseconds." }),
    inputDigest: z.string().openapi({ description: "SHA-256 of the input that the run was started with." }),
  })
  .openapi({ description: "How the run with this key ended; its data is removed." });

export const problemDocument = z
  .object({
    title: z.string(),
    status: count,
    code: z.string().openapi({ description: "Stable: programs branch on it.", example: "RunUnknown" }),
    detail: z.string().openapi({ description: "What happened, why, and what to do." }),
    instance: z.string().optional().openapi({ description: "The id of this occurrence in the log." }),
    errors: z
      .array(
        z.object({
          pointer: z.string().optional(),
          header: z.string().optional(),
          parameter: z.string().optional(),
          detail: z.string(),
        }),
      )
      .optional()
      .openapi({ description: "What is wrong, and where: a JSON pointer into the body, a header, or a parameter." }),
    run: run.optional(),
    epoch: count.optional().openapi({ description: "The epoch that the run has now." }),
    resumeToken: resumeToken.optional(),
    bytesMax: count.optional(),
    scope: z.string().optional().openapi({ description: "The scope that the caller lacks." }),
    ended: endedRun.optional(),
    outcome: z
      .object({ kind: z.string() })
      .loose()
      .optional()
      .openapi({ description: "What the operation found. A program that knows the operation learns more from it." }),
  })
  .openapi("Problem");

export const healthDocument = z
  .object({
    status: z.literal("ok"),
    outputLost: z
      .object({ lines: count, why: z.string() })
      .optional()
      .openapi({ description: "What the server could not write of its log since its start. Its work goes on." }),
  })
  .openapi("Health");

/** Whatever the outside service sends. */
export const callbackDocument = z.strictObject({ accepted: z.literal(true) });
