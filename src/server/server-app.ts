/** What the apps of all servers have in common: problems as answers, and headers that protect what is answered. */
import { Hono } from "hono";
import { methodNotAllowed } from "hono/method-not-allowed";
import { guarded } from "../api/app.ts";
import * as problems from "../api/problem.ts";

/** An app without routes. A thrown error becomes a problem document, and so does a wrong method of a route. */
export function serverApp(): Hono {
  const app = new Hono();
  app.onError((error) => guarded(problems.answerOf(problems.asProblem(error), null)));
  app.use(async (c, next) => {
    await next();
    guarded(c.res);
  });
  const onMethodNotAllowed = (_: unknown, methods: string[]): Response =>
    problems.answerOf(problems.methodNotAllowed(methods), null);
  app.use(methodNotAllowed({ app, onMethodNotAllowed }));
  return app;
}
