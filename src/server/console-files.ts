/**
 * The files of the console: a page, its script and its style. They are the same for every caller and hold no data, so
 * they need no login; the page asks the API for everything that it shows.
 *
 * The policy lets the page load and ask its own origin only, and runs no inline code. So the text of a model or a tool,
 * which is shown as text, could do nothing even if it became HTML.
 */
import { execFile } from "node:child_process";
import { existsSync, readFileSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Context, Hono } from "hono";
import { ApiProblem } from "../api/problem.ts";

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

/** Serves the console at `/`. Its links are relative, so the server may be mounted below a path. */
export function addConsole(app: Pick<Hono, "get">): void {
  app.get("/", async () => {
    await built();
    return answerOf("index.html", "no-cache");
  });
  app.get("/console/:file", (c: Context) => {
    const file = c.req.param("file") ?? "";
    // A name has no slash, so no file outside of the folder has one.
    if (!/^[\w-]+(\.[\w-]+)+$/.test(file)) throw unknown(file);
    return answerOf(join("console", file), "public, max-age=31536000, immutable");
  });
}

function answerOf(file: string, caching: string): Response {
  const path = join(folderOf(), file);
  if (!existsSync(path)) throw unknown(file);
  const type = TYPES[file.split(".").at(-1) ?? ""] ?? "application/octet-stream";
  return new Response(readFileSync(path), { headers: { ...HEADERS, "content-type": type, "cache-control": caching } });
}

/** `dist/console` of the package; `build/console` of a checkout. */
const folderOf = (): string => fileURLToPath(new URL(".", import.meta.resolve("#console/index.html")));

let building: Promise<void> | null = null;

/** In a checkout, builds the console if it is older than its source. The package has it built, and no source. */
function built(): Promise<void> {
  building ??= buildIfOlder().finally(() => (building = null));
  return building;
}

async function buildIfOlder(): Promise<void> {
  const root = fileURLToPath(new URL(".", import.meta.resolve("#package")));
  const source = join(root, "src", "console");
  if (!existsSync(source)) return;
  const index = join(folderOf(), "index.html");
  if (existsSync(index) && newestIn(source) <= statSync(index).mtimeMs) return;
  await promisify(execFile)(process.execPath, [join(root, "scripts", "console.ts")], { cwd: root });
}

const newestIn = (folder: string): number =>
  Math.max(
    ...readdirSync(folder, { recursive: true, encoding: "utf8" }).map((file) => statSync(join(folder, file)).mtimeMs),
  );

const unknown = (file: string): ApiProblem =>
  new ApiProblem({
    status: 404,
    code: "PathUnknown",
    detail: `the console has no file ${file}: reload the page, since a newer server has other files`,
  });
