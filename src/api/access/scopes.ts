/** Refuses requests whose caller lacks the scope of the operation. Each route of the operation table is covered. */
import type { Env, Hono } from "hono";
import type { OperationRows } from "../routes.ts";
import { scopeMissing } from "../problem.ts";
import type { Caller } from "./caller.ts";

/**
 * Adds a check in front of each route, before its handler and before any read. A route that is not in the table has no
 * check, and so may not exist (`test/api/access.test.ts`).
 */
export function requireScopes<E extends Env & { readonly Variables: { caller: Caller } }>(
  app: Pick<Hono<E>, "on">,
  rows: OperationRows,
): void {
  for (const { http, scope } of Object.values(rows)) {
    if (http === undefined) continue;
    app.on(http.method.toUpperCase(), http.path.replaceAll(/\{(\w+)\}/g, ":$1"), async (c, next) => {
      if (!c.get("caller").scopes.includes(scope)) throw scopeMissing(scope);
      await next();
    });
  }
}
