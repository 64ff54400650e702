/** The audit log: no change without a record, and no record with a secret or content. */
import { describe, expect, test } from "vitest";
import type { AuditEntry, AuditPage } from "../../src/operations/access/audit.ts";
import { SCOPES } from "../../src/operations/operation.ts";
import { performAny, performOperation } from "../../src/operations/perform.ts";
import { startRun } from "../../src/operations/start.ts";
import { OPERATIONS, ROWS } from "../../src/operations/table.ts";
import type { StoredRecord } from "../../src/ports/records.ts";
import { StoreUnreachable, type World } from "../../src/ports/world.ts";
import { createApiHarness } from "../support/harness/api-harness.ts";
import { createHarness, scriptedAgent } from "../support/harness/harness.ts";
import { ALL_ROUTES } from "../support/harness/plain-routes.ts";
import { wrapPorts } from "../support/harness/ports.ts";

const CALLER = { tenant: "local", actor: "ann", scopes: SCOPES, token: "0123456789abcdef", address: "192.0.2.7" };

const context = (world: World, change: { readonly by?: string; readonly tenant?: string } = {}) => ({
  ...{ world, by: "ann", tenant: "local", agentOf: async () => null, ...change },
});

async function logOf(
  world: World,
  filter: { readonly run?: string; readonly actor?: string; readonly since?: number } = {},
) {
  const page = await performOperation(OPERATIONS.auditLog, context(world), filter);
  if (page.kind === "missing") throw new Error("no log");
  return page.entries;
}

async function begun() {
  const harness = createHarness();
  const agent = scriptedAgent({});
  const started = await startRun(harness.world, { agent, input: {}, tenant: "local", idempotencyKey: null });
  if (started.kind !== "started") throw new Error(started.kind);
  return { ...harness, agent, run: started.row.run };
}

describe.each(ALL_ROUTES.map((route) => [route.name, route] as const))("the operation %s over HTTP", (name, route) => {
  test("leaves one record with its actor, token and address if it changes something, and none if it reads", async () => {
    const harness = createApiHarness();
    const { body } = await harness.ask({ path: "/runs", json: { agent: "actor" } }, { caller: null });
    expect(body["code"]).toBe("Unauthenticated");
    expect(await logOf(harness.world)).toEqual([]);
    const started = await harness.ask({ path: "/runs", json: { agent: "actor" } });
    const run = String(started.body["run"]);
    const before = harness.world.clock.now() + 1;
    harness.clock.moveTo(before);
    const answered = await harness.ask(route.request(run), { caller: CALLER });
    const entries = await logOf(harness.world, { since: before });
    if (!ROWS[name as keyof typeof ROWS].writes) return expect(entries).toEqual([]);
    expect(entries).toHaveLength(1);
    const { actor, token, from, outcome, run: about, at } = entries[0] as AuditEntry;
    expect({ actor, token, from, at }).toEqual({ actor: "ann", token: CALLER.token, from: CALLER.address, at: before });
    const isOfRun = route.request(run).path.includes(run);
    expect(about).toBe(name === "start" ? String(answered.body["run"]) : isOfRun ? run : null);
    expect(outcome).toMatch(/^[a-zA-Z]+$/);
  });
});

describe("a process that dies", () => {
  test("between any two store calls leaves no change without a record", async () => {
    let isOver = false;
    let changes = 0;
    for (let call = 0; !isOver; call += 1) {
      const { world, run, ...harness } = await begun();
      let calls = 0;
      const mortal = wrapPorts(world, async ({ send }) => {
        if (calls === call) throw new Error("killed");
        calls += 1;
        return send();
      });
      isOver = await performOperation(OPERATIONS.pause, context(mortal), { run }).then(
        () => true,
        () => false,
      );
      const isPaused = { ...harness, world }.row(run).pause;
      const [entry] = await logOf(world, { run });
      if (isPaused) expect(entry).toMatchObject({ operation: "pause", actor: "ann", run });
      if (isPaused) changes += 1;
      expect(entry?.outcome ?? null).toBe(isOver ? "requested" : null);
    }
    // It also died after the change and before the outcome.
    expect(changes).toBeGreaterThanOrEqual(2);
  });

  test("or a store that refuses the record leaves the run as it was", async () => {
    const { world, run, ...harness } = await begun();
    const add = () => Promise.reject(new StoreUnreachable("away"));
    const away = { ...world, records: { ...world.records, add } };
    await expect(performOperation(OPERATIONS.pause, context(away), { run })).rejects.toThrow(StoreUnreachable);
    expect({ ...harness, world }.row(run).pause).toBe(false);
  });
});

test("an outcome that cannot be added is reported, and the caller gets it all the same", async () => {
  const { world, run } = await begun();
  const alarms: string[] = [];
  const replace = () => Promise.reject(new StoreUnreachable("away"));
  const telemetry = { record: ({ what }: { readonly what: string }) => void alarms.push(what) };
  const away = { ...world, telemetry, records: { ...world.records, replace } };
  expect(await performOperation(OPERATIONS.pause, context(away), { run })).toEqual({ kind: "requested" });
  expect(alarms).toEqual(["StoreUnavailable"]);
  expect(await logOf(world, { run })).toMatchObject([{ operation: "pause", outcome: null }]);
});

