/** What a run leaves in the metrics of a deployment: facts, each counted once, and nothing that is not bounded. */
import { CRACK_NAMES } from "../../../src/core/crack.ts";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ALARMS, METRICS, countsOf, measuresOf } from "../../../src/adapters/aws/metrics.ts";
import { OutcomeUnknown } from "../../../src/index.ts";
import type { TelemetryRecord, World } from "../../../src/ports/world.ts";
import { sendRequest } from "../../../src/engine/loop/request.ts";
import { withCalls } from "../../../src/testing/decisions.ts";
import { attemptBeat, beginRun, drive, runnerOf } from "../../support/harness/drive.ts";
import { filesBelow } from "../../support/rules/source.ts";
import {
  scriptedAgent,
  callsThenFinal,
  createHarness,
  createSupervisedHarness,
} from "../../support/harness/harness.ts";

const ROOT = join(import.meta.dirname, "..", "..", "..");

/** That world, and how often each metric counted in it. */
function counted<W extends World>(world: W): { readonly world: W; readonly counts: Record<string, number> } {
  const counts: Record<string, number> = {};
  const record = (each: TelemetryRecord): void => {
    for (const name of countsOf(each)) counts[name] = (counts[name] ?? 0) + 1;
    world.telemetry.record(each);
  };
  return { world: { ...world, telemetry: { record } }, counts };
}

test("a run that is done is its beats and one end", async () => {
  const harness = createHarness();
  const { world, counts } = counted(harness.world);
  const agent = scriptedAgent({ reply: callsThenFinal(2) });
  expect(await drive(runnerOf(world, agent), await beginRun(world, agent, {}))).toMatchObject({ route: "done" });
  expect(counts).toEqual({ Beats: 3, RunsCompleted: 1 });
});

test("a claim over an owner is a takeover", async () => {
  const harness = createHarness();
  const { world, counts } = counted(harness.world);
  const agent = scriptedAgent({ reply: callsThenFinal(1) });
  const payload = await beginRun(world, agent, {});
  const dying: World = {
    ...world,
    table: withCalls(world.table, { commit: () => Promise.reject(new Error("killed")) }),
  };
  await expect(drive(runnerOf(dying, agent), payload)).rejects.toThrow("killed");
  await attemptBeat(runnerOf(world, agent), payload, 1);
  expect(counts).toMatchObject({ Beats: 2, Takeovers: 1 });
});

test("a run that asks whether a call happened is blocked once, however often it is looked at", async () => {
  const harness = createHarness();
  const { world, counts } = counted(harness.world);
  const run = () => Promise.reject(new OutcomeUnknown("no answer"));
  const agent = scriptedAgent({ effect: "unsafe", run, reply: callsThenFinal(1) });
  const payload = await beginRun(world, agent, {});
  const parked = await drive(runnerOf(world, agent), payload);
  expect(parked.route).toBe("park");
  expect(await drive(runnerOf(world, agent), parked)).toMatchObject({ route: "park" });
  expect(counts).toEqual({ Beats: 2, RunsBlocked: 1 });
});

test("a run that waits at a gate, and is cancelled there", async () => {
  const harness = createHarness();
  const { world, counts } = counted(harness.world);
  const agent = scriptedAgent({ reply: callsThenFinal(1), approval: "always" });
  const payload = await beginRun(world, agent, {});
  const parked = await drive(runnerOf(world, agent), payload);
  expect(counts).toEqual({ Beats: 1, RunsWaiting: 1 });
  await sendRequest(world, { run: payload.run, want: "cancel" });
  await drive(runnerOf(world, agent), parked);
  expect(counts).toMatchObject({ RunsWaiting: 1, RunsCancelled: 1 });
});

test("a run that the sweeper ends is a failed one, by its code", async () => {
  const harness = createSupervisedHarness();
  const { world, counts } = counted(harness.world);
  const { run } = await beginRun(world, scriptedAgent({}), {});
  harness.clock.moveTo(harness.row(run).deadline + world.limits.idleRunMs / 10 - 1);
  await harness.sweep(world);
  expect(counts).toEqual({ Sweeps: 1 });
  harness.passTime(60_001);
  await harness.sweep(world);
  expect(counts).toEqual({ Sweeps: 2, RunsFailed: 1, Expired: 1 });
});

/** What was measured in that world, by metric and in order. */
function measured<W extends World>(world: W): { readonly world: W; readonly values: Record<string, number[]> } {
  const values: Record<string, number[]> = {};
  const record = (each: TelemetryRecord): void => {
    for (const [name, value] of measuresOf(each)) values[name] = [...(values[name] ?? []), value];
    world.telemetry.record(each);
  };
  return { world: { ...world, telemetry: { record } }, values };
}

test("a sweep says how long the oldest run has waited for its first beat, and for an approval", async () => {
  const harness = createSupervisedHarness();
  const { world, values } = measured(harness.world);
  await harness.sweep(world);
  expect(values).toEqual({});
  await beginRun(world, scriptedAgent({}), {});
  harness.passTime(20_000);
  await beginRun(world, scriptedAgent({}), {});
  const asking = scriptedAgent({ reply: callsThenFinal(1), approval: "always" });
  await drive(runnerOf(world, asking), await beginRun(world, asking, {}));
  harness.passTime(60_000);
  await harness.sweep(world);
  expect(values["OldestQueuedSeconds"]).toEqual([80]);
  expect(values["OldestGateSeconds"]).toEqual([60]);
});

