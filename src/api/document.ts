/** The OpenAPI document, from the same routes and schemas that check and answer requests. */
import { OpenAPIHono } from "@hono/zod-openapi";
import type { JSONValue } from "hono/utils/types";
import { ROWS } from "../operations/table.ts";
import { type Rows, routesOf } from "./routes.ts";

type Document = Record<string, JSONValue>;

const made = new WeakMap<Rows, Document>();

/** Of these operations. Made when a caller first asks for it. */
export function openApiDocument(rows: Rows = ROWS): Document {
  const document = made.get(rows) ?? (make(rows) as unknown as Document);
  made.set(rows, document);
  return document;
}

/** As it is kept in the repository. */
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
        "Starts runs, shows them and speaks to them. Whatever was answered 202 is durable; the same request with the same Idempotency-Key may be sent again at any time. Errors are RFC 9457 documents: go by their `code`.",
    },
    // What is at the root on a machine of one's own lies below a stage on AWS.
    servers: [{ url: "./", description: "Where this document is." }],
    security: [{ iam: [] }],
  });
}
