/** An execution with a damaged row counts as ended and does not block others; its run is handed over. */
import { statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { sqliteChain } from "../../../src/adapters/local/chain.ts";
import type { Store } from "../../../src/adapters/local/store/database.ts";
import { executionsOf } from "../../../src/adapters/local/store/executions.ts";
import type { Executions } from "../../../src/ports/driven-store.ts";
import { applyAnswer, applyFailure } from "../../../src/protocol/execution.ts";
import { executionName } from "../../../src/protocol/ids.ts";
import { runTask } from "../../../src/maintenance/chain-tasks.ts";
import { attemptBeat, createLocalHarness, beginRun, runnerOf } from "../../support/harness/drive.ts";
import { scriptedAgent } from "../../support/harness/harness.ts";
import { MissingEvent } from "../../support/gate/safety.ts";
import { NOW, open, temporaryStore } from "../../process/fixtures/store.ts";

const LIMITS = { rescueMs: 60_000, entryAttemptsMax: 5, backoffMsMax: 300_000 };
const payloadOf = (letter: string) => ({ run: `local-${letter}`, born: "born", chain: 1, epoch: 0, agent: "clerk" });

function damage(store: Store, name: string, payload: string): void {
  store.rows.prepare("UPDATE executions SET payload = ? WHERE name = ?").run(payload, name);
}

/** Two executions; the test damages the older one, which would run first. */
function two(): { readonly store: Store; readonly executions: Executions } {
  const store = temporaryStore();
  const executions = executionsOf(store);
  for (const [index, letter] of ["a", "b"].entries())
    executions.start({ name: letter, payload: payloadOf(letter), now: NOW + index });
  return { store, executions };
}

/** The runs of the executions that a driver starts, one after the other. It looks more often than there are executions. */
function leaving(executions: Executions): readonly string[] {
  const names: string[] = [];
  for (let look = 0; look < 9; look += 1) {
    const name = executions.ready(NOW + 9, 1)[0]?.name;
    const execution = name === undefined ? null : executions.begin(name, NOW + 9);
    if (execution !== null) names.push(execution.payload.run);
  }
  return names;
}

test.each(["", "{", "null", "7", "{}", '{"run":"local-a","born":"born","chain":"1","epoch":0}'])(
  "skips an execution whose payload is %j, and its name stays used",
  async (payload) => {
    const { store, executions } = two();
    damage(store, "a", payload);
    expect(leaving(executions)).toEqual(["local-b"]);
    const clock = { now: () => NOW + 9, earliest: () => NOW + 9, after: () => () => undefined };
    expect(await sqliteChain(store, clock).start("a", payloadOf("a"))).toEqual({ kind: "exists", running: false });
  },
);

test("an execution that runs or pauses when its supervisor dies does not block others", () => {
  const { store, executions } = two();
  for (const name of ["a", "b"]) executions.begin(name, NOW + 9);
  damage(store, "a", "{");
  const after = executionsOf(open(store.dir));
  after.recover({ now: NOW + 9, limits: LIMITS });
  expect(leaving(after)).toEqual(["local-b"]);
});

test("an execution that pauses after failures starts at once under a new supervisor; one that waits does not", () => {
  const { executions } = two();
  const later = { now: NOW + 9, limits: LIMITS, atOnce: false, isDeath: false };
  for (let tries = 0; tries < 4; tries += 1) {
    const out = executions.begin("a", NOW + tries * 300_000);
    if (out !== null) executions.settle(out, (it) => applyFailure(it, { ...later, now: NOW + tries * 300_000 }));
  }
  const waiting = executions.begin("b", NOW + 9);
  if (waiting !== null) executions.settle(waiting, (it) => ({ ...it, stage: "waiting", readyAt: NOW + 3_600_000 }));
  const now = NOW + 3 * 300_000 + 1;
  expect(executions.ready(now, 1)[0]?.name ?? null).toBeNull();
  executions.recover({ now, limits: LIMITS });
  expect(executions.begin("b", now)).toBeNull();
  expect(executions.begin("a", now)).toMatchObject({ stage: "trying", retry: 4_000 });
});

test("the end of a supervisor is no failure of the attempts that were out, unless the one before failed too", () => {
  const { executions } = two();
  const now = NOW + 9;
  const failures = () => executions.ready(now, 9).map((each) => each.failures);
  const begin = () => ["a", "b"].map((name) => executions.begin(name, now));
  begin();
  executions.recover({ now, limits: LIMITS });
  expect(failures()).toEqual([0, 0]);
  const [out] = begin();
  const killed = { now, limits: LIMITS, atOnce: true, isDeath: true, cause: "SIGKILL" };
  if (out) executions.settle(out, (it) => applyFailure(it, killed));
  executions.recover({ now, limits: LIMITS });
  expect(failures()).toEqual([2, 1]);
});

test("the reply of its attempt changes nothing, and its token wakes no execution", () => {
  const { store, executions } = two();
  const attempted = executions.begin("a", NOW + 9);
  if (attempted === null) throw new Error("it is not ready");
  damage(store, "a", "{");
  store.rows.exec("UPDATE executions SET token = 'token' WHERE name = 'a'");
  expect(executions.wake("token", NOW + 9)).toBe(false);
  expect(executions.settle(attempted, (found) => found)).toBeNull();
  expect(leaving(executions)).toEqual(["local-b"]);
});

test("the sweeper hands its run to the next execution", async () => {
  const { dir, world, clock } = createLocalHarness({ overdueMs: 1 });
  const agent = scriptedAgent({});
  const { run, born } = await beginRun(world, agent, {});
  const store = open(dir, false);
  damage(store, executionName(run, born, 1), "{");
  expect(executionsOf(store).ready(clock.now(), 1)).toHaveLength(1);
  expect(executionsOf(store).begin(executionName(run, born, 1), clock.now())).toBeNull();
  const sweep = () => runTask(runnerOf(world, agent))({ kind: "sweep" }, invocation());
  const invocation = () => ({ deadline: clock.now() + 3_000, drain: new AbortController().signal });
  clock.moveTo(clock.now() + 2);
  await sweep();
  const row = await world.table.read(run, clock.now());
  expect(row?.chain).toBe(2);
  expect(executionsOf(store).ready(clock.now(), 1)[0]?.name).toBe(executionName(run, born, 2));
  expect(
    await attemptBeat(runnerOf(world, agent), { run, born, chain: 2, epoch: row?.epoch ?? 0, agent: agent.name }),
  ).toMatchObject({
    reply: { route: "beat" },
  });
});

test("a process goes on only with the attempt that is out", () => {
  const { executions } = two();
  const reply = { ...payloadOf("a"), epoch: 1, route: "beat", seconds: 1 } as const;
  expect(executions.goOn({ execution: "a", attempt: 0, reply })).toBeNull();
  const begun = executions.begin("a", NOW + 9);
  expect(executions.goOn({ execution: "a", attempt: 2, reply })).toBeNull();
  expect(executions.goOn({ execution: "a", attempt: 1, reply })).toMatchObject({ payload: { epoch: 1 }, attempt: 1 });
  if (begun === null) throw new Error("it was ready");
  const settled = executions.settle(begun, (found) =>
    applyFailure(found, { now: NOW, limits: LIMITS, atOnce: false, isDeath: true }),
  );
  expect(settled).toMatchObject({ stage: "due", payload: { epoch: 1 }, died: 0 });
  expect(executions.goOn({ execution: "a", attempt: 1, reply })).toBeNull();
});

test("going on writes one page of the log, and none of an index", () => {
  const { store, executions } = two();
  executions.begin("a", NOW + 9);
  const logBytes = (): number => statSync(join(store.dir, "cairn.sqlite-wal")).size;
  const before = logBytes();
  const reply = { ...payloadOf("a"), epoch: 1, route: "beat", seconds: 1 } as const;
  expect(executions.goOn({ execution: "a", attempt: 1, reply })).not.toBeNull();
  const frameBytes = 24 + 1_024;
  expect(logBytes() - before).toBe(frameBytes);
});

test("shares the places among tenants: 150 runs of one delay no run of another that comes later", () => {
  const executions = executionsOf(temporaryStore());
  const start = (tenant: string, index: number): string => {
    const run = `${tenant}-${String(index).padStart(26, "a")}`;
    const name = executionName(run, "bornbornbo", 1);
    executions.start({ name, payload: { ...payloadOf(""), run }, now: NOW + index });
    return name;
  };
  for (let index = 0; index < 150; index += 1) start("acme-inc", index);
  const other = start("beta", 150);
  const tenantsIn = (max: number, shares = {}) =>
    executions.ready(NOW + 200, max, [], shares).map(({ tenant }) => tenant);
  expect(tenantsIn(4)).toEqual(["acme-inc", "beta", "acme-inc", "acme-inc"]);
  // Four places are taken: the next one is for the tenant without any.
  for (const { name, tenant } of executions.ready(NOW + 200, 6))
    if (tenant === "acme-inc") executions.begin(name, NOW + 200);
  expect(executions.ready(NOW + 200, 1)).toMatchObject([{ name: other, tenant: "beta" }]);
  expect(tenantsIn(4, { "acme-inc": { concurrency: 6 } })).toEqual(["beta", "acme-inc"]);
});

/** Starts executions of tenants, each a millisecond later than the one before. */
function tenantsWaiting() {
  const executions = executionsOf(temporaryStore());
  let count = 0;
  const start = (tenant: string, agent = "clerk"): string => {
    count += 1;
    const run = `${tenant}-${String(count).padStart(26, "a")}`;
    const name = executionName(run, "bornbornbo", 1);
    executions.start({ name, payload: { ...payloadOf(""), run, agent }, now: NOW + count });
    return name;
  };
  return { executions, start };
}

const BUSY = Array.from({ length: 70 }, (_, index) => `busy${index}`);

test("many tenants at their caps hide no tenant that began to wait later", () => {
  const { executions, start } = tenantsWaiting();
  for (const tenant of BUSY) {
    executions.begin(start(tenant), NOW + 1_000);
    start(tenant);
  }
  const late = start("late");
  const shares = Object.fromEntries(BUSY.map((tenant) => [tenant, { concurrency: 1 }]));
  expect(executions.ready(NOW + 1_000, 8, [], shares)).toMatchObject([{ name: late, tenant: "late" }]);
});

test.each([
  ["32 beats of it that wait", 1, 32],
  ["the beats of 70 tenants at their caps", 70, 1],
])("a run of a tenant at its cap that has to park is not hidden behind %s", (_, tenants, beats) => {
  const { executions, start } = tenantsWaiting();
  const full = BUSY.slice(0, tenants);
  for (const tenant of full) executions.begin(start(tenant), NOW + 1_000);
  for (const tenant of full) for (let index = 0; index < beats; index += 1) start(tenant);
  const last = full.at(-1) ?? "";
  const parking = start(last);
  const begun = executions.begin(parking, NOW + 1_000);
  if (begun === null) throw new MissingEvent("the attempt did not begin");
  const reply = { ...begun.payload, route: "park", seconds: 60 } as const;
  const answer = { kind: "beat", reply } as const;
  executions.settle(begun, (found) => applyAnswer(found, { answer, now: NOW + 1_000 }));
  const shares = Object.fromEntries(full.map((tenant) => [tenant, { concurrency: 1 }]));
  expect(executions.ready(NOW + 1_000, 32, [], shares)).toMatchObject([{ name: parking, isBeat: false }]);
});

test("many tenants whose runs wait for a place of their agent hide no run of another agent", () => {
  const { executions, start } = tenantsWaiting();
  // Each of them has waited for longest, for an agent that is full, and now waits for another one too.
  for (const tenant of BUSY) start(tenant, "full");
  const late = start("late");
  for (const tenant of BUSY) start(tenant);
  expect(executions.ready(NOW + 1_000, 8, ["full"])[0]).toMatchObject({ name: late, tenant: "late" });
});
