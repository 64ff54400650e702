/**
 * What the handler of each operation does. A run is read only if its ID is valid and belongs to the caller's tenant.
 * The ID alone decides both, so another tenant's run costs no read and reveals nothing.
 */
import type { z } from "@hono/zod-openapi";
import type { Agent } from "../ports/agent.ts";
import { AgentInvalid } from "../ports/agent-invalid.ts";
import { Unreadable } from "../codec/canonical.ts";
import { savedAs, servedAs } from "../codec/media-types.ts";
import { bounded, sentenceOf } from "../codec/value.ts";
import { type RunLabels, isName, isRunId, tenantOf, wrongWithKey } from "../core/ids.ts";
import type { Json } from "../core/json.ts";
import { SIZES } from "../codec/limits.ts";
import { runId } from "../protocol/ids.ts";
import { type Row, hasEnded } from "../protocol/row.ts";
import type { Tombstone } from "../protocol/tombstone.ts";
import type { World } from "../ports/world.ts";
import type { AgentCatalogue } from "../operations/agents.ts";
import { callerTraceIn } from "../codec/caller-trace.ts";
import type { AnyOperation, OperationContext } from "../operations/operation.ts";
import { performAny, performOperation } from "../operations/perform.ts";
import type { FiringsOf } from "../operations/schedules.ts";
import type { SentFile } from "../codec/file.ts";
import type { FileInvalid } from "../operations/files.ts";
import { OPERATIONS } from "../operations/table.ts";
import type { AccessOptions } from "../sdk/access.ts";
import { outcomeForCaller } from "../operations/caller-outcome.ts";
import {
  ApiProblem,
  type ToldOutcome,
  agentUnknown,
  inputInvalid,
  problemAs,
  requestInvalid,
  runAmbiguous,
  runUnknown,
  tooLarge,
  wrongIn,
} from "./problem.ts";
import { fitting } from "./fitting.ts";
import type { Caller } from "./access/caller.ts";
import { countedIn, isLimitReached, limitReached } from "./access/limits.ts";
import { entityTag, isOfEpoch, isUnchanged, resumeToken } from "./resume.ts";
import type * as schemas from "./schemas.ts";
import type { SpendCapReached } from "../features/spend-caps/today.ts";

/** What a handler may use besides the request. */
export interface HandlerContext {
  readonly world: World;
  readonly caller: Caller;
  readonly agentOf: (name: string) => Promise<Agent | null>;
  readonly agents?: () => Promise<AgentCatalogue>;
  readonly firingsOf?: FiringsOf;
  readonly examine?: OperationContext["examine"];
  readonly load?: OperationContext["load"];
  /** What each tenant may do. */
  readonly limits?: AccessOptions["limits"];
  /** The headers of the request that name the trace of the caller. */
  readonly headers?: Headers;
}

export const contextOf = (
  { world, caller, agentOf, agents, firingsOf, examine, load, limits, headers }: HandlerContext,
  row: Row | null,
): OperationContext => ({
  ...tracedIn(headers),
  ...countedIn(limits, caller),
  ...(firingsOf !== undefined && { firingsOf }),
  ...(examine !== undefined && { examine }),
  ...(load !== undefined && { load }),
  ...(agents !== undefined && { agents: () => agents().catch(asInvalid) }),
  world,
  by: caller.actor,
  tenant: row?.tenant ?? caller.tenant,
  isOperator: caller.isOperator === true,
  origin: { from: caller.address ?? null, token: caller.token ?? null },
  agentOf: async (name) => (isName(name) ? agentOf(name).catch(asInvalid) : null),
  ...(row !== null && { row }),
});

function tracedIn(headers?: Headers): Pick<OperationContext, "trace"> {
  if (headers === undefined) return {};
  const trace = callerTraceIn({ traceparent: headers.get("traceparent"), tracestate: headers.get("tracestate") });
  return trace === null ? {} : { trace };
}

