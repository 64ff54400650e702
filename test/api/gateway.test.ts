/** The API behind API Gateway: what its events say about who asks, where the paths begin, and what the body is. */
import { describe, expect, test } from "vitest";
import { type FromGateway, GATEWAY_ROWS, baseOf, callerBy, gatewayHandler } from "../../functions/gateway.ts";
import { authenticatorOf } from "../../src/api/access/authenticator.ts";
import { createToken } from "../../src/operations/access/tokens.ts";
import { createApi } from "../../src/api/app.ts";
import { SIZES } from "../../src/codec/limits.ts";
import { transcript } from "../../src/operations/views.ts";
import { drive, runnerOf } from "../support/harness/drive.ts";
import { type Recorded, gatewayEvent } from "../support/aws/gateway-event.ts";
import { FINAL_REPLY, scriptedAgent, createHarness } from "../support/harness/harness.ts";

function gateway() {
  const harness = createHarness();
  const agent = scriptedAgent({ reply: () => FINAL_REPLY });
  const agentOf = async (name: string) => (name === agent.name ? agent : null);
  const handler = gatewayHandler(
    createApi<FromGateway>({ world: harness.world, agentOf, callerOf: callerBy(null), baseOf, rows: GATEWAY_ROWS }),
  );
  const ask = async (of: Recorded) => {
    const { statusCode, body, isBase64Encoded, multiValueHeaders = {} } = await handler(gatewayEvent(of));
    expect(isBase64Encoded).toBe(false);
    const parsed = (body === "" ? {} : JSON.parse(body)) as Readonly<Record<string, unknown>>;
    return { status: statusCode, headers: multiValueHeaders, body: parsed };
  };
  return { ...harness, agent, ask };
}

const START = { method: "POST", path: "/runs", body: '{"agent":"actor"}' } as const;
const base64 = (text: string): string => Buffer.from(text).toString("base64");

describe("an event of API Gateway", () => {
  test("starts a run and returns its location below the stage", async () => {
    const harness = gateway();
    const { status, headers, body } = await harness.ask({ ...START, headers: { "Idempotency-Key": "order-42" } });
    const run = String(body["run"]);
    expect({ status, location: headers["location"] }).toEqual({ status: 202, location: [`/prod/runs/${run}`] });
    const shown = await harness.ask({ path: `/runs/${run}` });
    expect({ status: shown.status, runStatus: shown.body["status"] }).toEqual({ status: 200, runStatus: "queued" });
    const headersOf304 = { "If-None-Match": String(shown.headers["etag"]) };
    expect(await harness.ask({ path: `/runs/${run}`, headers: headersOf304 })).toMatchObject({ status: 304, body: {} });
  });

  test.each([
    ["a stage", "/prod", "/{proxy+}"],
    ["a stage that is called like a path", "/runs", "/{proxy+}"],
    ["a custom domain", "", "/{proxy+}"],
    ["a domain with a mapping", "/agents/v1", "/{proxy+}"],
    ["a resource for each path", "/prod", "/runs"],
  ])("finds its path behind %s", async (_, base, resource) => {
    const { status, headers, body } = await gateway().ask({ ...START, base, resource });
    expect({ status, location: headers["location"] }).toEqual({
      status: 202,
      location: [`${base}/runs/${String(body["run"])}`],
    });
  });

  test("may have its body in base64, also with multibyte characters", async () => {
    const harness = gateway();
    const { body } = await harness.ask({ ...START, body: base64(START.body), isBase64Encoded: true });
    const run = String(body["run"]);
    const text = "nimm den Zug über Köln 🚆";
    const said = { method: "POST", path: `/runs/${run}/messages`, isBase64Encoded: true };
    expect((await harness.ask({ ...said, body: base64(JSON.stringify({ text, id: "w1" })) })).status).toBe(202);
    expect((await harness.ask({ ...said, body: base64('"\u0000') })).status).toBe(400);
    const { born } = harness.row(run);
    await drive(runnerOf(harness.world, harness.agent), { run, born, chain: 1, epoch: 0, agent: harness.agent.name });
    const heard = ((await transcript(harness.world, run)) ?? []).find(({ source }) => source.startsWith("user:"));
    expect(heard).toMatchObject({ source: "user:arn:aws:iam::123456789012:user/ann", parts: [{ text }] });
  });

  test("is served without reading its body when it only reads", async () => {
    const { status } = await gateway().ask({ path: "/openapi.json", body: "what for" });
    expect(status).toBe(200);
  });

  test("without a body where one is required is refused as a bad request, not as a server fault", async () => {
    const harness = gateway();
    expect((await harness.ask({ ...START, body: null })).status).toBe(422);
    expect((await harness.ask({ ...START, body: "" })).status).toBe(400);
    expect((await harness.ask({ ...START, body: "{" })).body["code"]).toBe("BadJson");
  });
});

