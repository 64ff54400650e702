/** Access tokens over HTTP: every route refuses a request without a valid token of the run's tenant. */
import { describe, expect, test } from "vitest";
import { tokenAuthenticator } from "../../src/api/access/bearer.ts";
import { createApi } from "../../src/api/app.ts";
import { hadTokens } from "../../src/operations/access/check-token.ts";
import { createToken, listTokens, revokeToken } from "../../src/operations/access/tokens.ts";
import { type Scope, SCOPES } from "../../src/operations/operation.ts";
import type { StoredRecord } from "../../src/ports/records.ts";
import { createHarness, scriptedAgent } from "../support/harness/harness.ts";
import { ALL_ROUTES } from "../support/harness/plain-routes.ts";

function served() {
  const harness = createHarness();
  const { world } = harness;
  const agent = scriptedAgent({});
  const reads: string[] = [];
  const read: typeof world.table.read = (run, now) => {
    reads.push(run);
    return world.table.read(run, now);
  };
  const authenticate = tokenAuthenticator(world);
  const api = createApi<object>({
    world: { ...world, table: { ...world.table, read } },
    agentOf: async (name) => (name === agent.name ? agent : null),
    callerOf: (_, credentials) => authenticate(credentials),
    baseOf: () => "",
  });
  const made = async (
    of: { readonly tenant?: string; readonly scopes?: readonly Scope[]; readonly lifeMs?: number } = {},
  ) => createToken(world, { tenant: "local", by: "ann", scopes: SCOPES, name: null, lifeMs: null, ...of });
  const ask = async (
    { method = "GET", path, json }: { readonly method?: string; readonly path: string; readonly json?: unknown },
    authorization?: string,
  ) => {
    const headers = { "content-type": "application/json", ...(authorization === undefined ? {} : { authorization }) };
    const init = { method, headers, ...(json === undefined ? {} : { body: JSON.stringify(json) }) };
    const answer = await api.fetch(new Request(`http://cairn.test${path}`, init), {});
    return { status: answer.status, headers: answer.headers, text: await answer.text() };
  };
  const begin = async () => {
    const { secret } = await made({ scopes: ["runs:write"] });
    const { text } = await ask({ method: "POST", path: "/runs", json: { agent: "actor" } }, `Bearer ${secret}`);
    return String((JSON.parse(text) as { run: string }).run);
  };
  return { harness, world, reads, made, ask, begin };
}

const codeIn = ({ status, text }: { readonly status: number; readonly text: string }) => ({
  status,
  code: (JSON.parse(text) as { code?: string }).code,
});

describe.each(ALL_ROUTES.map((route) => [route.name, route] as const))("the route of %s", (_, { request, scope }) => {
  test("refuses a request without a valid token, by name, and changes nothing", async () => {
    const { harness, ask, made, world, begin, reads } = served();
    const run = await begin();
    const { secret } = await made();
    const expired = await made({ lifeMs: 1_000 });
    const revoked = await made();
    await revokeToken(world, { id: revoked.token.token, tenant: "local", by: "ann" });
    harness.clock.moveTo(world.clock.now() + 1_000);
    const before = structuredClone(harness.world.store.rows);
    reads.length = 0;
    const other = secret.endsWith("0") ? "1" : "0";
    for (const [authorization, code] of [
      [undefined, "Unauthenticated"],
      ["", "Unauthenticated"],
      [`Basic ${secret}`, "Unauthenticated"],
      ["Bearer ", "Unauthenticated"],
      [`Bearer ${secret} ${secret}`, "Unauthenticated"],
      [`Bearer ${"x".repeat(9_000)}`, "Unauthenticated"],
      ["Bearer x", "TokenUnknown"],
      [`Bearer ${secret.slice(0, -1)}${other}`, "TokenUnknown"],
      [`Bearer cairn_${"0".repeat(16)}_${"0".repeat(64)}`, "TokenUnknown"],
      [`Bearer ${expired.secret}`, "TokenExpired"],
      [`Bearer ${revoked.secret}`, "TokenRevoked"],
    ] as const) {
      const answered = await ask(request(run), authorization);
      expect({ authorization, ...codeIn(answered) }).toEqual({ authorization, status: 401, code });
      expect(answered.headers.get("www-authenticate")).toMatch(/^Bearer/);
    }
    expect(reads).toEqual([]);
    expect(harness.world.store.rows).toEqual(before);
  });

  test("shows another tenant's token nothing, and reads no run for it", async () => {
    const { harness, ask, made, begin, reads } = served();
    const run = await begin();
    const theirs = await made({ tenant: "other", scopes: [scope] });
    const before = structuredClone(harness.world.store.rows.get(run));
    reads.length = 0;
    const answered = await ask(request(run), `Bearer ${theirs.secret}`);
    expect(answered.text).not.toContain(run.split("-")[1]);
    if (request(run).path.includes(run)) {
      expect(codeIn(answered)).toEqual({ status: 404, code: "RunUnknown" });
      expect(reads).toEqual([]);
    }
    expect(harness.world.store.rows.get(run)).toEqual(before);
  });
});