interface Wanted {
  readonly agent: string;
  readonly input: Json;
  readonly files: readonly SentFile[];
  readonly labels: RunLabels;
  /** The idempotency key; null starts a new run each time. */
  readonly idempotencyKey: string | null;
}

/** `POST /runs`: starts a run, or returns the run that the same idempotency key started before. */
export async function startOf(
  asked: HandlerContext,
  { agent, input, files, labels, idempotencyKey: key }: Wanted,
): Promise<z.output<typeof schemas.startedDocument>> {
  const started = await performOperation(OPERATIONS.start, contextOf(asked, null), {
    agent,
    input,
    files: [...files],
    key,
    labels,
  });
  if (started.kind === "agentUnknown") throw agentUnknown();
  if (started.kind === "invalid") {
    const { kind, why, example = null } = started;
    throw inputInvalid(agent, wrongIn(started.issues, "#/input"), { kind, why: bounded(why), example });
  }
  if (started.kind === "fileInvalid") throw fileInvalid(OPERATIONS.start, started);
  if (started.kind === "conflict") throw keyConflict(started.run);
  if (started.kind === "ended") throw keyEnded(started.tombstone);
  if (started.kind === "limitReached") throw limitReached(asked.world, OPERATIONS.start, started);
  if (started.kind === "budgetMissing")
    throw problemAs(OPERATIONS.start, started.kind, { detail: OPERATIONS.start.outcomes[started.kind].says });
  if (started.kind === "spendCapReached") throw spendCapped(started);
  const { row, dropped = [] } = started;
  const token = resumeToken(row, asked.world.clock.now());
  const isFirst = started.kind === "started";
  return {
    run: row.run,
    agent: row.agent,
    status: row.status,
    statusSince: row.statusSince,
    started: isFirst,
    resumeToken: token,
    ...(dropped.length > 0 && { dropped: [...dropped] }),
  };
}

/** An agent file of the user cannot be loaded. */
function asInvalid(cause: unknown): never {
  throw new AgentInvalid(sentenceOf(cause), { cause });
}

const fileInvalid = (operation: Pick<AnyOperation, "outcomes">, { kind, why }: FileInvalid): ApiProblem =>
  problemAs(operation, kind, { detail: `a file is not accepted: ${why}`, facts: { outcome: { kind, why } } });

const keyConflict = (run: string): ApiProblem =>
  problemAs(OPERATIONS.start, "conflict", {
    detail: `the key belongs to run ${run}, which was started with another input or other files: send those to get that run, or use another key for a new run`,
    facts: { run },
  });

/** The problem for a retry whose run is finished and already deleted. */
const keyEnded = ({ run, agent, status, endedAt, expiresAtSec, inputDigest }: Tombstone): ApiProblem =>
  problemAs(OPERATIONS.start, "ended", {
    detail: `this key was used before: its run ${run} ${status}, and the data of that run is removed; use another key to do the work again`,
    facts: {
      run,
      ended: { status, at: endedAt, keptUntil: expiresAtSec * 1_000, inputDigest },
      outcome: { kind: "ended", tombstone: { run, agent, status, endedAt, inputDigest, expiresAtSec } },
    },
  });

/** The response to a read: unchanged since the caller's token, or the document of the run. */
export type RunRead =
  | { readonly kind: "unchanged"; readonly etag: string }
  | { readonly kind: "shown"; readonly etag: string; readonly document: z.output<typeof schemas.runDocument> };

