/**
 * The API behind a REST API of API Gateway, which has checked the signature of a request before this sees it: whose it
 * was, and where the paths of the API begin.
 */
// oxlint-disable-next-line typescript/no-deprecated -- its successor is in no package that we depend on
import { handle } from "hono/aws-lambda";
import type { Api } from "../src/api/app.ts";
import type { Caller } from "../src/api/operations.ts";
import { DEFAULT_TENANT } from "../src/core/ids.ts";
import { SIZES } from "../src/codec/limits.ts";

/** What is read here of an event of API Gateway; the rest is passed on. */
export interface GatewayEvent {
  /** Such as `/{proxy+}`. */
  readonly resource: string;
  readonly path: string;
  readonly httpMethod: string;
  readonly pathParameters: Readonly<Record<string, string>> | null;
  readonly body: string | null;
  readonly requestContext: {
    /** With the stage, or with what a domain of one's own puts before it. */
    readonly path: string;
    /** The identity that signed the request; nobody where it needed no signature. */
    readonly identity: { readonly userArn?: string | null };
  };
}

/** What the API knows of a request besides it. */
export interface FromGateway {
  readonly event: GatewayEvent;
}

export function gatewayHandler(api: Api<FromGateway>) {
  // oxlint-disable-next-line typescript/no-deprecated -- as above
  const answer = handle(api);
  type Taken = Parameters<typeof answer>[0];
  return (event: GatewayEvent): ReturnType<typeof answer> => {
    const isRead = event.httpMethod === "GET" || event.httpMethod === "HEAD";
    return answer({ ...event, path: pathBelow(event), body: isRead ? null : event.body } as unknown as Taken);
  };
}

/** The path that API Gateway matched, without what stands before it. */
const pathBelow = ({ resource, pathParameters }: GatewayEvent): string =>
  resource.replace(/\{(\w+)\+?\}/g, (_, name: string) => {
    const value = pathParameters?.[name] ?? "";
    return value.split("/").map(encodeURIComponent).join("/");
  });

/** `/prod` of `/prod/runs`. */
export function baseOf({ event }: FromGateway): string {
  const { path } = event.requestContext;
  return path.endsWith(event.path) ? path.slice(0, path.length - event.path.length) : "";
}

/** One deployment has one tenant, as at the command line; who speaks in it is the identity. */
export function callerOf({ event }: FromGateway): Caller | null {
  const { userArn } = event.requestContext.identity;
  return userArn ? { tenant: DEFAULT_TENANT, actor: actorOf(userArn) } : null;
}

/** Whoever shares a role differs at the end of its ARN, so what is too long loses its beginning. */
const actorOf = (arn: string): string =>
  arn.length <= SIZES.nameCharactersMax ? arn : `…${arn.slice(1 - SIZES.nameCharactersMax)}`.toWellFormed();
