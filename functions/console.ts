/**
 * The console of a deployment, from the function of the API. So it has the origin of the API: no request of the page leaves
 * it, and no other site may ask the API. A browser asks for its files once, and then for the page alone.
 */
import { Hono } from "hono";
import type { Api } from "../src/api/app.ts";
import { answerOf, asProblem } from "../src/api/problem.ts";
import { CONSOLE_PAGE, consoleAnswer, consoleFile, consoleFileUnknown } from "../src/server/console-files.ts";
import type { FromGateway } from "./gateway.ts";

type Files = Readonly<Record<string, string>>;

type Served = Hono<{ readonly Bindings: FromGateway }>;

/** The API with the console in front of it. It knows no caller: the files hold no data. */
export function withConsole(api: Api<FromGateway>, load: () => Promise<Files> = deployedFiles): Served {
  const app: Served = new Hono();
  app.onError((error) => answerOf(asProblem(error), null));
  app.get("/", async (c) => fileOf(await load(), CONSOLE_PAGE) ?? api.fetch(c.req.raw, c.env));
  app.get("/console/:file", async (c) => {
    const files = await load();
    return fileOf(files, consoleFile(c.req.param("file"))) ?? api.fetch(c.req.raw, c.env);
  });
  app.all("*", (c) => api.fetch(c.req.raw, c.env));
  return app;
}

/** The text is large, so a cold start does not read it. */
const deployedFiles = async (): Promise<Files> => (await import("cairn-console")).files;

/** Null if the deployment shows no console, so that the path is one of the API. */
function fileOf(files: Files, file: string): Response | null {
  if (Object.keys(files).length === 0) return null;
  const text = Object.hasOwn(files, file) ? files[file] : undefined;
  if (text === undefined) throw consoleFileUnknown(file);
  return consoleAnswer(file, text);
}