describe("a record", () => {
  test("has no content, and no secret that the reason holds", async () => {
    const { world, run } = await begun();
    const secret = `cairn_${"0".repeat(16)}_${"1".repeat(64)}`;
    await performOperation(OPERATIONS.send, context(world), { run, text: `the password is ${secret}` });
    await performOperation(OPERATIONS.redrive, context(world), { run, why: `because ${secret} ${"x".repeat(9_000)}` });
    const kept = JSON.stringify([...world.store.records]);
    expect(kept).not.toContain("password");
    expect(kept).not.toContain("1".repeat(64));
    const [redriven] = await logOf(world, { run });
    expect(redriven?.why).toMatch(/^because \[redacted cairn-token\] x+$/);
    expect(redriven?.why?.length).toBeLessThanOrEqual(500);
  });

  test.each(["pause", "resume", "upgrade", "cancel", "restart"] as const)("has the reason of %s", async (name) => {
    const { world, run } = await begun();
    await performAny(ROWS[name], context(world), { run, why: "the customer asked" });
    expect(await logOf(world, { run })).toMatchObject([{ why: "the customer asked" }]);
  });

  test("says which gate was decided how, by the name of the command", async () => {
    const { world, run } = await begun();
    const said = { run, gate: "c1-gate", as: "deny", note: "not today" } as const;
    const outcome = await performOperation(OPERATIONS.decide, context(world, { by: "bob" }), said);
    expect(await logOf(world, { actor: "bob" })).toMatchObject([
      { operation: "deny", details: { gate: "c1-gate", as: "deny" }, why: "not today", outcome: outcome.kind },
    ]);
  });

  test("outlives its run, and expires by its own retention", async () => {
    const { world, run, clock } = await begun();
    await performOperation(OPERATIONS.cancel, context(world), { run });
    world.store.rows.delete(run);
    expect(await logOf(world, { run })).toMatchObject([{ operation: "cancel", run }]);
    clock.moveTo(world.clock.now() + world.limits.auditMs + 1_000);
    expect(await logOf(world, { run })).toEqual([]);
    world.store.expire(world.clock.now());
    expect(world.store.records.size).toBe(0);
  });
});

describe("the log", () => {
  test("has what one process did within a millisecond in its order", async () => {
    const { world, run } = await begun();
    const events = Array.from({ length: 20 }, (_, index) => `e${index}`);
    for (const event of events)
      await performOperation(OPERATIONS.signal, context(world, { by: "ann" }), { run, event, id: event });
    const log = await logOf(world, { actor: "ann" });
    expect(new Set(log.map(({ at }) => at)).size).toBe(1);
    expect(log.map(({ details }) => details)).toMatchObject(events.toReversed().map((event) => ({ event })));
  });

  test("is read page by page, newest first, by actor and from a time on", async () => {
    const { world, run, clock } = await begun();
    const start = world.clock.now();
    for (let each = 0; each < 250; each += 1) {
      clock.moveTo(start + each);
      const by = each % 125 === 0 ? "bob" : "ann";
      await performOperation(OPERATIONS.signal, context(world, { by }), { run, event: `e${each}`, id: `i${each}` });
    }
    const seen: number[] = [];
    let after: string | null = null;
    do {
      const page: AuditPage | { readonly kind: "missing" } = await performOperation(
        OPERATIONS.auditLog,
        context(world),
        {
          after,
        },
      );
      if (page.kind === "missing") throw new Error("no log");
      expect(page.entries.length).toBeLessThanOrEqual(200);
      seen.push(...page.entries.map(({ at }) => at - start));
      after = page.next;
    } while (after !== null);
    expect(seen).toEqual(Array.from({ length: 250 }, (_, index) => 249 - index));
    expect((await logOf(world, { actor: "bob" })).map(({ at }) => at - start)).toEqual([125, 0]);
    expect((await logOf(world, { run, since: start + 247 })).map(({ at }) => at - start)).toEqual([249, 248, 247]);
  });

  test("has an entry for each damaged record, at its place, for every actor", async () => {
    const { world, run, clock } = await begun();
    const start = world.clock.now();
    const { records } = world.store;
    for (let each = 0; each < 3; each += 1) {
      clock.moveTo(start + each);
      await performOperation(OPERATIONS.signal, context(world), { run, event: `e${each}`, id: `i${each}` });
      const [key = "", { body: _, ...rest } = {} as StoredRecord] = [...records].at(-1) ?? [];
      if (each === 1) records.set(key, rest as StoredRecord);
    }
    const shown = { at: start + 1, run, tenant: "local", operation: "unknown", outcome: "unreadable" };
    for (const filter of [{}, { run }, { actor: "ann" }]) {
      const entries = await logOf(world, { ...filter, since: start });
      expect(entries).toMatchObject([{ actor: "ann" }, shown, { actor: "ann" }]);
    }
    expect(await logOf(world, { actor: "bob" })).toMatchObject([shown]);
    expect(await logOf(world, { since: start + 2 })).toHaveLength(1);
  });

  test("shows nothing of another tenant, and needs the scope admin", async () => {
    const harness = createApiHarness();
    const { body } = await harness.ask({ path: "/runs", json: { agent: "actor" } });
    const path = `/audit-log?run=${String(body["run"])}`;
    expect((await harness.ask({ path })).body).toMatchObject({ entries: [{ operation: "start", actor: "ann" }] });
    const eve = { caller: { tenant: "other", actor: "eve" } };
    expect((await harness.ask({ path }, eve)).body["code"]).toBe("RunUnknown");
    expect((await harness.ask({ path: "/audit-log?run=../x" })).body["code"]).toBe("RunUnknown");
    expect((await harness.ask({ path: "/audit-log" }, eve)).body).toMatchObject({ entries: [], next: null });
    const reader = {
      caller: { tenant: "local", actor: "ann", scopes: ["runs:read", "runs:write", "approve"] as const },
    };
    expect((await harness.ask({ path: "/audit-log" }, reader)).body["scope"]).toBe("admin");
  });
});
