/** Secrets that come and go: what a tool gets, and what is searched for in an input. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { z } from "zod";
import { parameterSecrets } from "../../src/adapters/aws/secrets.ts";
import { openStore } from "../../src/adapters/local/store/database.ts";
import { localSecrets } from "../../src/adapters/local/secrets.ts";
import { virtualClock } from "../../src/adapters/memory/clock.ts";
import { withKernel } from "../../src/features/compose.ts";
import { memoryWorld } from "../../src/adapters/memory/world.ts";
import { defineAgent, scriptedModel } from "../../src/index.ts";
import type { SecretLook, Secrets } from "../../src/ports/secrets.ts";
import { StoreUnreachable, type World } from "../../src/ports/world.ts";
import { limitsFor } from "../../src/protocol/limits.ts";
import { redactionIn, secretsFor } from "../../src/history/secrets.ts";
import { startRun } from "../../src/operations/start.ts";
import { type Answer, ok, refusal, startAwsServer, stubAwsEnvironment } from "../support/aws/aws-server.ts";

const ABSENT: SecretLook = { kind: "absent", where: "the drawer", mend: "put it into the drawer" };

test("a missing secret is looked up again each time, a present one is cached for a while", async () => {
  const looks: SecretLook[] = [
    ABSENT,
    { kind: "found", value: "first-value" },
    { kind: "found", value: "other-value" },
  ];
  const get = async (): Promise<SecretLook> => looks.shift() ?? ABSENT;
  const secrets = { get, declare: async () => {}, declared: async () => [] };
  const clock = virtualClock(0);
  const mine = secretsFor({ secrets, clock }, { name: "teller", secrets: ["TOKEN"] });
  await expect(mine.get("TOKEN")).rejects.toThrow("put it into the drawer");
  expect(await mine.get("TOKEN")).toBe("first-value");
  expect(await mine.get("TOKEN")).toBe("first-value");
  clock.moveTo(10 * 60_000);
  expect(await mine.get("TOKEN")).toBe("other-value");
  await expect(mine.get("OTHER")).rejects.toThrow("does not declare");
});

test("a store of secrets that throws at once counts as no silent one, and leaves no timer behind", async () => {
  const get = (): Promise<SecretLook> => {
    throw new StoreUnreachable("it is closed", { store: "the secrets" });
  };
  const clock = virtualClock(0);
  const world = { secrets: { get, declare: async () => {}, declared: async () => [] }, clock };
  const mine = secretsFor(world, { name: "teller", secrets: ["TOKEN"] });
  await expect(mine.get("TOKEN")).rejects.toThrow("it is closed");
  expect(clock.next()).toBeNull();
});

test("what a tool hides is redacted, and its later values do not drive out secrets", async () => {
  const get = async (): Promise<SecretLook> => ({ kind: "found", value: "value-of-the-secret" });
  const world = { secrets: { get, declare: async () => {}, declared: async () => [] }, clock: virtualClock(0) };
  const mine = secretsFor(world, { name: "teller", secrets: ["TOKEN"] });
  await mine.get("TOKEN");
  for (let each = 0; each < 600; each += 1) mine.hide?.("SESSION", `opaque-${each}-value`);
  const clean = (text: string): string => redactionIn(world).text(text);
  expect(clean("a opaque-599-value b")).toBe("a [secret SESSION] b");
  expect(clean("value-of-the-secret")).toBe("[secret TOKEN]");
  expect(clean("opaque-1-value")).toBe("opaque-1-value");
  expect(() => mine.hide?.("a name", "value")).toThrow('"a name" is no name: write capital letters, digits and _');
});

describe("an input", () => {
  const teller = defineAgent({
    ...{ name: "teller", version: "1", instructions: "", task: z.string() },
    model: scriptedModel({ name: "m", reply: () => ({ text: "told" }) }),
    secrets: ["TOKEN"],
    tools: {},
  });
  const start = (world: World, input: string) =>
    startRun(world, { agent: teller, input, tenant: "t", idempotencyKey: null });

  test("is searched for a secret that was set a moment ago", async () => {
    let look: SecretLook = ABSENT;
    const secrets: Secrets = { get: async () => look, declare: async () => {}, declared: async () => ["TOKEN"] };
    const world = withKernel(memoryWorld({ limits: limitsFor(1_000), clock: virtualClock(0), secrets }));
    expect((await start(world, "use first-value")).kind).toBe("started");
    look = { kind: "found", value: "first-value" };
    expect(await start(world, "use first-value")).toMatchObject({
      ...{ kind: "invalid", why: expect.stringContaining("it holds [secret TOKEN]") },
    });
  });

  test.each([
    ["a secret that this process cannot read", { ...ABSENT, kind: "unread" }, ["TOKEN"]],
    ["names that this process may not list", ABSENT, { ...ABSENT, kind: "unread" }],
  ] as const)("is not stored when there are %s", async (_, look, declared) => {
    const secrets: Secrets = { get: async () => look, declare: async () => {}, declared: async () => declared };
    const world = withKernel(memoryWorld({ limits: limitsFor(1_000), clock: virtualClock(0), secrets }));
    await expect(start(world, "use first-value")).rejects.toMatchObject({
      ...{ code: "SecretUnread", message: expect.stringContaining("put it into the drawer") },
    });
    expect({ rows: world.store.rows.size, objects: world.store.objects.size }).toEqual({ rows: 0, objects: 0 });
  });
});

test("in one store, a secret that another process had a value for counts as unread, not as absent", async () => {
  const dir = mkdtempSync(join(tmpdir(), "cairn-secrets-"));
  const store = openStore({ dir, create: true });
  onTestFinished(() => {
    store.close();
    rmSync(dir, { recursive: true, force: true });
  });
  const file = join(dir, "no.env");
  const without = localSecrets({ store, env: {}, file });
  await without.declare(["TOKEN"]);
  expect(await without.get("TOKEN")).toMatchObject({ kind: "absent" });
  await localSecrets({ store, env: { TOKEN: "first-value" }, file }).get("TOKEN");
  expect(await without.get("TOKEN")).toMatchObject({ kind: "unread", mend: expect.stringContaining("TOKEN=") });
  store.rows.exec("UPDATE meta SET value = unixepoch() - 90000 WHERE name = 'secret TOKEN'");
  expect(await without.get("TOKEN")).toMatchObject({ kind: "absent" });
  expect(await without.declared()).toEqual(["TOKEN"]);
});

test("an operator without access to parameters learns that a secret is unread, a function that it is out of reach", async () => {
  const server = await startAwsServer();
  onTestFinished(async () => {
    vi.unstubAllEnvs();
    await server.close();
  });
  stubAwsEnvironment();
  server.answer(refusal("AccessDeniedException"));
  const client = { endpoint: server.endpoint };
  const unread = { kind: "unread", mend: expect.stringContaining("ssm:GetParameter") };
  const person = parameterSecrets({ deployment: "cairn-dev", names: null, client });
  expect(await person.get("TOKEN")).toMatchObject(unread);
  expect(await person.declared()).toMatchObject(unread);
  await expect(parameterSecrets({ deployment: "cairn-dev", names: ["TOKEN"], client }).get("TOKEN")).rejects.toThrow(
    StoreUnreachable,
  );
});

const values = (asked: string): Answer => {
  const { Names } = JSON.parse(asked) as { readonly Names: readonly string[] };
  const Parameters = Names.filter((name) => !name.endsWith("NONE")).map((Name) => ({
    Name,
    Value: `value of ${Name}`,
  }));
  return ok({ Parameters, InvalidParameters: Names.filter((name) => name.endsWith("NONE")) });
};

test("what is asked for at the same time is read by ten", async () => {
  const server = await startAwsServer();
  onTestFinished(async () => {
    vi.unstubAllEnvs();
    await server.close();
  });
  stubAwsEnvironment();
  const names = [...Array.from({ length: 23 }, (_, index) => `TOKEN_${index}`), "NONE"];
  const secrets = parameterSecrets({ deployment: "cairn-dev", names, client: { endpoint: server.endpoint } });
  server.answerWith(({ body }) => values(body));
  const looks = await Promise.all(names.map((name) => secrets.get(name)));
  expect(looks.slice(0, -1)).toEqual(
    names.slice(0, -1).map((name) => ({ kind: "found", value: `value of /cairn/cairn-dev/${name}` })),
  );
  expect(looks.at(-1)).toMatchObject({ kind: "absent" });
  const asked = server.asked.map(({ body }) => (JSON.parse(body) as { Names: unknown[] }).Names.length);
  expect(asked.toSorted((one, other) => other - one)).toEqual([10, 10, 4]);
});

test("one secret that two tools ask for at the same time is asked for once, and one with a disabled key hides no other", async () => {
  const server = await startAwsServer();
  onTestFinished(async () => {
    vi.unstubAllEnvs();
    await server.close();
  });
  stubAwsEnvironment();
  const secrets = parameterSecrets({ deployment: "cairn-dev", names: null, client: { endpoint: server.endpoint } });
  server.answerWith(({ what, body }) => {
    if (what.endsWith("GetParameters") || body.includes("BROKEN")) return refusal("InvalidKeyId");
    return ok({ Parameter: { Value: "mine" } });
  });
  const mine = { kind: "found", value: "mine" };
  expect(await Promise.all([secrets.get("MINE"), secrets.get("MINE")])).toEqual([mine, mine]);
  expect(server.asked.map(({ body }) => body)).not.toContainEqual(expect.stringContaining("Names"));
  const [found, broken] = await Promise.allSettled([secrets.get("MINE"), secrets.get("BROKEN")]);
  expect(found).toMatchObject({ value: mine });
  expect(broken).toMatchObject({ status: "rejected", reason: expect.any(StoreUnreachable) });
});

test("what may not be read together is read one by one", async () => {
  const server = await startAwsServer();
  onTestFinished(async () => {
    vi.unstubAllEnvs();
    await server.close();
  });
  stubAwsEnvironment();
  const secrets = parameterSecrets({ deployment: "cairn-dev", names: null, client: { endpoint: server.endpoint } });
  server.answerWith(({ what, body }) => {
    if (what.endsWith("GetParameters")) return refusal("AccessDeniedException");
    return body.includes("OTHER") ? refusal("AccessDeniedException") : ok({ Parameter: { Value: "mine" } });
  });
  expect(await Promise.all([secrets.get("MINE"), secrets.get("OTHER")])).toMatchObject([
    { kind: "found", value: "mine" },
    { kind: "unread" },
  ]);
});
