/**
 * Connects the API to a REST API of API Gateway, which has checked the signature of each request. It derives who signed
 * the request, and below which path the API is.
 */
// oxlint-disable-next-line typescript/no-deprecated -- its successor is in no package that we depend on
import { handle } from "hono/aws-lambda";
import type { Hono } from "hono";
import type { Authenticate, Caller, Credentials } from "../src/api/access/caller.ts";
import { DEFAULT_TENANT } from "../src/core/ids.ts";
import { SIZES } from "../src/codec/limits.ts";
import type { OperationRows } from "../src/api/routes.ts";
import { SCOPES } from "../src/operations/operation.ts";
import { ROWS } from "../src/operations/table.ts";

/**
 * The operations of the deployed API: all but the purge. That deletes archives, which no function of a deployment may
 * do, so an operator purges with their own rights.
 */
export const GATEWAY_ROWS: OperationRows = Object.fromEntries(
  Object.entries(ROWS).filter(([name]) => name !== "purge"),
);

/** The fields of an API Gateway event that are read here; the rest is passed on. */
export interface GatewayEvent {
  /** Such as `/{proxy+}`. */
  readonly resource: string;
  readonly path: string;
  readonly httpMethod: string;
  readonly pathParameters: Readonly<Record<string, string>> | null;
  readonly body: string | null;
  readonly requestContext: {
    /** The path with the stage, or with the base path of a custom domain. */
    readonly path: string;
    /** The identity that signed the request; absent if the request needed no signature. */
    readonly identity: { readonly userArn?: string | null; readonly sourceIp?: string | null };
  };
}

/** What the API gets besides the request itself. */
export interface FromGateway {
  readonly event: GatewayEvent;
}

/** The Lambda handler of an API, or of an app in front of it. */
export function gatewayHandler<Known extends { readonly Bindings: FromGateway }>(api: Hono<Known>) {
  // oxlint-disable-next-line typescript/no-deprecated -- as above
  const answer = handle(api);
  type Taken = Parameters<typeof answer>[0];
  return (event: GatewayEvent): ReturnType<typeof answer> => answer(eventBelow(event) as unknown as Taken);
}

/** The event with the path below that of the API, and without the body of a GET or HEAD request. */
export function eventBelow(event: GatewayEvent): GatewayEvent {
  const isRead = event.httpMethod === "GET" || event.httpMethod === "HEAD";
  return { ...event, path: pathBelow(event), body: isRead ? null : event.body };
}

/** The path that API Gateway matched, without the part before it. */
const pathBelow = ({ resource, pathParameters }: GatewayEvent): string =>
  resource.replace(/\{(\w+)\+?\}/g, (_, name: string) => {
    const value = pathParameters?.[name] ?? "";
    return value.split("/").map(encodeURIComponent).join("/");
  });

/** The part before the API's own path, such as `/prod` of `/prod/runs`. */
export function baseOf({ event }: FromGateway): string {
  const { path } = event.requestContext;
  return path.endsWith(event.path) ? path.slice(0, path.length - event.path.length) : "";
}

/**
 * The caller of a request. `authenticate` null: API Gateway has checked the signature of an identity of the account, which
 * has every scope of the one tenant that a deployment has at the command line.
 */
export const callerBy =
  (authenticate: Authenticate | null) =>
  async ({ event }: FromGateway, credentials: Credentials): Promise<Caller | null> => {
    const { userArn, sourceIp } = event.requestContext.identity;
    const address = sourceIp ? { address: sourceIp } : {};
    if (authenticate !== null) return { ...(await authenticate(credentials)), ...address };
    return userArn ? { tenant: DEFAULT_TENANT, actor: actorOf(userArn), scopes: SCOPES, ...address } : null;
  };

/** An ARN that is too long loses its beginning, since callers with the same role differ at its end. */
const actorOf = (arn: string): string =>
  arn.length <= SIZES.nameCharactersMax ? arn : `…${arn.slice(1 - SIZES.nameCharactersMax)}`.toWellFormed();
