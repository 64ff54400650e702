/** A row of the operation table with a place over HTTP has a route, and one without has none. */
import { describe, expect, test } from "vitest";
import type { AnyOperation } from "../../src/operations/operation.ts";
import { OPERATIONS, ROWS } from "../../src/operations/table.ts";
import { ANN, createApiHarness } from "../support/harness/api-harness.ts";

const begun = async () => {
  const harness = createApiHarness();
  const { body } = await harness.ask({ path: "/runs", json: { agent: "actor" } });
  return { harness, run: String(body["run"]) };
};

describe("an operation with a route", () => {
  test("takes its input from the path and returns its outcome", async () => {
    const { harness, run } = await begun();
    const { status, body } = await harness.ask({ method: "POST", path: `/runs/${run}/pause` });
    expect({ status, body }).toEqual({ status: 202, body: { kind: "requested" } });
    expect(harness.row(run).pause).toBe(true);
  });

  test("takes the rest of its input from the body and records the caller", async () => {
    const { harness, run } = await begun();
    const { status, body } = await harness.ask({ path: `/runs/${run}/assignment`, json: { to: "bob" } });
    expect({ status, body }).toEqual({ status: 202, body: { kind: "accepted", to: "bob" } });
    const { body: shown } = await harness.ask({ path: `/runs/${run}` });
    expect(shown["assigned"]).toEqual({ to: "bob", by: ANN.actor });
  });

  test("refuses an invalid body, a run of another tenant, and a caller without an identity", async () => {
    const { harness, run } = await begun();
    const path = `/runs/${run}/assignment`;
    const wrong = await harness.ask({ path, json: { to: 7 } });
    expect({ status: wrong.status, code: wrong.body["code"] }).toEqual({ status: 422, code: "RequestInvalid" });
    const other = await harness.ask({ path, json: { to: "bob" } }, { caller: { tenant: "acme", actor: "eve" } });
    expect({ status: other.status, code: other.body["code"] }).toEqual({ status: 404, code: "RunUnknown" });
    const unnamed = await harness.ask({ path, json: { to: "bob" } }, { caller: null });
    expect({ status: unnamed.status, code: unnamed.body["code"] }).toEqual({ status: 401, code: "Unauthenticated" });
  });

  test("documents every status of its outcomes", async () => {
    const { harness } = await begun();
    const { body } = await harness.ask({ path: "/openapi.json" });
    const { paths } = body as { readonly paths: Readonly<Record<string, { readonly post?: object }>> };
    expect(paths["/runs/{run}/assignment"]?.post).toMatchObject({
      operationId: "assign",
      summary: OPERATIONS.assign.help,
      responses: { 200: {}, 202: {}, 404: {}, 409: { description: expect.stringContaining("ended") as string } },
    });
  });
});

test("an operation without `http` has no route", async () => {
  const { http: _, ...pause }: AnyOperation = OPERATIONS.pause;
  const harness = createApiHarness({}, undefined, { ...ROWS, pause });
  const { body } = await harness.ask({ path: "/runs", json: { agent: "actor" } });
  const { status } = await harness.ask({ method: "POST", path: `/runs/${String(body["run"])}/pause` });
  expect(status).toBe(404);
});

test("the hand-written routes return a status for every outcome of their operation", async () => {
  const { body } = await createApiHarness().ask({ path: "/openapi.json" });
  const paths = body["paths"] as Readonly<Record<string, Readonly<Record<string, { readonly responses: object }>>>>;
  for (const { http, outcomes } of [OPERATIONS.start, OPERATIONS.show, OPERATIONS.send]) {
    const { responses = {} } = paths[http?.path ?? ""]?.[http?.method ?? ""] ?? {};
    const statuses = [...new Set(Object.values(outcomes).map(({ status }) => String(status)))];
    expect(Object.keys(responses)).toEqual(expect.arrayContaining(statuses));
  }
});
