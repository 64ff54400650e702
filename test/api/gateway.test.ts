/** The API behind API Gateway: what its events say about who asks, where the paths begin, and what the body is. */
import { describe, expect, test } from "vitest";
import { type FromGateway, baseOf, callerOf, gatewayHandler } from "../../functions/gateway.ts";
import { createApi } from "../../src/api/app.ts";
import { SIZES } from "../../src/codec/limits.ts";
import { transcript } from "../../src/operations/views.ts";
import { drive, runnerOf } from "../support/drive.ts";
import { type Recorded, gatewayEvent } from "../support/gateway-event.ts";
import { OVER, actor, rowOf, stage } from "../support/stage.ts";

function gateway() {
  const on = stage();
  const agent = actor({ reply: () => OVER });
  const agentOf = async (name: string) => (name === agent.name ? agent : null);
  const handler = gatewayHandler(createApi<FromGateway>({ world: on.world, agentOf, callerOf, baseOf }));
  const ask = async (of: Recorded) => {
    const { statusCode, body, isBase64Encoded, multiValueHeaders = {} } = await handler(gatewayEvent(of));
    expect(isBase64Encoded).toBe(false);
    const parsed = (body === "" ? {} : JSON.parse(body)) as Readonly<Record<string, unknown>>;
    return { status: statusCode, headers: multiValueHeaders, body: parsed };
  };
  return { ...on, agent, ask };
}

const START = { method: "POST", path: "/runs", body: '{"agent":"actor"}' } as const;
const base64 = (text: string): string => Buffer.from(text).toString("base64");

describe("an event of API Gateway", () => {
  test("starts a run, and says where it is from the stage on", async () => {
    const on = gateway();
    const { status, headers, body } = await on.ask({ ...START, headers: { "Idempotency-Key": "order-42" } });
    const run = String(body["run"]);
    expect([status, headers["location"]]).toEqual([202, [`/prod/runs/${run}`]]);
    const shown = await on.ask({ path: `/runs/${run}` });
    expect([shown.status, shown.body["status"]]).toEqual([200, "queued"]);
    const headersOf304 = { "If-None-Match": String(shown.headers["etag"]) };
    expect(await on.ask({ path: `/runs/${run}`, headers: headersOf304 })).toMatchObject({ status: 304, body: {} });
  });

  test.each([
    ["a stage", "/prod", "/{proxy+}"],
    ["a stage that is called like a path", "/runs", "/{proxy+}"],
    ["a domain of one's own", "", "/{proxy+}"],
    ["a domain with a mapping", "/agents/v1", "/{proxy+}"],
    ["a resource for each path", "/prod", "/runs"],
  ])("finds its path behind %s", async (_, base, resource) => {
    const { status, headers, body } = await gateway().ask({ ...START, base, resource });
    expect([status, headers["location"]]).toEqual([202, [`${base}/runs/${String(body["run"])}`]]);
  });

  test("may have its body in base64, also with letters of more bytes", async () => {
    const on = gateway();
    const { body } = await on.ask({ ...START, body: base64(START.body), isBase64Encoded: true });
    const run = String(body["run"]);
    const text = "nimm den Zug über Köln 🚆";
    const said = { method: "POST", path: `/runs/${run}/messages`, isBase64Encoded: true };
    expect((await on.ask({ ...said, body: base64(JSON.stringify({ text, id: "w1" })) })).status).toBe(202);
    expect((await on.ask({ ...said, body: base64('"\u0000') })).status).toBe(400);
    const { born } = rowOf(on, run);
    await drive(runnerOf(on.world, on.agent), { run, born, chain: 1, epoch: 0, agent: on.agent.name });
    const heard = ((await transcript(on.world, run)) ?? []).find(({ source }) => source.startsWith("user:"));
    expect(heard).toMatchObject({ source: "user:arn:aws:iam::123456789012:user/ann", parts: [{ text }] });
  });

  test("that reads may have a body, which nobody looks at", async () => {
    const { status } = await gateway().ask({ path: "/openapi.json", body: "what for" });
    expect(status).toBe(200);
  });

  test("without a body where one is needed is refused as a request, not as a fault", async () => {
    const on = gateway();
    expect((await on.ask({ ...START, body: null })).status).toBe(422);
    expect((await on.ask({ ...START, body: "" })).status).toBe(400);
    expect((await on.ask({ ...START, body: "{" })).body["code"]).toBe("BadJson");
  });
});

describe("who asks", () => {
  test("is the identity that signed; nobody is served whom API Gateway did not name", async () => {
    const on = gateway();
    expect((await on.ask({ ...START, userArn: null })).body["code"]).toBe("Unauthenticated");
    // As API Gateway matches it where the path is left open by mistake.
    expect((await on.ask({ path: "/openapi.json", resource: "/openapi.json", userArn: null })).status).toBe(401);
    expect(on.world.store.rows.size).toBe(0);
    expect((await on.ask({ path: "/healthz", resource: "/healthz", userArn: null })).body).toEqual({ status: "ok" });
  });

  test("is told apart from others of the same role", () => {
    const role = "arn:aws:sts::123456789012:assumed-role/AWSReservedSSO_AdministratorAccess_0123456789abcdef";
    const actors = ["ann@example.com", "bob@example.com"].map((name) => {
      const event = gatewayEvent({ path: "/runs", userArn: `${role}/${name}` });
      return callerOf({ event })?.actor ?? "";
    });
    expect(actors.map((actor) => actor.slice(-16))).toEqual(["/ann@example.com", "/bob@example.com"]);
    expect(actors.map((actor) => actor.length)).toEqual([SIZES.nameCharactersMax, SIZES.nameCharactersMax]);
  });
});
