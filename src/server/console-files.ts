/**
 * The routes of the console on a server with a disk.
 *
 * The answer with a file of the console: a page, its script or its style. They are the same for every caller and hold
 * no data, so they need no login; the page asks the API for everything that it shows.
 *
 * The policy lets the page load and ask its own origin only, and runs no inline code. So the text of a model or a tool,
 * which is shown as text, could do nothing even if it became HTML.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Context, Hono } from "hono";
import { builtConsole, consoleFolder } from "./built-console.ts";
import { ApiProblem } from "../api/problem.ts";

/** Serves the console at `/`. Its links are relative, so the server may be mounted below a path. */
export function addConsole(app: Pick<Hono, "get">): void {
  app.get("/", async () => answerOf(await builtConsole(), CONSOLE_PAGE));
  app.get("/console/:file", (c: Context) => answerOf(consoleFolder(), consoleFile(c.req.param("file") ?? "")));
}

function answerOf(folder: string, file: string): Response {
  const path = join(folder, file);
  if (!existsSync(path)) throw consoleFileUnknown(file);
  return consoleAnswer(file, readFileSync(path));
}

const HEADERS = {
  "content-security-policy": [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join("; "),
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "x-content-type-options": "nosniff",
} as const;

const TYPES: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
};

/** The page itself. */
export const CONSOLE_PAGE = "index.html";

/** The path of a file in the folder of the console, by its name below `/console/`. The names of files change with them. */
export function consoleFile(name: string): string {
  // A name has no slash, so no file outside of the folder has one.
  if (!/^[\w-]+(\.[\w-]+)+$/.test(name)) throw consoleFileUnknown(name);
  return `console/${name}`;
}

export function consoleAnswer(file: string, content: BodyInit): Response {
  const type = TYPES[file.split(".").at(-1) ?? ""] ?? "application/octet-stream";
  const caching = file === CONSOLE_PAGE ? "no-cache" : "public, max-age=31536000, immutable";
  return new Response(content, { headers: { ...HEADERS, "content-type": type, "cache-control": caching } });
}

export const consoleFileUnknown = (file: string): ApiProblem =>
  new ApiProblem({
    status: 404,
    code: "PathUnknown",
    detail: `the console has no file ${file}: reload the page, since a newer server has other files`,
  });
