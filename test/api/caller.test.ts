/** Who a caller is, which tenants it may name, and what it learns of the account. */
import { describe, expect, test } from "vitest";
import { GATEWAY_ROWS } from "../../functions/gateway.ts";
import type { World } from "../../src/ports/world.ts";
import { startRun } from "../../src/operations/start.ts";
import { SCOPES } from "../../src/operations/operation.ts";
import { createApiHarness } from "../support/harness/api-harness.ts";

const OPERATOR = { tenant: "local", actor: "ann", isOperator: true } as const;
const ADMIN = { tenant: "local", actor: "ann", scopes: SCOPES };

async function withTwoTenants() {
  const harness = createApiHarness();
  const { agent, world } = harness;
  const begin = async (tenant: string): Promise<string> => {
    const started = await startRun(world, { agent, input: {}, tenant, idempotencyKey: null });
    if (started.kind !== "started") throw new Error(started.kind);
    return started.row.run;
  };
  return { harness, own: await begin("local"), other: await begin("acme") };
}

const runsIn = ({ body }: { readonly body: Readonly<Record<string, unknown>> }): readonly string[] =>
  (body["runs"] as readonly { readonly run: string }[]).map(({ run }) => run);

describe("GET /caller", () => {
  test("says which operations this server performs for the caller, and which for none", async () => {
    const { body } = await createApiHarness({}, undefined, GATEWAY_ROWS).ask({ path: "/caller" }, { caller: ADMIN });
    expect(body).toMatchObject({ tenant: "local", actor: "ann", isOperator: false, absent: ["purge"] });
    expect(body["operations"]).toContain("cancel");
    const reader = { tenant: "local", actor: "eve", scopes: ["runs:read"] as const };
    const seen = (await createApiHarness().ask({ path: "/caller" }, { caller: reader })).body;
    expect({ absent: seen["absent"], operations: seen["operations"] }).toEqual({
      absent: [],
      operations: expect.arrayContaining(["list", "show"]),
    });
    expect(seen["operations"]).not.toContain("cancel");
  });
});

describe("a tenant in the query of a list", () => {
  test("is refused to a caller of another tenant, whatever its scopes, before any read", async () => {
    const { harness, own } = await withTwoTenants();
    const refused = await harness.ask({ path: "/runs?tenant=acme" }, { caller: ADMIN });
    expect({ status: refused.status, code: refused.body["code"] }).toEqual({ status: 404, code: "TenantForeign" });
    expect(runsIn(await harness.ask({ path: "/runs?tenant=local" }, { caller: ADMIN }))).toEqual([own]);
  });

  test("lists its runs for the operator of the machine, who opens them too", async () => {
    const { harness, own, other } = await withTwoTenants();
    expect(runsIn(await harness.ask({ path: "/runs?tenant=acme" }, { caller: OPERATOR }))).toEqual([other]);
    expect(runsIn(await harness.ask({ path: "/runs" }, { caller: OPERATOR }))).toEqual([own]);
    expect((await harness.ask({ path: `/runs/${other}` }, { caller: OPERATOR })).status).toBe(200);
    expect((await harness.ask({ path: `/runs/${other}` }, { caller: ADMIN })).status).toBe(404);
    await harness.ask({ method: "POST", path: `/runs/${other}/pause` }, { caller: OPERATOR });
    const log = { path: "/audit-log" };
    const ofTenant = await harness.ask(log, { caller: { tenant: "acme", actor: "eve" } });
    expect(ofTenant.body["entries"]).toMatchObject([{ operation: "pause", run: other, actor: "ann" }]);
    expect((await harness.ask(log, { caller: ADMIN })).body["entries"]).toEqual([]);
  });
});

test.each([
  ["schedule=actor", 200],
  ["crack=runaway", 200],
  ["crack=bad", 422],
  ["since=1700000000000", 200],
  ["since=lately", 422],
  ["usdAbove=0.5", 200],
  ["usdAbove=4.6e%2B307", 200],
  ["usdAbove=1e-7", 200],
  ["usdAbove=-1", 422],
  ["usdAbove=1e999", 422],
  ["usdAbove=0x10", 422],
])("the list takes or refuses %s", async (query, status) => {
  expect((await createApiHarness().ask({ path: `/runs?${query}` })).status).toBe(status);
});

test("names of the account are for callers with the scope admin alone", async () => {
  const places = {
    ...{ executionArn: "arn:aws:states:x", executionUrl: null, objects: "s3://b/runs/", table: "t", rowKey: "{}" },
    ...{ logsQuery: "fields x", logGroups: ["/aws/lambda/p-beat"] },
  };
  const change = (world: World): World => ({ ...world, placesOf: () => places });
  const harness = createApiHarness({}, change);
  const { body } = await harness.ask({ path: "/runs", json: { agent: "actor" } });
  const path = `/runs/${String(body["run"])}`;
  expect((await harness.ask({ path }, { caller: ADMIN })).body["aws"]).toEqual(places);
  const reader = { tenant: "local", actor: "eve", scopes: ["runs:read"] as const };
  const shown = await harness.ask({ path }, { caller: reader });
  expect({ status: shown.status, aws: shown.body["aws"] }).toEqual({ status: 200, aws: null });
  expect(shown.text).not.toContain("arn:aws");
});

test("a fork answers the ID of its run under `run`, as a start does, and what a list says of it", async () => {
  const harness = createApiHarness();
  const { body: started } = await harness.ask({ path: "/runs", json: { agent: "actor" } });
  const request = { path: `/runs/${String(started["run"])}/fork`, json: { at: 0, key: "k" } };
  const { status, body: forked } = await harness.ask(request);
  const run = String(forked["run"]);
  expect({ status, kind: forked["kind"] }).toEqual({ status: 202, kind: "started" });
  expect(forked["summary"]).toMatchObject({ run, agent: "actor", status: "queued" });
  expect((await harness.ask({ path: `/runs/${run}` })).body["forkedFrom"]).toEqual({ run: started["run"], version: 0 });
  expect((await harness.ask(request)).body).toMatchObject({ kind: "exists", run });
});
