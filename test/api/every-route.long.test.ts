/** What every route refuses, whatever it does: one table over all routes that the operation table describes. */
import { expect, test } from "vitest";
import { SIZES } from "../../src/codec/limits.ts";
import { type ApiHarness, createReadNotingApi } from "../support/harness/api-harness.ts";
import { PLAIN_ROUTES, requestFor } from "../support/harness/plain-routes.ts";

const VALID = "a".repeat(26);
const HOSTILE = ["x", `LOCAL-${VALID}`, `other-${VALID}`, "../../etc/passwd", "\u0000", "constructor", "x".repeat(200)];

async function begun(): Promise<{ readonly harness: ApiHarness; readonly run: string; readonly read: string[] }> {
  const { harness, read } = createReadNotingApi();
  const { body } = await harness.ask({ path: "/runs", json: { agent: "actor" } });
  return { harness, run: String(body["run"]), read };
}

/** The routes with their names: those that have something, or all. */
const routes = (having?: "hasRun" | "hasBody" | "hasQuery" | "isSteering") =>
  PLAIN_ROUTES.filter((route) => having === undefined || route[having]).map(
    (route) => [`${route.method} ${route.path("RUN")}`, route] as const,
  );

test.each(routes())("refuses a request without a caller and does nothing: %s", async (_, route) => {
  const { harness, run } = await begun();
  const before = structuredClone(harness.world.store.rows);
  const { status, body } = await harness.ask(requestFor(route, run), { caller: null });
  expect({ status, code: body["code"] }).toEqual({ status: 401, code: "Unauthenticated" });
  expect(harness.world.store.rows).toEqual(before);
});

test.each(routes("hasRun"))(
  "reports another tenant's run and a hostile id as missing, without a read: %s",
  async (_, route) => {
    const { harness, run, read } = await begun();
    const before = structuredClone(harness.world.store.rows);
    const absent = await harness.ask(requestFor(route, `local-${VALID}`));
    read.length = 0;
    const eve = { caller: { tenant: "other", actor: "eve" } };
    const answers = [await harness.ask(requestFor(route, run), eve)];
    for (const id of HOSTILE) answers.push(await harness.ask(requestFor(route, id)));
    for (const answered of answers)
      expect({ status: answered.status, text: answered.text }).toEqual({ status: 404, text: absent.text });
    expect(read).toEqual([]);
    expect(harness.world.store.rows).toEqual(before);
  },
);

test.each(routes("hasBody"))(
  "refuses a body that is oversized, no JSON or unknown, and does nothing: %s",
  async (_, route) => {
    const { harness, run } = await begun();
    const before = structuredClone(harness.world.store.rows);
    const path = route.path(run);
    const json = { "content-type": "application/json" };
    const codes: unknown[] = [];
    for (const request of [
      { body: `"${"x".repeat(SIZES.httpBodyBytesMax)}"`, headers: json },
      { body: "{", headers: json },
      { body: "a=1", headers: { "content-type": "application/x-www-form-urlencoded" } },
      { json: { surprise: 1 } },
    ]) {
      codes.push((await harness.ask({ method: "POST", path, ...request })).body["code"]);
    }
    expect(codes).toEqual(["TooLarge", "BadJson", "MediaTypeUnsupported", "RequestInvalid"]);
    expect(harness.world.store.rows).toEqual(before);
  },
);

test.each(routes("hasQuery"))("refuses a parameter that is unknown or repeated, and names it: %s", async (_, route) => {
  const { harness, run } = await begun();
  const { path, method } = requestFor(route, run);
  for (const query of ["surprise=1", "surprise=1&surprise=2", "__proto__=1"]) {
    const answered = await harness.ask({ path: `${path}?${query}`, ...(method && { method }) });
    expect({ status: answered.status, code: answered.body["code"] }).toEqual({ status: 422, code: "RequestInvalid" });
    expect(answered.body["errors"]).toMatchObject([{ parameter: query.split("=")[0] }]);
  }
  expect(harness.world.store.rows.size).toBe(1);
});

test.each(routes("isSteering"))("refuses a resume token of another epoch and does nothing: %s", async (_, route) => {
  const { harness, run } = await begun();
  const before = structuredClone(harness.world.store.rows);
  const { status, body } = await harness.ask({ ...requestFor(route, run), headers: { "If-Match": '"other"' } });
  expect({ status, code: body["code"], run: body["run"] }).toEqual({ status: 412, code: "Stale", run });
  expect(harness.world.store.rows).toEqual(before);
});