/** `GET /runs/{run}`: the document of a run, unless its token equals the caller's. */
export async function runOf(
  asked: HandlerContext,
  request: { readonly run: string; readonly ifNoneMatch: string },
): Promise<RunRead> {
  const { world } = asked;
  const row = await find(asked, request.run);
  // The token is computed before the document is read. So the tag is at worst too old, and the caller is shown what
  // happened in between.
  const token = resumeToken(row, world.clock.now());
  const etag = entityTag(token);
  if (isUnchanged(request.ifNoneMatch, token)) return { kind: "unchanged", etag };
  const outcome = await performOperation(OPERATIONS.show, contextOf(asked, row), { run: row.run });
  if (outcome.kind === "missing") throw runUnknown();
  // Names of the account are for who runs the deployment, not for each tenant.
  const isAdmin = asked.caller.scopes.includes("admin");
  return { kind: "shown", etag, document: fitting(isAdmin ? outcome.shown : { ...outcome.shown, aws: null }) };
}

/** `POST /runs/{run}/messages`: sends a message to a run, once per ID. */
export async function messageOf(
  asked: HandlerContext,
  said: {
    readonly run: string;
    readonly text: string;
    readonly files: readonly SentFile[];
    /** The ID of the message; null: each request sends a new message. */
    readonly id: string | null;
    /** It ends the answer under way. */
    readonly stop: boolean;
    /** The `If-Match` header; empty: no precondition. */
    readonly ifMatch: string;
  },
): Promise<z.output<typeof schemas.messageDocument>> {
  const { text, files, id, stop, ifMatch } = said;
  const row = await find(asked, said.run);
  // A finished run takes no message, whatever version the caller saw. A message that it took before is still a
  // duplicate, not an error.
  if (ifMatch !== "" && !hasEnded(row) && !isOfEpoch(ifMatch, row)) throw stale(asked.world, row);
  const sent = await performOperation(OPERATIONS.send, contextOf(asked, row), {
    run: row.run,
    text,
    files: [...files],
    id,
    stop,
  });
  switch (sent.kind) {
    case "delivered":
    case "duplicate":
      return { run: row.run, message: sent.message, delivered: sent.kind === "delivered" };
    case "conflict":
      throw messageConflict(row, sent.message);
    case "late":
      throw late(row);
    case "missing":
      throw runUnknown();
    case "fileInvalid":
      throw fileInvalid(OPERATIONS.send, sent);
    case "tooLarge":
      throw tooLarge("the text", SIZES.messageBytesMax, { kind: sent.kind, bytes: sent.bytes });
    case "unreadable":
      throw new Unreadable(`run ${row.run} has a format that this version of cairn does not know`, "UnknownFormat");
  }
}

const messageConflict = ({ run }: Row, id: string): ApiProblem =>
  problemAs(OPERATIONS.send, "conflict", {
    detail: `the id ${bounded(id)} was already used for another message to run ${run}: nothing was sent; send this text with another id, or without one`,
    facts: { run },
  });

const late = ({ run }: Row): ApiProblem =>
  problemAs(OPERATIONS.send, "late", {
    detail: `run ${run} accepts no more messages: it has ended; GET /runs/${run} shows how`,
    facts: { run },
  });

function stale(world: World, row: Row): ApiProblem {
  const { run, epoch } = row;
  const token = resumeToken(row, world.clock.now());
  return new ApiProblem({
    status: 412,
    code: "Stale",
    detail:
      "the run has changed since it was read: nothing was done; read it again and send with its new tag; to repeat a request that got no answer, send it without If-Match",
    facts: { run, epoch, resumeToken: token },
    headers: { etag: entityTag(token) },
  });
}

/** `GET /runs/{run}/files/{file}`: the bytes of a file, or where the store hands them out. */
export async function fileOf(
  asked: HandlerContext,
  wanted: { readonly run: string; readonly file: string },
): Promise<Response> {
  const row = await find(asked, wanted.run);
  const found = await performOperation(OPERATIONS.file, contextOf(asked, row), { run: row.run, file: wanted.file });
  if (found.kind === "missing") throw runUnknown();
  if (found.kind === "fileUnknown") {
    const detail = `run ${row.run} has no such file: GET /runs/${row.run} lists its files`;
    throw problemAs(OPERATIONS.file, "fileUnknown", { detail, facts: { run: row.run } });
  }
  const link = await found.link();
  if (link !== null)
    return new Response(null, { status: 303, headers: { location: link, "cache-control": "no-store" } });
  const { name, mediaType, file, bytes } = found.file;
  return new Response(Buffer.from(await found.read()), {
    headers: {
      "content-type": servedAs(mediaType),
      "content-disposition": savedAs(name),
      "content-length": String(bytes),
      "content-security-policy": "default-src 'none'; sandbox",
      "cache-control": "private, max-age=31536000, immutable",
      etag: `"${file}"`,
    },
  });
}

