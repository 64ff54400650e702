/** What a tenant may send, start and spend over HTTP. */
import { describe, expect, test } from "vitest";
import type { Agent } from "../../src/ports/agent.ts";
import type { StoredRecord } from "../../src/ports/records.ts";
import type { TenantLimits } from "../../src/sdk/access.ts";
import { ROWS } from "../../src/operations/table.ts";
import { type RequestContext, createApiHarness } from "../support/harness/api-harness.ts";

const BOB: RequestContext = { caller: { tenant: "other", actor: "bob" } };
const START = { path: "/runs", json: { agent: "actor" } };

const limited = (limits: Readonly<Record<string, TenantLimits>>) => createApiHarness({}, undefined, ROWS, { limits });

describe("requests", () => {
  test("beyond the rate of a tenant are refused by name until the next second, and another tenant is not", async () => {
    const harness = limited({ local: { requestsPerSecond: 3 } });
    const answers = await Promise.all(Array.from({ length: 5 }, () => harness.ask({ path: "/runs" })));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 429, 429]);
    const refused = answers.at(-1);
    expect({ code: refused?.body["code"], retryAfter: refused?.headers.get("retry-after") }).toEqual({
      code: "TooManyRequests",
      retryAfter: "1",
    });
    expect((await harness.ask({ path: "/runs" }, BOB)).status).toBe(200);
    harness.clock.moveTo(harness.clock.now() + 1_000);
    expect((await harness.ask({ path: "/runs" })).status).toBe(200);
  });

  test("that nothing limits cost no write", async () => {
    const harness = limited({ local: { requestsPerSecond: 3 } });
    await harness.ask({ path: "/runs" }, BOB);
    expect(harness.world.store.records.size).toBe(0);
  });

  test("of every tenant that is not named have the limits of *", async () => {
    const harness = limited({ "*": { requestsPerMinute: 1 }, other: {} });
    const ask = async (from?: RequestContext) => (await harness.ask({ path: "/runs" }, from)).status;
    expect([await ask(), await ask(), await ask(BOB), await ask(BOB)]).toEqual([200, 429, 200, 200]);
  });

  test("are counted anew if their count is damaged", async () => {
    const harness = limited({ local: { requestsPerMinute: 1 } });
    expect((await harness.ask({ path: "/runs" })).status).toBe(200);
    const { records } = harness.world.store;
    for (const [key, { body: _, ...rest }] of records) records.set(key, rest as StoredRecord);
    expect((await harness.ask({ path: "/runs" })).status).toBe(200);
    expect((await harness.ask({ path: "/runs" })).status).toBe(429);
  });

  test("are counted before anything is read or started", async () => {
    const harness = limited({ local: { requestsPerMinute: 1 } });
    await harness.ask({ path: "/agents" });
    expect((await harness.ask(START)).status).toBe(429);
    expect(harness.named).toEqual([]);
    expect(harness.world.store.rows.size).toBe(0);
  });
});

describe("starts", () => {
  test("beyond the limit of a day are refused by name, and a repeated key gives its run", async () => {
    const harness = limited({ local: { day: { runs: 2 } } });
    const start = (key: string) => harness.ask({ ...START, headers: { "Idempotency-Key": key } });
    expect([(await start("a")).status, (await start("b")).status]).toEqual([202, 202]);
    const refused = await start("c");
    expect({ status: refused.status, code: refused.body["code"] }).toEqual({ status: 429, code: "TenantBudgetSpent" });
    const seconds = Number(refused.headers.get("retry-after"));
    expect(seconds).toBeGreaterThan(0);
    expect(seconds).toBeLessThanOrEqual(24 * 3_600);
    expect((await start("a")).status).toBe(200);
    expect((await harness.ask(START, BOB)).status).toBe(202);
    harness.clock.moveTo(harness.clock.now() + seconds * 1_000);
    expect((await start("c")).status).toBe(202);
  });

  test("include forks", async () => {
    const harness = limited({ local: { month: { runs: 1 } } });
    const { body } = await harness.ask(START);
    const forked = await harness.ask({ path: `/runs/${String(body["run"])}/fork`, json: { at: 0 } });
    expect({ status: forked.status, code: forked.body["code"] }).toEqual({ status: 429, code: "TenantBudgetSpent" });
    const outcome = { kind: "limitReached", why: expect.stringContaining("month"), resetsAt: expect.any(Number) };
    expect(forked.body["outcome"]).toEqual(outcome);
    expect(forked.headers.get("retry-after")).not.toBeNull();
    expect(harness.world.store.rows.size).toBe(1);
  });

  test("of an agent without a money budget are refused where money is limited", async () => {
    const harness = limited({ local: { day: { usd: 1 } } });
    const { status, body } = await harness.ask(START);
    expect({ status, code: body["code"] }).toEqual({ status: 409, code: "BudgetMissing" });
    const agent = (await harness.agentOf("actor")) as Agent;
    Object.assign(agent.budget, { microUsd: 600_000 });
    expect((await harness.ask(START)).status).toBe(202);
    expect((await harness.ask(START)).body["code"]).toBe("TenantBudgetSpent");
  });
});
