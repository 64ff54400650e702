/**
 * The HTTP API as API Gateway calls it for a signed request. LocalStack checks no signature and passes none on. So this
 * reads the caller that a request claims. If a route needs a signature and the request has none, it refuses the request
 * with API Gateway's message. With tokens no route needs one. It is part of no deployment to AWS.
 */
import { handler as api } from "../functions/api.ts";
import { PLACE } from "./place.ts";

type Event = Parameters<typeof api>[0] & { readonly headers: Readonly<Record<string, string>> | null };

const OPEN: ReadonlySet<string> = new Set(["/healthz", "/callbacks/{token}"]);
const UNSIGNED = { statusCode: 403, body: JSON.stringify({ message: "Missing Authentication Token" }) };

export async function handler(event: Event): Promise<unknown> {
  const key = keyOf(event);
  if (key === null && isByIam() && !OPEN.has(event.resource)) return UNSIGNED;
  const userArn = key === null ? null : `arn:${PLACE.partition}:iam::${PLACE.account}:user/${key}`;
  const { requestContext } = event;
  return api({ ...event, requestContext: { ...requestContext, identity: { ...requestContext.identity, userArn } } });
}

function isByIam(): boolean {
  const { auth = "iam" } = JSON.parse(process.env["CAIRN_ACCESS"] ?? "{}") as { readonly auth?: string };
  return auth === "iam";
}

/** The access key that the signature names, or null. */
function keyOf({ headers }: Event): string | null {
  const [, said] = Object.entries(headers ?? {}).find(([name]) => name.toLowerCase() === "authorization") ?? [];
  return /^AWS4-HMAC-SHA256 Credential=(\w+)\//.exec(said ?? "")?.[1] ?? null;
}
