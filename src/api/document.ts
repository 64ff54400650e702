/** The OpenAPI document, generated from the routes and schemas that check requests and responses. */
import { OpenAPIHono } from "@hono/zod-openapi";
import type { JSONValue } from "hono/utils/types";
import { ROWS } from "../operations/table.ts";
import { CHAT_ROUTES, CHAT_TAG } from "./chat/routes.ts";
import { type OperationRows, routesOf } from "./routes.ts";

type Document = Record<string, JSONValue>;

/** `hasChats`: the server has the routes of the chat protocols too. */
interface Described {
  readonly rows?: OperationRows;
  readonly hasChats?: boolean;
}

const made = {
  withChats: new WeakMap<OperationRows, Document>(),
  without: new WeakMap<OperationRows, Document>(),
} as const;

/** The document of these operations. It is generated at the first request for it, then cached. */
export function openApiDocument({ rows = ROWS, hasChats = true }: Described = {}): Document {
  const kept = made[hasChats ? "withChats" : "without"];
  const document = kept.get(rows) ?? (make({ rows, hasChats }) as unknown as Document);
  kept.set(rows, document);
  return document;
}

/** The text of `docs/openapi.json`. */
export const openApiText = (): string => `${JSON.stringify(openApiDocument(), null, 2)}\n`;

function make({ rows, hasChats }: Required<Described>): ReturnType<OpenAPIHono["getOpenAPI31Document"]> {
  const app = new OpenAPIHono();
  const routes = [...routesOf(rows), ...(hasChats ? CHAT_ROUTES : [])];
  for (const each of routes) {
    const { middleware: _, ...route } = { middleware: null, ...each };
    app.openAPIRegistry.registerPath(route);
  }
  app.openAPIRegistry.registerComponent("securitySchemes", "token", {
    type: "http",
    scheme: "bearer",
    bearerFormat: "cairn_ID_SECRET",
    description: "An access token of `cairn token create`. The scopes of an operation are those that the token needs.",
  });
  app.openAPIRegistry.registerComponent("securitySchemes", "jwt", {
    type: "http",
    scheme: "bearer",
    bearerFormat: "JWT",
    description: "A token of the configured issuer, whose claims name the tenant and the scopes.",
  });
  app.openAPIRegistry.registerComponent("securitySchemes", "iam", {
    type: "apiKey",
    name: "Authorization",
    in: "header",
    description: "AWS Signature Version 4: an identity that may invoke this API. It has every scope.",
    "x-amazon-apigateway-authtype": "awsSigv4",
  });
  const document = app.getOpenAPI31Document({
    openapi: "3.1.0",
    info: {
      title: "cairn",
      version: "1",
      description:
        "Starts, lists, shows and steers runs. A request that was answered with 202 is durable. The same request with the same Idempotency-Key may be sent again at any time. Errors are RFC 9457 documents: programs use their `code`.",
    },
    // A relative URL: the API is at the root on a server of one's own, and below a stage on AWS.
    servers: [{ url: "./", description: "The path of this document." }],
    security: [{ token: [] }, { jwt: [] }, { iam: [] }],
    ...(hasChats && { tags: [CHAT_TAG] }),
  });
  boundIntegers(document);
  return document;
}

/** An integer that JavaScript would change is refused (`body.ts`), which the generator of the document does not say. */
function boundIntegers(part: unknown): void {
  if (typeof part !== "object" || part === null) return;
  const { type } = part as { readonly type?: unknown };
  if (type === "integer" || (Array.isArray(type) && type.includes("integer"))) {
    const bounds: { maximum?: number; exclusiveMinimum?: number; minimum?: number } = part;
    bounds.maximum ??= Number.MAX_SAFE_INTEGER;
    if (bounds.exclusiveMinimum === undefined) bounds.minimum ??= Number.MIN_SAFE_INTEGER;
  }
  for (const each of Object.values(part)) boundIntegers(each);
}
