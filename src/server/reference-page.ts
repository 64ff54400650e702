/**
 * The reference of the HTTP API as a page, made from the OpenAPI document that the server answers. It has no script and
 * asks no other server, so it needs no package and works without a network.
 */
import { createHash } from "node:crypto";
import type { openApiDocument } from "../api/document.ts";

const STYLE = `
:root { color-scheme: light dark; --line: color-mix(in srgb, CanvasText 15%, Canvas); }
body { margin: 0 auto; max-width: 64rem; padding: 1rem; font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.3rem; } h2 { font-size: 1.05rem; margin: 2rem 0 .3rem; overflow-wrap: anywhere; }
nav { columns: 18rem; border-block: 1px solid var(--line); padding: .6rem 0; }
nav a { display: block; overflow-wrap: anywhere; }
.verb { display: inline-block; min-width: 4.2rem; font: 600 .85em ui-monospace, monospace; }
.GET { color: light-dark(#1c5fa8, #8ec1ff); } .POST { color: light-dark(#17692f, #6fd08c); }
.DELETE { color: light-dark(#a3122a, #ff8a97); }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .25rem .8rem .25rem 0; border-top: 1px solid var(--line); }
pre { overflow: auto; max-height: 30rem; padding: .6rem; border: 1px solid var(--line); }
summary { cursor: pointer; padding: .2rem 0; }
`;

/** The headers of a page without script: its own style, and nothing else. */
const pageHeaders = (style: string): Readonly<Record<string, string>> => ({
  "content-security-policy": [
    "default-src 'none'",
    `style-src 'sha256-${createHash("sha256").update(style).digest("base64")}'`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; "),
  "referrer-policy": "no-referrer",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
});

export const REFERENCE_HEADERS = pageHeaders(STYLE);

type Schema = Readonly<Record<string, unknown>>;

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly required?: boolean;
    readonly description?: string;
    readonly schema?: Schema;
  }[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content?: Content }>>;
}

type Content = Readonly<Record<string, { readonly schema: Schema }>>;

interface Described {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

/** The page as HTML. */
export function referencePage(document: ReturnType<typeof openApiDocument>): string {
  const { paths, components } = document as unknown as Described;
  const all = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ verb: method.toUpperCase(), path, operation })),
  );
  const links = all.map(
    ({ verb, path, operation }) => `<a href="#${escaped(operation.operationId)}">${heading(verb, path)}</a>`,
  );
  const schemas = Object.entries(components.schemas).map(
    ([name, schema]) => `<h2 id="schema-${escaped(name)}">${escaped(name)}</h2>\n${jsonBlock("schema", schema)}`,
  );
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>cairn: HTTP API</title>
<style>${STYLE}</style>
</head>
<body>
<h1>cairn: HTTP API</h1>
<p>A request that was answered with 202 is durable. Errors are RFC 9457 documents with a stable <code>code</code>.
<a href="/openapi.json">OpenAPI document</a>, <a href="/">runs</a></p>
<nav>
${links.join("\n")}
</nav>
${all.map(sectionOf).join("\n")}
${schemas.join("\n")}
</body>
</html>
`;
}

const heading = (verb: string, path: string): string =>
  `<span class="verb ${escaped(verb)}">${escaped(verb)}</span> <code>${escaped(path)}</code>`;

function sectionOf({
  verb,
  path,
  operation,
}: {
  readonly verb: string;
  readonly path: string;
  readonly operation: Operation;
}): string {
  const { operationId, summary, parameters = [], requestBody, responses } = operation;
  const given = parameters.map(({ name, in: place, required, description = "", schema = {} }) => [
    `<code>${escaped(name)}</code>${required === true ? ", required" : ""}`,
    escaped(place),
    `<code>${escaped(typeOf(schema))}</code>`,
    escaped(description),
  ]);
  const answers = Object.entries(responses).map(([status, { description, content }]) => [
    escaped(status),
    escaped(description),
    schemaLink(content),
  ]);
  return `<section>
<h2 id="${escaped(operationId)}">${heading(verb, path)}</h2>
<p>${escaped(summary)}</p>
${tableOf(["parameter", "in", "type", ""], given)}
${requestBody === undefined ? "" : jsonBlock("body", schemaOf(requestBody.content))}
${tableOf(["status", "", "body"], answers)}
</section>`;
}

/** The schema of the only type of a content. */
const schemaOf = (content: Content | undefined): Schema => Object.values(content ?? {})[0]?.schema ?? {};

function schemaLink(content: Content | undefined): string {
  if (content === undefined) return "";
  const schema = schemaOf(content);
  const name = nameOf(schema);
  return name === null ? jsonBlock("schema", schema) : `<a href="#schema-${escaped(name)}">${escaped(name)}</a>`;
}

/** The name of a schema that is a reference; null for another. */
const nameOf = ({ $ref }: Schema): string | null =>
  typeof $ref === "string" ? ($ref.split("/").at(-1) ?? null) : null;

function typeOf(schema: Schema): string {
  const { type, enum: values, anyOf } = schema;
  if (Array.isArray(values)) return values.map((value) => JSON.stringify(value)).join(" | ");
  if (Array.isArray(anyOf)) return anyOf.map((each) => typeOf(each as Schema)).join(" | ");
  if (Array.isArray(type)) return type.join(" | ");
  return typeof type === "string" ? type : (nameOf(schema) ?? "any");
}

const jsonBlock = (title: string, schema: Schema): string =>
  `<details><summary>${escaped(title)}</summary><pre>${escaped(JSON.stringify(schema, null, 2))}</pre></details>`;

function tableOf(columns: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return "";
  const head = columns.map((column) => `<th>${escaped(column)}</th>`).join("");
  const lines = rows.map((cells) => `<tr>${cells.map((cell) => `<td>${cell}</td>`).join("")}</tr>`);
  return `<table>\n<tr>${head}</tr>\n${lines.join("\n")}\n</table>`;
}

const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

const escaped = (text: string): string => text.replaceAll(/[&<>"']/g, (sign) => ESCAPES[sign] ?? "");
