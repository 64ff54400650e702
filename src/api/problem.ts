/**
 * Errors of the API in the form of RFC 9457: a document with a stable `code`, and a text that says what happened, why
 * and what to do.
 *
 * The codes equal those of the command line if they mean the same. Errors of the store name tables, keys and
 * identities. So their texts go to telemetry, and the caller gets only texts from this file.
 */
import { HTTPException } from "hono/http-exception";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { AgentInvalid } from "../ports/agent-invalid.ts";
import { Unreadable } from "../codec/canonical.ts";
import { RowNewer } from "../codec/row.ts";
import { bounded, sentenceOf, stackOf } from "../codec/value.ts";
import { InvariantViolated, ensure } from "../core/ensure.ts";
import { SIZES } from "../codec/limits.ts";
import { StoreClosed } from "../ports/store-errors.ts";
import { StoreUnreachable, type World } from "../ports/world.ts";
import { alarm } from "../history/alarm.ts";
import { SecretUnread } from "../history/secrets.ts";
import type { AnyOperation } from "../operations/operation.ts";
import type { Issue } from "../engine/context/creation.ts";

const TITLES = {
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  409: "Conflict",
  412: "Precondition Failed",
  413: "Content Too Large",
  415: "Unsupported Media Type",
  422: "Unprocessable Content",
  429: "Too Many Requests",
  500: "Internal Server Error",
  501: "Not Implemented",
  503: "Service Unavailable",
} as const satisfies { readonly [S in ContentfulStatusCode]?: string };

type ProblemStatus = keyof typeof TITLES;

/** One mistake in a request, and its place: a JSON pointer into the body, or the name of a header or parameter. */
export interface Wrong {
  readonly pointer?: string;
  readonly header?: string;
  readonly parameter?: string;
  readonly detail: string;
}

/** What is still known of a finished run whose data is deleted. */
export interface EndedRun {
  readonly status: string;
  readonly at: number;
  readonly keptUntil: number;
  readonly inputDigest: string;
}

/** The outcome of an operation as the caller gets it. */
export interface ToldOutcome {
  readonly kind: string;
  readonly [name: string]: unknown;
}

interface Trouble {
  readonly status: ProblemStatus;
  readonly code: string;
  readonly detail: string;
  /** Further details for a program, each under its own field name. */
  readonly facts?: Readonly<Record<string, string | number | readonly Wrong[] | EndedRun | ToldOutcome>>;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An error whose document the caller gets. */
export class ApiProblem extends Error {
  override readonly name = "ApiProblem";
  readonly trouble: Trouble;

