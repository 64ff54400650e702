/** `cairn doctor` as people type it, in both worlds. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  type CliFolder,
  runCairn,
  spawnCairn,
  createCliFolder,
  runCairnJson,
  startQueuedRun,
} from "../../support/processes/cli-process.ts";
import { waitUntil } from "../../support/gate/safety.ts";

interface Check {
  readonly id: string;
  readonly status: string;
  readonly why: string;
  readonly mend: string | null;
}

/** What it finds, by id. */
async function examined(at: CliFolder, ...words: readonly string[]): Promise<Readonly<Record<string, Check>>> {
  const { checks } = await runCairnJson(at, ["doctor", ...words]);
  return Object.fromEntries((checks as readonly Check[]).map((check) => [check.id, check]));
}

describe("doctor in the embedded world", () => {
  test("reports what is known before the first run", async () => {
    const at = createCliFolder();
    const { exit, out } = await runCairn(at, ["doctor"]);
    expect(exit).toBe(0);
    expect(out).toMatch(
      /✔ agents +clerk 1\n✔ agents-secrets +no agent declares a secret\n\? store +there is none at .*\n +→ the first run creates it/,
    );
    // A system without /proc has no check of orphans.
    expect(out).toMatch(/^[34] ok, (1 warning, )?10 unknown/m);
  });

  test("checks each stored field of a run with --run", async () => {
    const at = createCliFolder();
    const run = await startQueuedRun(at, "note");
    const found = await examined(at, "--run", run);
    expect([found["run-bounds"]?.status, found["run-fields"]?.status]).toEqual(["ok", "ok"]);
    expect(found["run-fields"]?.why).toMatch(/^\d+ fields of snapshot 0$/);
  });

  test("says what to type when no supervisor runs, and nothing when one does", async () => {
    const at = createCliFolder({ CAIRN_LIMITS: '{"overdueMs":1}' });
    await startQueuedRun(at, "note", "gate");
    const alone = await examined(at);
    expect(Object.values(alone).filter(({ status }) => status !== "ok")).toEqual([
      expect.objectContaining({ id: "work", status: "warn", why: expect.stringContaining("1 of them overdue") }),
    ]);
    expect(alone["work"]?.mend).toBe(`npx cairn work --store ${at.store}`);
    spawnCairn(at, ["work"]);
    await waitUntil(async () => expect((await examined(at))["work"]?.status).toBe("ok"));
  });

  test("fails when the store is invalid, and checks the rest", async () => {
    const at = createCliFolder();
    mkdirSync(at.store);
    writeFileSync(join(at.store, "cairn.sqlite"), "this is a letter to my aunt, and no database");
    const { exit, out } = await runCairn(at, ["doctor"]);
    expect(exit).toBe(1);
    expect(out).toMatch(/✖ store +.*it is not a database/);
    expect(out).toMatch(/✔ agents +clerk 1/);
  });

  test("fails when an agent cannot be loaded", async () => {
    const at = createCliFolder();
    writeFileSync(join(at.dir, "cairn.config.ts"), 'export const config = { agents: ["./gone.ts"] };\n');
    expect(await runCairnJson(at, ["doctor"])).toMatchObject({ ok: false, world: "local" });
    expect((await examined(at))["agents"]).toMatchObject({ status: "fail", why: expect.stringContaining("gone.ts") });
  });

  test("demands more of agents in production, and has the ten points", async () => {
    const at = createCliFolder();
    await startQueuedRun(at, "note");
    const { exit } = await runCairn(at, ["doctor", "--production"]);
    const checks = await examined(at, "--production");
    expect(exit).toBe(1);
    expect(checks["agents-budget"]).toMatchObject({ status: "fail", why: expect.stringContaining("clerk") });
    expect(checks["agents-unsafe"]).toMatchObject({ status: "warn", why: expect.stringContaining("mail of clerk") });
    const points = Object.values(checks).filter(({ id }) => id.startsWith("production-"));
    expect(points).toHaveLength(10);
    expect(checks["production-cancel"]).toMatchObject({ status: "fail" });
    expect(checks["production-order"]).toMatchObject({ status: "ok", why: expect.stringContaining("crash.test.ts") });
    expect(checks["production-killed"]).toMatchObject({ status: "unknown", mend: "npx cairn chaos AGENT" });
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

  test("without credentials reports that, and calls no service", async () => {
    const at = createCliFolder({ ...NAMED, AWS_EC2_METADATA_DISABLED: "true", HOME: "/nowhere" });
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

  test("without a reachable service reports that once", async () => {
    const keys = { AWS_ACCESS_KEY_ID: "test", AWS_SECRET_ACCESS_KEY: "test" };
    const at = createCliFolder({ ...NAMED, ...keys, AWS_ENDPOINT_URL: "http://127.0.0.1:9" });
    const { exit, out, err } = await runCairn(at, ["doctor", "--world", "aws"]);
    expect(exit).toBe(1);
    expect(err).not.toMatch(/error|\n +at /i);
    expect(out).toMatch(/✖ credentials +nothing answers at its address .*\n +→ .*AWS_ENDPOINT_URL/);
    expect(out.match(/✖/g)).toHaveLength(1);
  });

  test("in another region than its machine calls no service", async () => {
    const at = createCliFolder({ ...NAMED, AWS_REGION: "eu-west-1", AWS_ENDPOINT_URL: "http://127.0.0.1:9" });
    expect((await examined(at, "--world", "aws"))["region"]).toMatchObject({
      status: "fail",
      mend: "export AWS_REGION=us-east-1",
    });
  });
});
