/** The checks of the embedded world, of agents, and of the ten points of production. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { defineAgent, tool } from "../../src/sdk/define.ts";
import { limitsFor } from "../../src/protocol/limits.ts";
import {
  AGENT_CHECKS,
  AGENT_RULES,
  WEBHOOK_CHECK,
  type AgentsCase,
  type SecretSeen,
  agentSeen,
} from "../../src/doctor/agents.ts";
import { awsChecks } from "../../src/adapters/aws/doctor/checks.ts";
import { type Judged, type CheckStatus, judgeAll, ok, warn } from "../../src/ports/diagnosis.ts";
import { LOCAL_CHECKS, type StoreAtWork, type StoreLook } from "../../src/compose/worlds/local-checks.ts";
import { POINTS, judgePoints } from "../../src/doctor/production.ts";
import type { ClockDoubt } from "../../src/protocol/steadiness.ts";
import { memorySecrets } from "../../src/adapters/memory/secrets.ts";
import { createHarness } from "../support/harness/harness.ts";
import { failingWebhooks } from "../../src/compose/webhook-circuits.ts";
import { queueTo } from "../../src/features/webhooks/outbox.ts";
import { unsignedWebhooks } from "../../src/compose/webhook-secrets.ts";
import { scriptedModel } from "../../src/sdk/scripted.ts";

const NOW = 1_000_000_000_000;
const GIB = 1024 ** 3;

const WELL: StoreAtWork = {
  ...{ dir: "/store", id: "one", journalMode: "wal", refuses: null, faults: [], damaged: [], freeBytes: 9 * GIB },
  ...{
    supervisor: 7,
    runs: { live: 2, overdue: 0 },
    latestAt: NOW - 5,
    isWhole: true,
    checkedAt: 0,
    clock: null,
    memories: [],
    lostOutput: null,
  },
  unread: { names: [], file: "/project/.env" },
};

const LOST = { lines: 3, why: "it is full" };

const FULL = { tenant: "acme", scope: "notes", entries: 500 };

const DAY_MS = 24 * 3_600_000;

const doubting = (kind: ClockDoubt["kind"], byMs: number): Partial<StoreAtWork> => ({
  clock: { kind, byMs, forMs: 20 * 60_000 },
});

const judgeStore = (look: StoreLook): readonly Judged[] =>
  judgeAll(LOCAL_CHECKS, {
    seen: {
      ...{ look, limits: limitsFor(60_000), now: NOW, reaping: null },
      command: (...words) => `npx cairn ${words.join(" ")}`,
    },
    production: false,
  });

const damagedRow = (letter: string) => ({ run: `local-${letter}`, why: "no row" });

const found = (judged: readonly Judged[], id: string) => judged.find((each) => each.id === id);

describe("the embedded world", () => {
  test("passes every check when it is healthy", () => {
    expect(judgeStore({ kind: "seen", store: WELL }).map(({ status }) => status)).toEqual(LOCAL_CHECKS.map(() => "ok"));
  });

  test.each<readonly [string, CheckStatus, RegExp, Partial<StoreAtWork>]>([
    ["store", "fail", /journal mode is delete/, { journalMode: "delete" }],
    ["store-writable", "fail", /read-only/, { refuses: "it is read-only" }],
    [
      "store-secrets",
      "fail",
      /has HOOK_KEY, which is .+SecretUnread/,
      { unread: { names: ["HOOK_KEY"], file: ".env" } },
    ],
    ["store-whole", "fail", /row 3 missing/, { faults: ["row 3 missing"] }],
    ["rows", "fail", /^local-a: no row; local-b: no row$/, { damaged: ["a", "b"].map(damagedRow) }],
    ["rows", "fail", /local-e: no row; and 2 more$/, { damaged: [..."abcdefg"].map(damagedRow) }],
    ["rows", "unknown", /too damaged/, { damaged: null }],
    ["disk", "warn", /0\.5 GiB/, { freeBytes: GIB / 2 }],
    ["disk", "fail", /0\.0 GiB/, { freeBytes: 1_000 }],
    ["memory", "warn", /^notes of tenant acme has 500 entries; 500 are allowed/, { memories: [FULL] }],
    ["clock", "warn", /600 ms behind/, { latestAt: NOW + 600 }],
    ["clock", "fail", /2000 ms behind/, { latestAt: NOW + 2_000 }],
    ["clock", "fail", /put ahead by 40 days; cairn continues with the time before/, doubting("ahead", 40 * DAY_MS)],
    ["clock", "fail", /put back by 2 minutes/, doubting("behind", 90_000)],
    ["clock", "fail", /moved on by 14 hours while the machine was off/, doubting("away", 14 * 3_600_000)],
    ["work", "ok", /no run is live/, { supervisor: null, runs: { live: 0, overdue: 0 } }],
    ["work", "warn", /no process works on it/, { supervisor: null }],
    ["work", "warn", /1 of them overdue/, { runs: { live: 2, overdue: 1 } }],
    ["output", "ok", /no process works on it/, { supervisor: null }],
    ["output", "warn", /^process 7 could not write 3 lines since its start: it is full;/, { lostOutput: LOST }],
  ])("%s: %s %s", (id, status, says, change) => {
    const judged = found(judgeStore({ kind: "seen", store: { ...WELL, ...change } }), id);
    expect(judged).toMatchObject({ status, why: expect.stringMatching(says) });
    expect(judged?.mend === null).toBe(status === "ok");
  });

  test("shows for how long a correct clock is not trusted yet", () => {
    const judged = found(judgeStore({ kind: "seen", store: { ...WELL, ...doubting("ahead", DAY_MS) } }), "clock");
    expect(judged?.mend).toMatch(
      /timedatectl set-ntp true; if it is right, wait: cairn trusts a clock that keeps this time for 40 more minutes/,
    );
  });

  test("says which command to type when no supervisor runs", () => {
    expect(found(judgeStore({ kind: "seen", store: { ...WELL, supervisor: null } }), "work")?.mend).toBe(
      "npx cairn work",
    );
  });

  test.each<readonly [StoreLook, CheckStatus]>([
    [{ kind: "missing", dir: "/store" }, "unknown"],
    [{ kind: "broken", why: "it is not a database" }, "fail"],
  ])("reports that there is nothing to inspect: %o", (look, status) => {
    // Whether orphans are reaped is a question to the machine.
    const [first, ...others] = judgeStore(look).filter(({ id }) => id !== "orphans");
    expect(first).toMatchObject({ id: "store", status });
    expect(others.map(({ status, why }) => ({ status, why }))).toEqual(
      others.map(() => ({ status: "unknown", why: "needs store" })),
    );
  });
});

const agentOf = (change: object) =>
  agentSeen(
    defineAgent({
      ...{ name: "a", version: "1", instructions: "", task: z.object({}), tools: {} },
      model: scriptedModel({ name: "m", reply: () => ({ text: "done" }) }),
      ...change,
    }),
    null,
  );

describe("webhooks", () => {
  const key = `whsec_${Buffer.alloc(32, 1).toString("base64")}`;
  const judge = async (values: Readonly<Record<string, string>>) => {
    const webhooks = ["A", "B"].map((secret) => ({ url: `https://${secret}.example/token`, events: [], secret }));
    const unsigned = await unsignedWebhooks({
      webhooks,
      world: { findSecret: (name) => memorySecrets(values).get(name) },
    });
    const seen = {
      node: "v24.9.0",
      agents: [],
      broken: [],
      secrets: [],
      webhooks: { count: 2, unsigned, failing: [], removed: [] },
    };
    return judgeAll([WEBHOOK_CHECK], { seen, production: false })[0];
  };

  test("are well where each secret is a key", async () => {
    expect(await judge({ A: key, B: key })).toMatchObject({ status: "ok", why: "2 of 2" });
  });

  test("are warned of while the circuit of one is open", async () => {
    const { world } = createHarness();
    const webhooks = [{ url: "https://a.example/token" }, { url: "https://b.example/token" }];
    expect(await failingWebhooks(world, webhooks)).toEqual([]);
    const circuit = { failures: 7, since: 0, nextAt: 9, recoveredAt: 0, why: "it answered 503" };
    const lease = { name: queueTo(world, webhooks[1]?.url ?? ""), owner: "one", until: 1, now: 1 };
    await world.leases.take({ ...lease, cursor: JSON.stringify(circuit) });
    const failing = await failingWebhooks(world, webhooks);
    const seen = {
      node: "v24.9.0",
      agents: [],
      broken: [],
      secrets: [],
      webhooks: { count: 2, unsigned: [], failing, removed: [] },
    };
    const [judged] = judgeAll([WEBHOOK_CHECK], { seen, production: false });
    expect(judged).toMatchObject({
      status: "warn",
      why: expect.stringMatching(/^https:\/\/b\.example refused the last 7/),
    });
    expect(judged?.why).toContain("since 1970-01-01T00:00:00.000Z: it answered 503");
    // What was given up is not sent by itself.
    expect(judged?.mend).toContain("npx cairn webhooks list shows what was given up");
  });

  test("fail where a secret is missing or is no key, and the path of an endpoint is not shown", async () => {
    const judged = await judge({ A: "no key" });
    expect(judged).toMatchObject({ status: "fail", mend: expect.stringContaining("whsec_") });
    expect(judged?.why).toMatch(
      /to https:\/\/a\.example: the secret A is no key .+https:\/\/b\.example: the secret B.+not set/,
    );
    expect(JSON.stringify(judged)).not.toContain("token");
  });
});

describe("agents", () => {
  const judge = (change: Partial<AgentsCase>, production = false) =>
    judgeAll([...AGENT_CHECKS, ...AGENT_RULES], {
      seen: { node: "v24.9.0", agents: [agentOf({})], broken: [], secrets: [], ...change },
      production,
    });
  const bounded = { budget: { tokens: 5 }, done: [{ name: "x", holds: () => true }] };
  const send = (approval: "always" | "never") =>
    tool({ effect: "unsafe", input: z.object({}), run: () => null, approval });

  const secret = (is: SecretSeen["is"]): SecretSeen => ({ name: "TOKEN", agent: "a", is, why: "here", mend: "set it" });

  test.each<readonly [string, CheckStatus, RegExp, Partial<AgentsCase>]>([
    ["node", "ok", /v24/, {}],
    ["node", "fail", /v22/, { node: "v22.1.0" }],
    ["agents", "ok", /a 1/, {}],
    ["agents", "warn", /there is no agent/, { agents: [] }],
    ["agents", "fail", /no such file/, { broken: ["no such file"] }],
    ["agents", "fail", /never be started/, { agents: [{ ...agentOf({}), unfit: "it could never be started" }] }],
    ["agents-secrets", "ok", /no agent declares/, {}],
    ["agents-secrets", "ok", /^TOKEN$/, { secrets: [secret("there")] }],
    ["agents-secrets", "fail", /not set: TOKEN of a/, { secrets: [secret("there"), secret("absent")] }],
    ["agents-secrets", "warn", /too short/, { secrets: [secret("short")] }],
    ["agents-secrets", "unknown", /cannot be checked here/, { secrets: [secret("unread"), secret("short")] }],
    ["agents-budget", "warn", /^a: no budget/, {}],
    ["agents-budget", "ok", /1 of 1 agents/, { agents: [agentOf(bounded)] }],
    [
      "agents-budget",
      "ok",
      /1 of 1 agents/,
      { agents: [agentOf({ budget: { usd: 1 }, price: { inUsd: 1, outUsd: 1 } })] },
    ],
    ["agents-budget", "unknown", /needs agents/, { broken: ["no such file"] }],
    ["agents-done", "warn", /^a: no done check/, {}],
    ["agents-done", "ok", /1 of 1 agents/, { agents: [agentOf(bounded)] }],
    ["agents-unsafe", "ok", /no unsafe tool/, { agents: [agentOf({ tools: { send: send("always") } })] }],
    ["agents-unsafe", "warn", /send of a/, { agents: [agentOf({ tools: { send: send("never") } })] }],
  ])("%s: %s %s", (id, status, says, change) => {
    expect(found(judge(change), id)).toMatchObject({ status, why: expect.stringMatching(says) });
  });

  test("fail without a budget in production, and do not fail without a check of done", () => {
    const judged = judge({}, true);
    expect(found(judged, "agents-budget")?.status).toBe("fail");
    expect(found(judged, "agents-done")?.status).toBe("warn");
  });
});

describe("the ten points of production", () => {
  const judgedAs = (id: string, verdict: typeof ok) => ({ id, says: "", ...verdict("seen") });

  test("are ten, and reference existing files and checks", () => {
    expect(POINTS).toHaveLength(10);
    const checks = [...awsChecks({ production: true }), ...LOCAL_CHECKS, ...AGENT_CHECKS, ...AGENT_RULES];
    const ids = new Set(checks.map(({ id }) => id));
    expect(POINTS.flatMap(({ restsOn }) => restsOn).filter((id) => !ids.has(id))).toEqual([]);
    const root = join(import.meta.dirname, "..", "..");
    const files = POINTS.flatMap(({ shownBy }) => shownBy);
    expect(files.filter((file) => !existsSync(join(root, file)))).toEqual([]);
    expect(POINTS.filter(({ shownBy }) => shownBy.length === 0)).toEqual([]);
  });

  test("have the status of their worst check", () => {
    const judged = [judgedAs("table-ttl", ok), judgedAs("alarms", (why) => warn(why, "mend")), judgedAs("secrets", ok)];
    const points = judgePoints(judged);
    expect(found(points, "production-status")).toMatchObject({
      status: "ok",
      why: expect.stringContaining("table-ttl"),
    });
    expect(found(points, "production-unknown")).toMatchObject({
      status: "warn",
      why: expect.stringContaining("alarms"),
    });
    expect(found(points, "production-order")).toMatchObject({ status: "ok", mend: null });
  });

  test("are not ok when a check was not run, and say what to type", () => {
    expect(found(judgePoints([]), "production-killed")).toMatchObject({
      status: "unknown",
      mend: expect.stringContaining("npx cairn chaos AGENT"),
    });
  });
});