test("what models are paid is measured once, at the commit that says so", async () => {
  const harness = createHarness();
  const { world, values } = measured(harness.world);
  const agent = { ...scriptedAgent({ reply: callsThenFinal(2) }), price: { inUsd: 1, outUsd: 1 } };
  const { run } = await beginRun(world, agent, {});
  const { born, chain, epoch } = harness.row(run);
  await drive(runnerOf(world, agent), { run, born, chain, epoch, agent: agent.name });
  const sum = (values["SpentMicroUsd"] ?? []).reduce((all, each) => all + each, 0);
  expect(sum).toBeGreaterThan(0);
  expect(sum).toBe(harness.row(run).spent.microUsd);
});

test("a sweep that is another one's turn is none", async () => {
  const harness = createSupervisedHarness();
  const { world, counts } = counted(harness.world);
  const now = harness.clock.now();
  await world.leases.take({ name: "sweep", owner: "another", until: now + 10_000, cursor: null, now });
  await harness.sweep(world);
  expect(counts).toEqual({});
  harness.passTime();
  await harness.sweep(world);
  expect(counts).toEqual({ Sweeps: 1 });
});

test.each([
  ["completed", null, ["RunsCompleted"]],
  ["failed", "ModelFailed", ["RunsFailed"]],
  ["failed", "CrashLoop", ["RunsFailed", "CrashLoop"]],
  ["failed", "Abandoned", ["RunsFailed", "Abandoned"]],
  ["running", null, []],
  ["paused", null, []],
])("the change of a status to %s (%s) counts in %j", (to, code, names) => {
  const record = { at: 1, run: "lane-x", level: "trace", what: "StatusChanged", detail: { to, code } } as const;
  expect(countsOf(record)).toEqual(names);
});

test("a run that waits for its children, an event or a time does not count as one that waits for a human", () => {
  const changed = (phase: string) =>
    ({ at: 1, run: "lane-x", level: "trace", what: "StatusChanged", detail: { to: "waiting", phase } }) as const;
  expect(countsOf(changed("AwaitingChildren"))).toEqual([]);
  expect(countsOf(changed("ExecutingTools"))).toEqual([]);
  expect(countsOf(changed("AwaitingApproval"))).toEqual(["RunsWaiting"]);
});

test("an alarm that nobody knows is counted as another one", () => {
  const alarm = (what: string) => countsOf({ at: 1, run: "", level: "alarm", what, detail: {} });
  expect(alarm("Unreadable")).toEqual(["Unreadable"]);
  expect(alarm("constructor")).toEqual(["OtherAlarm"]);
  expect(alarm("Beats")).toEqual(["OtherAlarm"]);
});

test("each alarm that is raised has a metric of its name, and each of those is raised", () => {
  const sources = filesBelow(ROOT).filter((path) =>
    /^(src\/(history|engine|features|operations|maintenance)|functions)\/.*\.ts$/.test(path),
  );
  const raised = sources.flatMap((path): string[] => {
    const text = readFileSync(join(ROOT, path), "utf8").replaceAll(/level: "trace", what: "\w+"/g, "");
    const isTold = path === "src/engine/context/telemetry-events.ts";
    return isTold ? [] : [...text.matchAll(/\bwhat: "([A-Z]\w+)"/g)].map(([, what]) => String(what));
  });
  const { OtherAlarm: _, ...named } = ALARMS;
  expect([...new Set(raised)].toSorted()).toEqual(Object.keys(named).toSorted());
});

test("every metric counts something", () => {
  const facts = [
    { what: "RunClaimed", detail: { overtook: true } },
    { what: "Swept", detail: {} },
    ...["waiting", "blocked", "completed", "cancelled"].map((to) => ({ what: "StatusChanged", detail: { to } })),
    ...CRACK_NAMES.map((crack) => ({ what: "CrackSeen", detail: { crack } })),
    ...["CrashLoop", "Abandoned", "Expired", "Oscillation", "NotDone"].map((code) => ({
      what: "StatusChanged",
      detail: { to: "failed", code },
    })),
  ].map((fact) => ({ at: 1, run: "", level: "trace", ...fact }) as TelemetryRecord);
  const alarms = [...Object.keys(ALARMS)].map(
    (what) => ({ at: 1, run: "", level: "alarm", what, detail: {} }) as const,
  );
  const swept = { oldestQueuedMs: 1, oldestGateMs: 1 };
  const measured = [
    { what: "Swept", detail: swept },
    { what: "Spent", detail: { microUsd: 1 } },
  ].flatMap((fact) => measuresOf({ at: 1, run: "", level: "trace", ...fact }));
  const counted = [...facts, ...alarms].flatMap(countsOf);
  expect(new Set([...counted, ...measured.map(([name]) => name)])).toEqual(new Set(Object.keys(METRICS)));
});