  constructor(trouble: Trouble, options?: ErrorOptions) {
    super(trouble.detail, options);
    this.trouble = trouble;
  }
}

/** Turns an outcome into a problem, with the status and code that the operation table gives it. */
export function problemAs(
  { outcomes }: Pick<AnyOperation, "outcomes">,
  kind: string,
  words: Pick<Trouble, "detail" | "facts">,
): ApiProblem {
  const told = outcomes[kind];
  const status = PROBLEM_STATUSES.find((each) => each === told?.status);
  ensure(status !== undefined && told?.code != null, `an outcome ${kind} is no problem`);
  return new ApiProblem({ status, code: told.code, ...words });
}

export const notJson = (): ApiProblem => new ApiProblem(NOT_JSON);

const PROBLEM_STATUSES = Object.keys(TITLES).map(Number) as readonly ProblemStatus[];

/** Turns any thrown value into the problem that the caller gets. */
export function asProblem(error: unknown): ApiProblem {
  if (error instanceof ApiProblem) return error;
  return new ApiProblem(troubleOf(error), { cause: error });
}

function troubleOf(error: unknown): Trouble {
  if (error instanceof HTTPException) {
    if (error.status === 415) return NOT_JSON;
    if (error.status === 400) return { status: 400, code: "BadJson", detail: BAD_JSON };
  }
  if (error instanceof SecretUnread) return { status: 503, code: error.code, detail: error.message };
  if (error instanceof StoreClosed) return { status: 503, code: error.code, detail: CLOSED };
  if (error instanceof StoreUnreachable) {
    return { status: 503, code: error.code, detail: UNREACHABLE, headers: { "retry-after": RETRY_AFTER_SECONDS } };
  }
  if (error instanceof RowNewer) {
    return { status: 503, code: error.code, detail: NEWER, headers: { "retry-after": RETRY_AFTER_SECONDS } };
  }
  if (error instanceof Unreadable) return { status: 500, code: error.code, detail: UNREADABLE };
  if (error instanceof AgentInvalid) return { status: 500, code: error.code, detail: AGENT_INVALID };
  const code = error instanceof InvariantViolated ? error.code : "Unexpected";
  return { status: 500, code, detail: UNEXPECTED };
}

const RETRY_AFTER_SECONDS = "2";

const NOT_JSON: Trouble = {
  status: 415,
  code: "MediaTypeUnsupported",
  detail: "the content type is not JSON: send the body with Content-Type: application/json",
};
const BAD_JSON = "the body is not JSON: send one JSON document, in UTF-8";
const UNREACHABLE =
  "the store cannot be used now, so it is not known whether the request was applied: send it again with the same Idempotency-Key";
const CLOSED =
  "the program that answers has closed its store, so it is not known whether the request was applied: send it again with the same Idempotency-Key to a program whose store is open";
const UNREADABLE =
  "the stored data of this run cannot be read or verified: nothing was changed; ask the operator to run `cairn verify RUN`";
const NEWER =
  "a newer version of cairn drives this run, and this function is older: nothing was changed; a rollout may be under way, so send the request again";
const AGENT_INVALID = "the agent cannot be loaded: nothing was started; ask the operator to fix the agent";
const UNEXPECTED = "this is a bug in cairn: the operator finds the error in the log by its `instance`";

/** The HTTP response with the problem document. */
export function answerOf({ trouble }: ApiProblem, instance: string | null): Response {
  const { status, code, detail, facts = {}, headers = {} } = trouble;
  const told = { title: TITLES[status], status, code, detail, ...(instance === null ? {} : { instance }), ...facts };
  const body = JSON.stringify(told);
  return new Response(body, { status, headers: { ...headers, "content-type": "application/problem+json" } });
}

/** Records an unexpected error for the operator. The caller gets only the ID under which it was recorded. */
export function faultTold(
  world: World,
  { error, told, path }: { readonly error: unknown; readonly told: ApiProblem; readonly path: string },
): string {
  const instance = `urn:cairn:fault:${world.random.hex().slice(0, 16)}`;
  const { code } = told.trouble;
  const why = code === "Unexpected" ? bounded(stackOf(error) ?? sentenceOf(error)) : sentenceOf(error);
  const run = /^\/runs\/([a-z0-9-]{1,51})(?:\/|$)/.exec(path)?.[1] ?? "";
  alarm(world, run, { what: code, why: `${instance}: ${why}` });
  return instance;
}

/** The answer of a server that cannot load what answers requests. */
export function notLoaded(world: World, { error, path }: { readonly error: unknown; readonly path: string }): Response {
  const told = new ApiProblem({
    status: 500,
    code: "AnswersNotLoaded",
    detail:
      "what answers requests cannot be loaded, so nothing was done: the operator finds the cause in the log by its `instance`, and starts this server again if cairn was replaced while it ran",
  });
  return answerOf(told, faultTold(world, { error, told, path }));
}

/**
 * One response for an unknown run, an invalid ID and a run of another tenant. So a caller cannot find out which runs
 * other tenants have.
 */
export const runUnknown = (): ApiProblem =>
  new ApiProblem({
    status: 404,
    code: "RunUnknown",
    detail:
      "there is no such run: check its id, or the key of its start; ended runs are removed when their retention expires, by default after a day",
  });

/** The key of several starts: each agent may have a run under it. */
export const runAmbiguous = (runs: readonly { readonly run: string; readonly agent: string }[]): ApiProblem =>
  new ApiProblem({
    status: 404,
    code: "RunAmbiguous",
    detail: `several agents have a run under this key: name one of them by its id, ${runs.map(({ run, agent }) => `${run} (${agent})`).join(" or ")}`,
  });

export const agentUnknown = (): ApiProblem =>
  new ApiProblem({
    status: 404,
    code: "AgentUnknown",
    detail: "this deployment has no agent of that name: check the name, or deploy the agent",
  });

export const pathUnknown = (): ApiProblem =>
  new ApiProblem({
    status: 404,
    code: "PathUnknown",
    detail: "there is nothing at this path: GET /openapi.json lists the paths",
  });

export const methodNotAllowed = (methods: readonly string[]): ApiProblem =>
  new ApiProblem({
    status: 405,
    code: "MethodNotAllowed",
    detail: `this path does not support that method: use ${methods.join(" or ")}`,
    headers: { allow: methods.join(", ") },
  });

/** The server could not identify the caller. */
export const unauthenticated = (): ApiProblem =>
  new ApiProblem({
    status: 401,
    code: "Unauthenticated",
    detail: "the caller is not known: sign the request with AWS Signature Version 4; only /healthz is open",
    headers: { "www-authenticate": "AWS4-HMAC-SHA256" },
  });

/** The `auth` function of a server of one's own returned null. */
export const notRecognised = (): ApiProblem =>
  new ApiProblem({
    status: 401,
    code: "Unauthenticated",
    detail:
      "the caller is not known: the login of this server did not recognise the request; sign in where its users do",
  });

const TOKEN_REFUSALS = {
  absent: { code: "Unauthenticated", why: "the request has no access token" },
  unknown: { code: "TokenUnknown", why: "the access token is not known here" },
  expired: { code: "TokenExpired", why: "the access token has expired" },
  revoked: { code: "TokenRevoked", why: "the access token was revoked" },
  damaged: {
    code: "TokenDamaged",
    why: "the record of the access token cannot be read, so the operator has to revoke it and to make another one",
  },
  invalid: { code: "TokenInvalid", why: "the signature, issuer, audience or claims of the token do not count here" },
} as const;

/** The token of a request does not identify a caller. */
export function tokenRefused(kind: keyof typeof TOKEN_REFUSALS): ApiProblem {
  const { code, why } = TOKEN_REFUSALS[kind];
  const error = kind === "absent" ? "" : ' error="invalid_token"';
  return new ApiProblem({
    status: 401,
    code,
    detail: `${why}: nothing was done; send Authorization: Bearer TOKEN, with a token that the operator gave you`,
    headers: { "www-authenticate": `Bearer realm="cairn"${error}` },
  });
}

/** The keys of the issuer of tokens cannot be fetched, so it is not known who asks. */
export const issuerUnreachable = (cause: unknown): ApiProblem =>
  new ApiProblem(
    {
      status: 503,
      code: "IssuerUnreachable",
      headers: { "retry-after": RETRY_AFTER_SECONDS },
      detail: "the keys of the token's issuer cannot be fetched now: nothing was done; send the request again",
    },
    { cause },
  );

/** The caller is known, and may not do this. */
export const scopeMissing = (scope: string): ApiProblem =>
  new ApiProblem({
    status: 403,
    code: "ScopeMissing",
    detail: `this needs the scope ${scope}, which the caller does not have: nothing was done; use a token with that scope`,
    facts: { scope },
    headers: { "www-authenticate": `Bearer error="insufficient_scope", scope="${scope}"` },
  });

export const tooLarge = (what: string, bytesMax: number, outcome?: ToldOutcome): ApiProblem =>
  new ApiProblem({
    status: 413,
    code: "TooLarge",
    detail: `${what} is too large: ${bytesMax} bytes are accepted at most; send less, or a link to the content`,
    facts: { bytesMax, ...(outcome !== undefined && { outcome }) },
  });

export const badJson = (why?: string): ApiProblem =>
  new ApiProblem({ status: 400, code: "BadJson", detail: why === undefined ? BAD_JSON : `${BAD_JSON}; ${why}` });

/** The request ended before its body did. The caller receives this only if it still reads. */
export const bodyCutOff = (cause: unknown): ApiProblem =>
  new ApiProblem(
    {
      status: 400,
      code: "BodyCutOff",
      detail: "the body ended before it was complete: nothing was done; send the request again",
    },
    { cause },
  );

/** A request with two keys: it is not known which of them its caller means. */
export const keysDiffer = (field: string): ApiProblem =>
  new ApiProblem({
    status: 409,
    code: "KeysDiffer",
    detail: `the Idempotency-Key header and \`${field}\` in the body differ: nothing was done; send only one of them`,
  });

/** The request violates its schema; each violation has its place. */
export const requestInvalid = (errors: readonly Wrong[]): ApiProblem =>
  new ApiProblem({
    status: 422,
    code: "RequestInvalid",
    detail:
      "the request does not match its schema: `errors` lists what is wrong and where; GET /openapi.json has the schema",
    facts: { errors },
  });

/** The input violates the schema of the agent's task. */
export const inputInvalid = (agent: string, errors: readonly Wrong[], outcome: ToldOutcome): ApiProblem =>
  new ApiProblem({
    status: 422,
    code: "InputInvalid",
    detail: `the input does not match the task schema of ${agent}: nothing was started; \`errors\` lists what is wrong and where`,
    facts: { errors, outcome },
  });

/** Converts the issues of a part of the body; `within` is the pointer to that part. */
export function wrongIn(issues: readonly (Issue & { readonly keys?: readonly string[] })[], within: string): Wrong[] {
  const told = issues.flatMap(({ path, message, keys }) => {
    const paths = keys === undefined ? [path] : keys.slice(0, SIZES.issuesMax).map((key) => path.concat(key));
    return paths.map((each) => ({ pointer: pointerTo(within, each), detail: bounded(message, WORDS_MAX) }));
  });
  return told.slice(0, SIZES.issuesMax);
}

const WORDS_MAX = 200;

/** A JSON pointer (RFC 6901) as a URI fragment. It is cut, because the caller's own keys may be long. */
const pointerTo = (within: string, path: readonly PropertyKey[]): string =>
  bounded([within, ...path.map((key) => String(key).replaceAll("~", "~0").replaceAll("/", "~1"))].join("/"), WORDS_MAX);
