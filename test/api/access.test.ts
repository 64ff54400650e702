/** Who may do what over HTTP: every route of the operation table needs its scope, and no route is without one. */
import { describe, expect, test } from "vitest";
import { routesOf } from "../../src/api/routes.ts";
import { SCOPES } from "../../src/operations/operation.ts";
import { ROWS } from "../../src/operations/table.ts";
import { createApiHarness } from "../support/harness/api-harness.ts";
import { ALL_ROUTES } from "../support/harness/plain-routes.ts";

async function begun() {
  const calls: string[] = [];
  const harness = createApiHarness({}, (world) => ({
    ...world,
    table: new Proxy(world.table, {
      get: (target, method, receiver) => {
        calls.push(String(method));
        return Reflect.get(target, method, receiver) as unknown;
      },
    }),
  }));
  const { body } = await harness.ask({ path: "/runs", json: { agent: "actor" } });
  calls.length = 0;
  return { harness, run: String(body["run"]), calls };
}

const routes = ALL_ROUTES.map((route) => [route.name, route] as const);

describe.each(routes)("the route of %s", (_, { scope, request }) => {
  test("refuses a caller with every other scope, and reads nothing", async () => {
    const { harness, run, calls } = await begun();
    const scopes = SCOPES.filter((each) => each !== scope);
    const answered = await harness.ask(request(run), { caller: { tenant: "local", actor: "eve", scopes } });
    expect({ status: answered.status, code: answered.body["code"], scope: answered.body["scope"] }).toEqual({
      status: 403,
      code: "ScopeMissing",
      scope,
    });
    expect(answered.headers.get("www-authenticate")).toContain(`scope="${scope}"`);
    expect(calls).toEqual([]);
  });

  test("takes a caller with its scope alone", async () => {
    const { harness, run } = await begun();
    const caller = { tenant: "local", actor: "ann", scopes: [scope] };
    expect((await harness.ask(request(run), { caller })).body["code"]).not.toBe("ScopeMissing");
  });
});

test("a HEAD request needs the scope of its GET", async () => {
  const { harness, run } = await begun();
  const caller = { tenant: "local", actor: "eve", scopes: [] };
  expect((await harness.ask({ method: "HEAD", path: `/runs/${run}` }, { caller })).status).toBe(403);
});

test("only the document, the caller, /healthz and callbacks need no scope", () => {
  const inTable = new Set(Object.values(ROWS).flatMap(({ http }) => (http ? [`${http.method} ${http.path}`] : [])));
  const others = routesOf(ROWS).map(({ method, path }) => `${method} ${path}`);
  expect(others.filter((each) => !inTable.has(each))).toEqual([
    "get /openapi.json",
    "get /caller",
    "get /healthz",
    "post /callbacks/{token}",
  ]);
});
