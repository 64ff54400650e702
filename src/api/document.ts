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
  app.openAPIRegistry.registerComponent("securitySchemes", "iam", {
    type: "apiKey",
    name: "Authorization",
    in: "header",
    description: "AWS Signature Version 4: an identity that may invoke this API.",
    "x-amazon-apigateway-authtype": "awsSigv4",
  });
  return app.getOpenAPI31Document({
    openapi: "3.1.0",
    info: {
      title: "cairn",
      version: "1",
      description:
        "Starts, lists, shows and steers runs. A request that was answered with 202 is durable. The same request with the same Idempotency-Key may be sent again at any time. Errors are RFC 9457 documents: programs use their `code`.",
    },
    // A relative URL: the API is at the root on a server of one's own, and below a stage on AWS.
    servers: [{ url: "./", description: "The path of this document." }],
    security: [{ iam: [] }],
  });
}
