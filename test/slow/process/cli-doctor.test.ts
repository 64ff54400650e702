/** `cairn doctor` as people type it, in both worlds. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type Desk, cairn, cairnRunning, desk, documentOf, queued, until } from "../../support/cli.ts";

interface Check {
  readonly id: string;
  readonly status: string;
  readonly why: string;
  readonly mend: string | null;
}

/** What it finds, by id. */
async function examined(at: Desk, ...words: readonly string[]): Promise<Readonly<Record<string, Check>>> {
  const { checks } = await documentOf(at, ["doctor", ...words]);
  return Object.fromEntries((checks as readonly Check[]).map((check) => [check.id, check]));
}

describe("doctor in the embedded world", () => {
  test("before the first run knows what there is to know", async () => {
    const at = desk();
    const { exit, out } = await cairn(at, ["doctor"]);
    expect(exit).toBe(0);
    expect(out).toMatch(
      /✔ agents +clerk 1\n✔ agents-secrets +no agent declares a secret\n\? store +there is none at .*\n +→ the first run creates it/,
    );
    expect(out).toContain("3 ok, 7 unknown");
  });

  test("says what to type when nobody works, and nothing when somebody does", async () => {
    const at = desk({ CAIRN_LIMITS: '{"overdueMs":1}' });
    await queued(at, "note", "gate");
    const alone = await examined(at);
    expect(Object.values(alone).filter(({ status }) => status !== "ok")).toEqual([
      expect.objectContaining({ id: "work", status: "warn", why: expect.stringContaining("1 of them overdue") }),
    ]);
    expect(alone["work"]?.mend).toBe(`npx cairn work --store ${at.store}`);
    cairnRunning(at, ["work"]);
    await until(async () => expect((await examined(at))["work"]?.status).toBe("ok"));
  });

  test("fails where the store is none, and judges all else", async () => {
    const at = desk();
    mkdirSync(at.store);
    writeFileSync(join(at.store, "cairn.sqlite"), "this is a letter to my aunt, and no database");
    const { exit, out } = await cairn(at, ["doctor"]);
    expect(exit).toBe(1);
    expect(out).toMatch(/✖ store +.*it is not a database/);
    expect(out).toMatch(/✔ agents +clerk 1/);
  });

  test("fails where an agent cannot be loaded", async () => {
    const at = desk();
    writeFileSync(join(at.dir, "cairn.config.ts"), 'export const config = { agents: ["./gone.ts"] };\n');
    expect(await documentOf(at, ["doctor"])).toMatchObject({ ok: false, world: "local" });
    expect((await examined(at))["agents"]).toMatchObject({ status: "fail", why: expect.stringContaining("gone.ts") });
  });

  test("in production asks more of agents, and has the ten points", async () => {
    const at = desk();
    await queued(at, "note");
    const { exit } = await cairn(at, ["doctor", "--production"]);
    const checks = await examined(at, "--production");
    expect(exit).toBe(1);
    expect(checks["agents-budget"]).toMatchObject({ status: "fail", why: expect.stringContaining("clerk") });
    expect(checks["agents-unsafe"]).toMatchObject({ status: "warn", why: expect.stringContaining("mail of clerk") });
    const points = Object.values(checks).filter(({ id }) => id.startsWith("production-"));
    expect(points).toHaveLength(10);
    expect(checks["production-cancel"]).toMatchObject({ status: "fail" });
    expect(checks["production-order"]).toMatchObject({ status: "ok", why: expect.stringContaining("crash.test.ts") });
    expect(checks["production-killed"]).toMatchObject({ status: "unknown", mend: expect.stringContaining("storm") });
  });
});

describe("doctor in the world aws", () => {
  const NAMED = {
    CAIRN_TABLE: "cairn",
    CAIRN_BUCKET: "cairn",
    CAIRN_MACHINE: "arn:aws:states:us-east-1:000000000000:stateMachine:cairn",
    AWS_REGION: "us-east-1",
  };
  const statuses = (checks: Readonly<Record<string, Check>>, status: string): readonly string[] =>
    Object.values(checks).flatMap((check) => (check.status === status ? [check.id] : []));

  test("without credentials says so, and asks for nothing else", async () => {
    const at = desk({ ...NAMED, AWS_EC2_METADATA_DISABLED: "true", HOME: "/nowhere" });
    const env = { ...at.env, AWS_ACCESS_KEY_ID: undefined, AWS_SECRET_ACCESS_KEY: undefined, AWS_PROFILE: undefined };
    const checks = await examined({ ...at, env }, "--world", "aws");
    expect(statuses(checks, "fail")).toEqual(["credentials"]);
    expect(checks["credentials"]).toMatchObject({
      why: expect.stringContaining("there are no credentials"),
      mend: expect.stringContaining("AWS_PROFILE"),
    });
    expect(statuses(checks, "ok")).toEqual(["node", "agents", "agents-secrets", "region"]);
    expect(checks["table"]).toMatchObject({ status: "unknown", why: "needs credentials", mend: null });
  });

  test("where nobody answers says so once", async () => {
    const keys = { AWS_ACCESS_KEY_ID: "test", AWS_SECRET_ACCESS_KEY: "test" };
    const at = desk({ ...NAMED, ...keys, AWS_ENDPOINT_URL: "http://127.0.0.1:9" });
    const { exit, out, err } = await cairn(at, ["doctor", "--world", "aws"]);
    expect(exit).toBe(1);
    expect(err).not.toMatch(/error|\n +at /i);
    expect(out).toMatch(/✖ credentials +nothing answers at its address .*\n +→ .*AWS_ENDPOINT_URL/);
    expect(out.match(/✖/g)).toHaveLength(1);
  });

  test("in another region than its machine asks for nothing", async () => {
    const at = desk({ ...NAMED, AWS_REGION: "eu-west-1", AWS_ENDPOINT_URL: "http://127.0.0.1:9" });
    expect((await examined(at, "--world", "aws"))["region"]).toMatchObject({
      status: "fail",
      mend: "export AWS_REGION=us-east-1",
    });
  });
});
