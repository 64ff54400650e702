/** A row of the operation table with a place over HTTP has a route, and one without has none. */
import { describe, expect, test } from "vitest";
import { OPERATIONS, ROWS } from "../../src/operations/table.ts";
import { ANN, desk } from "../support/api.ts";
import { rowOf } from "../support/stage.ts";

const PLACED = {
  ...ROWS,
  pause: { ...OPERATIONS.pause, http: { method: "post", path: "/runs/{run}/pause" } },
  assign: { ...OPERATIONS.assign, http: { method: "post", path: "/runs/{run}/assignment" } },
} as const;

const begun = async () => {
  const on = desk({}, undefined, PLACED);
  const { body } = await on.ask({ path: "/runs", json: { agent: "actor" } });
  return { on, run: String(body["run"]) };
};

describe("a row that is given a place", () => {
  test("takes its input from the path, and answers with its outcome", async () => {
    const { on, run } = await begun();
    const { status, body } = await on.ask({ method: "POST", path: `/runs/${run}/pause` });
    expect([status, body]).toEqual([202, { kind: "requested" }]);
    expect(rowOf(on, run).pause).toBe(true);
  });

  test("takes the rest of its input from the body, and records who asked", async () => {
    const { on, run } = await begun();
    const { status, body } = await on.ask({ path: `/runs/${run}/assignment`, json: { to: "bob" } });
    expect([status, body]).toEqual([202, { kind: "accepted", to: "bob" }]);
    const { body: shown } = await on.ask({ path: `/runs/${run}` });
    expect(shown["assigned"]).toEqual({ to: "bob", by: ANN.actor });
  });

  test("refuses a body that does not fit, a run of another tenant, and a caller that nobody names", async () => {
    const { on, run } = await begun();
    const path = `/runs/${run}/assignment`;
    const wrong = await on.ask({ path, json: { to: 7 } });
    expect([wrong.status, wrong.body["code"]]).toEqual([422, "RequestInvalid"]);
    const other = await on.ask({ path, json: { to: "bob" } }, { caller: { tenant: "acme", actor: "eve" } });
    expect([other.status, other.body["code"]]).toEqual([404, "RunUnknown"]);
    const unnamed = await on.ask({ path, json: { to: "bob" } }, { caller: null });
    expect([unnamed.status, unnamed.body["code"]]).toEqual([401, "Unauthenticated"]);
  });

  test("is described with every status of its outcomes", async () => {
    const { on } = await begun();
    const { body } = await on.ask({ path: "/openapi.json" });
    const { paths } = body as { readonly paths: Readonly<Record<string, { readonly post?: object }>> };
    expect(paths["/runs/{run}/assignment"]?.post).toMatchObject({
      operationId: "assign",
      summary: OPERATIONS.assign.help,
      responses: { 200: {}, 202: {}, 404: {}, 409: { description: expect.stringContaining("ended") as string } },
    });
  });
});

test("a row without a place has no route", async () => {
  const on = desk();
  const { body } = await on.ask({ path: "/runs", json: { agent: "actor" } });
  const { status } = await on.ask({ method: "POST", path: `/runs/${String(body["run"])}/pause` });
  expect(status).toBe(404);
});

test("the routes with a design of their own answer every status of their outcomes", async () => {
  const { body } = await desk().ask({ path: "/openapi.json" });
  const paths = body["paths"] as Readonly<Record<string, Readonly<Record<string, { readonly responses: object }>>>>;
  for (const { http, outcomes } of [OPERATIONS.start, OPERATIONS.show, OPERATIONS.send]) {
    const { responses = {} } = paths[http?.path ?? ""]?.[http?.method ?? ""] ?? {};
    const statuses = [...new Set(Object.values(outcomes).map(({ status }) => String(status)))];
    expect(Object.keys(responses)).toEqual(expect.arrayContaining(statuses));
  }
});