describe("the caller", () => {
  test("is the identity that signed; a request without an identity from API Gateway is refused", async () => {
    const harness = gateway();
    expect((await harness.ask({ ...START, userArn: null })).body["code"]).toBe("Unauthenticated");
    // As API Gateway matches it where the path is left open by mistake.
    expect((await harness.ask({ path: "/openapi.json", resource: "/openapi.json", userArn: null })).status).toBe(401);
    expect(harness.world.store.rows.size).toBe(0);
    expect((await harness.ask({ path: "/healthz", resource: "/healthz", userArn: null })).body).toEqual({
      status: "ok",
    });
  });

  test("is distinguished from other callers with the same role", async () => {
    const role = "arn:aws:sts::123456789012:assumed-role/AWSReservedSSO_AdministratorAccess_0123456789abcdef";
    const actors = await Promise.all(
      ["ann@example.com", "bob@example.com"].map(async (name) => {
        const event = gatewayEvent({ path: "/runs", userArn: `${role}/${name}` });
        return (await callerBy(null)({ event }, { authorization: "" }))?.actor ?? "";
      }),
    );
    expect(actors.map((actor) => actor.slice(-16))).toEqual(["/ann@example.com", "/bob@example.com"]);
    expect(actors.map((actor) => actor.length)).toEqual([SIZES.nameCharactersMax, SIZES.nameCharactersMax]);
  });
});

test("a deployed API purges no run, since no function may delete an archive", async () => {
  const harness = gateway();
  const { body } = await harness.ask(START);
  const run = String(body["run"]);
  const { status, body: problem } = await harness.ask({ method: "DELETE", path: `/runs/${run}` });
  expect({ status, code: problem["code"] }).toEqual({ status: 405, code: "MethodNotAllowed" });
  expect((await harness.ask({ path: `/runs/${run}/ledger` })).status).toBe(200);
});

test("a query of API Gateway bounds a list", async () => {
  const harness = gateway();
  for (let count = 0; count < 3; count += 1) await harness.ask(START);
  const { body } = await harness.ask({ path: "/runs", query: { limit: "2", agent: "actor" } });
  expect({ runs: (body["runs"] as readonly unknown[]).length, more: body["more"] }).toEqual({ runs: 2, more: true });
  expect((await harness.ask({ path: "/runs", query: { limit: "0" } })).status).toBe(422);
});

test("with access tokens the function identifies callers, whatever identity signed, and keeps their address", async () => {
  const { world } = createHarness();
  const callerOf = callerBy(authenticatorOf(world, { auth: "token" }));
  const made = { tenant: "acme", by: "ann", scopes: ["approve"] as const, name: null, lifeMs: null };
  const { secret, token } = await createToken(world, made);
  const event = gatewayEvent({ path: "/runs" });
  const caller = await callerOf({ event }, { authorization: `Bearer ${secret}` });
  expect(caller).toMatchObject({ tenant: "acme", scopes: ["approve"], token: token.token });
  expect(caller?.address).toBe(event.requestContext.identity.sourceIp ?? undefined);
  const signed = "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20261125/eu-west-1/execute-api/aws4_request";
  await expect(callerOf({ event }, { authorization: signed })).rejects.toThrow("no access token");
  expect(authenticatorOf(world, {})).toBeNull();
  expect(authenticatorOf(world, { auth: "iam" })).toBeNull();
});
