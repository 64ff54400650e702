/** The console of a deployment: its files for every caller, and everything else from the API. */
import { expect, test } from "vitest";
import { withConsole } from "../../functions/console.ts";
import { type FromGateway, GATEWAY_ROWS, baseOf, callerBy, gatewayHandler } from "../../functions/gateway.ts";
import { tokenAuthenticator } from "../../src/api/access/bearer.ts";
import { createApi } from "../../src/api/app.ts";
import { createToken } from "../../src/operations/access/tokens.ts";
import { gatewayEvent } from "../support/aws/gateway-event.ts";
import { createHarness } from "../support/harness/harness.ts";

const FILES = {
  ...{ "index.html": "<!doctype html>", "console/index-a1.js": "export {};", "console/index-b2.css": "a {}" },
  "console/icon-c3.svg": "<svg/>",
};

function deployment(files: Readonly<Record<string, string>> = FILES) {
  const { world } = createHarness();
  const callerOf = callerBy(tokenAuthenticator(world));
  const api = createApi<FromGateway>({ world, agentOf: async () => null, callerOf, baseOf, rows: GATEWAY_ROWS });
  const handler = gatewayHandler(withConsole(api, async () => files));
  const ask = async (path: string, headers: Readonly<Record<string, string>> = {}) => {
    const resource = path === "/" ? "/" : "/{proxy+}";
    const event = gatewayEvent({ path, resource, pathParameters: {}, headers, userArn: null });
    const { statusCode, body, isBase64Encoded, multiValueHeaders = {} } = await handler(event);
    const header = (name: string): string => multiValueHeaders[name]?.join() ?? "";
    return { status: statusCode, body, isBase64Encoded, header };
  };
  return { world, ask };
}

const codeOf = ({ body }: { readonly body: string }): unknown => (JSON.parse(body) as { readonly code: unknown }).code;

test.each([
  ["/", "index.html", "text/html; charset=utf-8", "no-cache"],
  ["/console/index-a1.js", "console/index-a1.js", "text/javascript; charset=utf-8", "immutable"],
  ["/console/index-b2.css", "console/index-b2.css", "text/css; charset=utf-8", "immutable"],
  ["/console/icon-c3.svg", "console/icon-c3.svg", "image/svg+xml", "immutable"],
] as const)("answers %s to a caller without a token, with the strict policy", async (path, file, type, caching) => {
  const { status, body, isBase64Encoded, header } = await deployment().ask(path);
  expect({ status, body, isBase64Encoded, contentType: header("content-type") }).toEqual({
    status: 200,
    body: FILES[file],
    isBase64Encoded: false,
    contentType: type,
  });
  expect(header("cache-control").split(", ")).toContain(caching);
  const policy = header("content-security-policy").split("; ");
  expect(policy).toEqual(expect.arrayContaining(["default-src 'none'", "script-src 'self'", "connect-src 'self'"]));
  expect(policy).toContain("frame-ancestors 'none'");
  expect(header("content-security-policy")).not.toMatch(/unsafe|https?:|\*/);
  expect({ xContentTypeOptions: header("x-content-type-options"), referrerPolicy: header("referrer-policy") }).toEqual({
    xContentTypeOptions: "nosniff",
    referrerPolicy: "no-referrer",
  });
});

test.each(["/console/index-a0.js", "/console/constructor", "/console/..%2Findex.html", "/console/__proto__.js"])(
  "has no file %s",
  async (path) => {
    const answer = await deployment().ask(path);
    expect({ status: answer.status, code: codeOf(answer) }).toEqual({ status: 404, code: "PathUnknown" });
  },
);

test("leaves every other path to the API, which asks for a token", async () => {
  const { world, ask } = deployment();
  for (const path of ["/runs", "/console", "/openapi.json", "/index.html"]) {
    const answer = await ask(path);
    expect({ path, status: answer.status, code: codeOf(answer) }).toEqual({
      path,
      status: 401,
      code: "Unauthenticated",
    });
  }
  const token = { tenant: "local", by: "ann", scopes: ["runs:read"], name: null, lifeMs: null } as const;
  const { secret } = await createToken(world, token);
  expect(await ask("/runs", { Authorization: `Bearer ${secret}` })).toMatchObject({ status: 200 });
});

test("is not there in a deployment without it: its paths are those of the API", async () => {
  const { ask } = deployment({});
  expect([(await ask("/")).status, (await ask("/console/index-a1.js")).status]).toEqual([401, 401]);
});
