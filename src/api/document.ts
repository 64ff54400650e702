/** The OpenAPI document, generated from the routes and schemas that check requests and responses. */
import { OpenAPIHono } from "@hono/zod-openapi";
import type { JSONValue } from "hono/utils/types";
import { ROWS } from "../operations/table.ts";
import { type Rows, routesOf } from "./routes.ts";

type Document = Record<string, JSONValue>;

const made = new WeakMap<Rows, Document>();

/** The document of these operations. It is generated at the first request for it, then cached. */
export function openApiDocument(rows: Rows = ROWS): Document {
  const document = made.get(rows) ?? (make(rows) as unknown as Document);
  made.set(rows, document);
  return document;
}

/** The text of `docs/openapi.json`. */
export const openApiText = (): string => `${JSON.stringify(openApiDocument(), null, 2)}\n`;

function make(rows: Rows): ReturnType<OpenAPIHono["getOpenAPI31Document"]> {
  const app = new OpenAPIHono();
  for (const { middleware: _, ...route } of routesOf(rows).map((each) => ({ middleware: null, ...each }))) {
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
