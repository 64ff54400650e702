/** The routes of the console on a server with a disk. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Context, Hono } from "hono";
import { builtConsole, consoleFolder } from "./built-console.ts";
import { CONSOLE_PAGE, consoleAnswer, consoleFile, consoleFileUnknown } from "./console-answer.ts";

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