describe("an access token", () => {
  test("is stored without its secret, and listed without its digest", async () => {
    const { world, made } = served();
    const { secret, token } = await made({ scopes: ["runs:read", "runs:read"] });
    const [, , random = ""] = secret.split("_");
    expect(secret).toBe(`cairn_${token.token}_${random}`);
    expect(random).toMatch(/^[0-9a-f]{64}$/);
    expect(JSON.stringify([...world.store.records])).not.toContain(random);
    const { tokens } = await listTokens(world, { tenant: "local", after: null });
    expect(tokens).toEqual([{ ...token, scopes: ["runs:read"] }]);
    expect((await listTokens(world, { tenant: "other", after: null })).tokens).toEqual([]);
  });

  test.each([undefined, { digest: 7 }])(
    "is refused if its body is %j, named in the list, and no other is",
    async (body) => {
      const { harness, ask, made, world } = served();
      const [broken, sound] = [await made(), await made()];
      const { records } = harness.world.store;
      for (const [key, record] of records)
        if (record.id === broken.token.token) records.set(key, { ...record, body: body as StoredRecord["body"] });
      expect(codeIn(await ask({ path: "/runs" }, `Bearer ${broken.secret}`))).toEqual({
        status: 401,
        code: "TokenDamaged",
      });
      expect((await ask({ path: "/runs" }, `Bearer ${sound.secret}`)).status).toBe(200);
      const { tokens, damaged } = await listTokens(world, { tenant: "local", after: null });
      expect({ tokens, damaged }).toEqual({ tokens: [sound.token], damaged: [broken.token.token] });
    },
  );

  test("was there if its mark is damaged, so that the store stays closed", async () => {
    const { harness, made, world } = served();
    expect(await hadTokens(world)).toBe(false);
    await made();
    const { records } = harness.world.store;
    for (const [key, { body: _, ...rest }] of records) records.set(key, rest as StoredRecord);
    expect(await hadTokens(world)).toBe(true);
  });

  test("is valid until its last millisecond", async () => {
    const { harness, ask, made, world } = served();
    const { secret } = await made({ lifeMs: 60_000 });
    harness.clock.moveTo(world.clock.now() + 59_999);
    expect((await ask({ path: "/runs" }, `Bearer ${secret}`)).status).toBe(200);
    harness.clock.moveTo(world.clock.now() + 1);
    expect(codeIn(await ask({ path: "/runs" }, `bearer ${secret}`))).toEqual({ status: 401, code: "TokenExpired" });
  });

  test("is refused from the next request on once it is revoked, by its own tenant only", async () => {
    const { ask, made, world } = served();
    const { secret, token } = await made();
    expect(await revokeToken(world, { id: token.token, tenant: "other", by: "eve" })).toEqual({ kind: "unknown" });
    expect((await ask({ path: "/runs" }, `Bearer ${secret}`)).status).toBe(200);
    const revoked = await revokeToken(world, { id: token.token, tenant: "local", by: "bob" });
    expect(revoked).toMatchObject({ kind: "revoked", token: { revoked: { by: "bob" } } });
    expect(codeIn(await ask({ path: "/runs" }, `Bearer ${secret}`))).toEqual({ status: 401, code: "TokenRevoked" });
    const again = await revokeToken(world, { id: token.token, tenant: "local", by: "eve" });
    expect(again).toMatchObject({ kind: "already", token: { revoked: { by: "bob" } } });
  });

  test("names its ID as the actor of what it starts", async () => {
    const { ask, made, begin } = served();
    const run = await begin();
    const { secret } = await made();
    const { text } = await ask({ path: `/runs/${run}` }, `Bearer ${secret}`);
    expect((JSON.parse(text) as { startedBy: string }).startedBy).toMatch(/^access:[0-9a-f]{16}$/);
  });
});