/** Performs an operation without a handler of its own. The response is its outcome. */
export async function outcomeOf(
  asked: HandlerContext,
  operation: AnyOperation,
  { given, ifMatch }: { readonly given: Readonly<Record<string, unknown>>; readonly ifMatch: string },
): Promise<{ readonly status: number; readonly outcome: ToldOutcome }> {
  const { run } = given;
  const isOfRun = operation.http?.path.includes("{run}") === true;
  const row = isOfRun ? await find(asked, typeof run === "string" ? run : "") : null;
  const input = operation.input.safeParse(row === null ? given : { ...given, run: row.run });
  if (!input.success) throw requestInvalid(wrongIn(input.error.issues, "#"));
  const isStale = operation.writes && row !== null && ifMatch !== "" && !hasEnded(row) && !isOfEpoch(ifMatch, row);
  if (isStale) throw stale(asked.world, row);
  const outcome = outcomeForCaller(await performAny(operation, contextOf(asked, row), input.data), {
    now: asked.world.clock.now(),
    modelMs: asked.world.limits.modelMs,
  });
  const { status, says } = operation.outcomes[outcome.kind] ?? { status: 500, says: outcome.kind };
  if (status < 400) return { status, outcome };
  if (isLimitReached(outcome)) throw limitReached(asked.world, operation, outcome);
  const why = "why" in outcome && typeof outcome.why === "string" ? ` ${bounded(outcome.why)}` : "";
  throw problemAs(operation, outcome.kind, { detail: `${says}${why}`, facts: { outcome } });
}

/**
 * The row of a run, if it exists and belongs to the caller's tenant. The operator of the machine has every tenant. A text
 * that is no ID is the key of a start, from which the ID of each agent's run under it derives: so no list is read.
 */
export async function find(asked: HandlerContext, text: string): Promise<Row> {
  const { world, caller } = asked;
  const isOfTenant = tenantOf(text) === caller.tenant || caller.isOperator === true;
  const ids = isRunId(text) ? (isOfTenant ? [text] : []) : await idsUnder(asked, text);
  const found = await Promise.all(ids.map((run) => world.table.read(run, world.clock.now())));
  const [row, ...others] = found.filter((each) => each !== null);
  if (row === undefined) throw runUnknown();
  if (others.length > 0) throw runAmbiguous([row, ...others]);
  return row;
}

async function idsUnder({ world, caller, agents }: HandlerContext, idempotencyKey: string): Promise<readonly string[]> {
  if (agents === undefined || wrongWithKey(idempotencyKey) !== null) return [];
  const { tenant } = caller;
  const known = (await agents().catch(asInvalid)).agents;
  return known.map(({ name: agent }) => runId(world.hash, { tenant, agent, idempotencyKey }));
}

/** What a caller learns while the spend cap of the day is reached. */
const spendCapped = ({ spentUsd, capUsd, resetsAt }: SpendCapReached): ApiProblem =>
  problemAs(OPERATIONS.start, "spendCapReached", {
    detail: `no run was started: all runs together have spent what they may in a day; send it again after ${new Date(resetsAt).toISOString()}`,
    facts: { spentUsd, capUsd, resetsAt, outcome: { kind: "spendCapReached", spentUsd, capUsd, resetsAt } },
  });
