/** `cairn redrive`: a run that failed for a reason of infrastructure goes on from its last checkpoint. */
import { stripVTControlCharacters } from "node:util";
import { describe, expect, test } from "vitest";
import type { Agent } from "../../../src/ports/agent.ts";
import { plain } from "../../../src/render/paint.ts";
import { UNTOLD } from "../../../src/render/story.ts";
import { renderEvents } from "../../../src/render/timeline.ts";
import { readArchive } from "../../../src/codec/archive.ts";
import { TIMES } from "../../../src/protocol/limits.ts";
import { decide } from "../../../src/operations/decide.ts";
import { archiveKey } from "../../../src/history/object-keys.ts";
import { ledger, show, timeline } from "../../../src/operations/views.ts";
import { purge } from "../../../src/operations/purge.ts";
import { reconcile } from "../../../src/operations/reconcile.ts";
import { redrive } from "../../../src/operations/redrive.ts";
import { sendRequest } from "../../../src/engine/loop/request.ts";
import { verify } from "../../../src/features/seals/verify.ts";
import { AT } from "../../support/states/states-and-events.ts";
import { type CrashLoopRun, createCrashLoopRun } from "../../support/runs/crash-loop-run.ts";
import { replyWithCalls, sideEffectAgent } from "../../support/agents/side-effect-agent.ts";
import { beginRun } from "../../support/harness/drive.ts";
import {
  FINAL_REPLY,
  type Harness,
  scriptedAgent,
  callsThenFinal,
  createChainHarness,
  MS,
} from "../../support/harness/harness.ts";
import {
  beforeCall,
  dieInTool,
  crashAfterCall,
  startKeyedRun,
  sweep,
  withTakeovers,
} from "../../support/harness/chain-steps.ts";

const ADA = { by: "ada", why: "more memory" } as const;
const refused = (): Error => Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });

const again = (it: CrashLoopRun) => redrive(it.harness.world, { run: it.run, ...ADA });
const shown = (it: CrashLoopRun) => show(it.harness.world, it.run);

describe("a run whose processes died too often", () => {
  test("continues with the same key and the same budget, and completes", async () => {
    const it = await createCrashLoopRun();
    const before = await shown(it);
    expect({ status: before?.status, code: before?.failure?.code, called: it.called }).toEqual({
      status: "failed",
      code: "CrashLoop",
      called: [],
    });
    expect(await again(it)).toMatchObject({ kind: "redriven", failure: { code: "CrashLoop" }, from: "ExecutingTools" });
    await it.harness.runForTime(it.agent, MS.hour);
    const after = await shown(it);
    expect({ status: after?.status, failure: after?.failure }).toEqual({ status: "completed", failure: null });
    expect(after?.beats).toBe((before?.beats ?? 0) + 1);
    expect(it.called).toEqual([it.key]);
    expect(await ledger(it.harness.world, it.run)).toMatchObject([{ call: "c1", key: it.key, status: "succeeded" }]);
    expect((await verify(it.harness.world, { run: it.run }))?.findings).toEqual([]);
  });

  test("records the operator and the reason in its timeline", async () => {
    const it = await createCrashLoopRun();
    await again(it);
    await it.harness.runForTime(it.agent, MS.hour);
    const events = (await timeline(it.harness.world, { run: it.run, after: 0 })) ?? [];
    expect(events.find(({ kind }) => kind === "RunRedriven")).toMatchObject({ ...ADA, failure: { code: "CrashLoop" } });
    const lines = renderEvents(UNTOLD, events, { paint: plain, width: 100 }).lines.map(stripVTControlCharacters);
    expect(lines.join("\n")).toContain("↻ redriven by ada after CrashLoop: more memory");
  });

  test("is shown as continuing from the moment of the redrive, and is healthy", async () => {
    const it = await createCrashLoopRun();
    await again(it);
    const label = "redriven, waiting for its next beat";
    expect(await shown(it)).toMatchObject({
      status: "running",
      label,
      failure: null,
      keptUntil: null,
      inProgress: true,
    });
    expect((await verify(it.harness.world, { run: it.run }))?.findings).toEqual([]);
  });

  test("is judged anew: it may die as often as before, fail again, and be redriven again", async () => {
    const it = await createCrashLoopRun();
    await again(it);
    await dieInTool(it.harness, it.agent);
    await dieInTool(it.harness, it.agent);
    await it.harness.runForTime(it.agent, MS.minute);
    expect(await shown(it)).toMatchObject({ status: "failed", failure: { code: "CrashLoop" } });
    expect(await again(it)).toMatchObject({ kind: "redriven" });
    await it.harness.runForTime(it.agent, MS.hour);
    expect({ status: it.row().status, called: it.called }).toEqual({ status: "completed", called: [it.key] });
  });

  test("asks an operator about an unsafe call and does not repeat it", async () => {
    const it = await createCrashLoopRun({ effect: "unsafe", deaths: 1 });
    await again(it);
    await it.harness.runForTime(it.agent, MS.hour);
    expect(await shown(it)).toMatchObject({ status: "blocked", unknown: [{ call: "c1", key: it.key }] });
    const said = { run: it.run, call: "c1", as: "succeeded", result: "acted", by: "ada", note: null } as const;
    expect(await reconcile(it.harness.world, said)).toEqual({ kind: "accepted" });
    await it.harness.runForTime(it.agent, MS.hour);
    expect({ status: it.row().status, called: it.called }).toEqual({ status: "completed", called: [] });
  });

  test("asks nothing about a call that its next invocation repeats", async () => {
    const it = await createCrashLoopRun();
    const said = { run: it.run, call: "c1", as: "failed", result: null, by: "bob", note: null } as const;
    // Of a run that has ended no answer is taken, also where somebody redrives it in the same moment.
    const slow = beforeCall(it.harness.world, "deliver", () => again(it));
    expect(await reconcile(slow, said)).toEqual({ kind: "late" });
    await again(it);
    expect(await shown(it)).toMatchObject({ unknown: [] });
    let isSent = false;
    const watched = beforeCall(it.harness.world, "deliver", async () => void (isSent = true));
    expect(await reconcile(watched, said)).toEqual({ kind: "stale", unknown: [] });
    expect(isSent).toBe(false);
    await it.harness.runForTime(it.agent, MS.hour);
    expect({ status: it.row().status, called: it.called }).toEqual({ status: "completed", called: [it.key] });
  });

  test("probes a probed call", async () => {
    const it = await createCrashLoopRun({
      effect: "probed",
      probe: () => ({ kind: "happened", result: "seen" }),
      deaths: 1,
    });
    await again(it);
    await it.harness.runForTime(it.agent, MS.hour);
    expect({ status: it.row().status, called: it.called }).toEqual({ status: "completed", called: [] });
  });

  test("stays paused when a pause was requested, and ends when a cancel was requested", async () => {
    const it = await createCrashLoopRun();
    await again(it);
    await sendRequest(it.harness.world, { run: it.run, want: "pause" });
    await it.harness.runForTime(it.agent, MS.hour);
    expect(it.row().status).toBe("paused");
    const other = await createCrashLoopRun();
    await again(other);
    await sendRequest(other.harness.world, { run: other.run, want: "cancel" });
    await other.harness.runForTime(other.agent, MS.hour);
    expect({ status: other.row().status, called: other.called }).toEqual({ status: "cancelled", called: [] });
  });

  test("has an archive for each of its ends; a purge removes both", async () => {
    const it = await createCrashLoopRun({}, { hotMs: null, archive: "warm" });
    const { objects } = it.harness.world.store;
    const archived = (end: number) => readArchive(objects.get(archiveKey(it.row(), "warm", end)) as Uint8Array);
    expect(archived(1).run).toMatchObject({ status: "failed" });
    await again(it);
    await it.harness.runForTime(it.agent, MS.hour);
    const { key = "" } = (await shown(it))?.archive ?? {};
    expect(key).toBe(archiveKey(it.row(), "warm", 2));
    expect(archived(2).run).toMatchObject({ status: "completed", failure: null });
    expect(archived(1).run).toMatchObject({ status: "failed" });
    it.harness.clock.moveTo(it.harness.clock.now() + TIMES.invocationMsMax + MS.hour);
    expect(await purge(it.harness.world, it.run)).toMatchObject({ kind: "purged" });
    expect([...objects.keys()]).toEqual([]);
  });

  test("stores no secret of the operator, and no longer text than its limit", async () => {
    const it = await createCrashLoopRun();
    await redrive(it.harness.world, {
      run: it.run,
      by: "a".repeat(500),
      why: `key sk-${"x1".repeat(20)} ${"y".repeat(9_000)}`,
    });
    const note = it.row().redrive;
    expect(note?.by.length).toBeLessThan(100);
    expect(note?.why).not.toContain("sk-x1");
    expect(note?.why.length).toBeLessThan(600);
  });
});

describe("a run that failed for another infrastructure reason", () => {
  test("calls its model again: the outage that ended it is over", async () => {
    const harness = createChainHarness();
    let isAway = true;
    const agent: Agent = {
      ...scriptedAgent({
        reply: (conversation) => {
          if (isAway && conversation.calls.length > 0) throw refused();
          return callsThenFinal(1)(conversation);
        },
      }),
      outageMaxMs: 10 * MS.minute,
    };
    const { run } = await beginRun(harness.world, agent, {});
    await harness.runForTime(agent, MS.hour);
    expect(await show(harness.world, run)).toMatchObject({ status: "failed", failure: { code: "ModelUnavailable" } });
    await redrive(harness.world, { run, ...ADA });
    await harness.runForTime(agent, 5 * MS.minute);
    expect(await show(harness.world, run)).toMatchObject({ status: "running", outage: { since: AT + MS.hour } });
    isAway = false;
    await harness.runForTime(agent, MS.hour);
    expect(harness.row(run).status).toBe("completed");
  });

  test("continues although the sweeper abandoned it", async () => {
    const it = await createCrashLoopRun();
    await again(it);
    // Its deadline passes before anybody drives it: the sweeper ends it, and the redrive is in its history.
    it.harness.clock.moveTo(it.row().deadline + it.harness.world.limits.idleRunMs / 10);
    await it.harness.advanceUntilSettled(sweep(it.harness.world));
    expect(await shown(it)).toMatchObject({ status: "failed", failure: { code: "Expired" } });
    const kinds = ((await timeline(it.harness.world, { run: it.run, after: 0 })) ?? []).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === "RunRedriven" || kind === "RunEnded")).toEqual([
      ...["RunEnded", "RunRedriven", "RunEnded"],
    ]);
    expect(await again(it)).toMatchObject({ kind: "redriven", failure: { code: "Expired" } });
    await it.harness.runForTime(it.agent, MS.hour);
    expect({ status: it.row().status, called: it.called }).toEqual({ status: "completed", called: [it.key] });
  });
});

describe("a redrive is refused", () => {
  const endsAs = async (part: Parameters<typeof scriptedAgent>[0]) => {
    const harness = createChainHarness();
    const agent = scriptedAgent(part);
    const { run } = await beginRun(harness.world, agent, {});
    await harness.runForTime(agent, MS.hour);
    return { harness, run };
  };
  const kindOf = async ({ harness, run }: { readonly harness: Harness; readonly run: string }) =>
    (await redrive(harness.world, { run, ...ADA })).kind;

  test("for a run that is completed, live or missing", async () => {
    expect(await kindOf(await endsAs({ reply: () => FINAL_REPLY }))).toBe("NotFailed");
    const harness = createChainHarness();
    const { run } = await beginRun(harness.world, scriptedAgent({}), {});
    expect(await kindOf({ harness, run })).toBe("NotFailed");
    expect(await kindOf({ harness, run: `local-${"z".repeat(26)}` })).toBe("missing");
  });

  test("for a run that failed by itself", async () => {
    const it = await endsAs({ loops: "stop", effect: "none", reply: () => ({ calls: [{ tool: "act", args: {} }] }) });
    expect(await kindOf(it)).toBe("NotInfrastructure");
    expect(it.harness.row(it.run).status).toBe("failed");
  });

  test("for a run whose effects were compensated", async () => {
    const harness = createChainHarness();
    const script = replyWithCalls([["pay", "ada", 5]]);
    const { agent } = sideEffectAgent({
      saga: { onOutage: "undo" },
      pay: { undo: { effect: "keyed", run: () => "undone" } },
      reply: (conversation) => {
        if (conversation.calls.length > 0) throw refused();
        return script(conversation);
      },
    });
    const { run } = await beginRun(harness.world, agent, {});
    await harness.runForTime(agent, 20 * MS.hour);
    await harness.runForTime(agent, 5 * MS.hour);
    expect(await show(harness.world, run)).toMatchObject({ failure: { code: "ModelUnavailable" } });
    expect(await kindOf({ harness, run })).toBe("Compensated");
  });

  test("for a run with a parent, which already has the end", async () => {
    const harness = createChainHarness();
    const agent = { ...scriptedAgent({ reply: () => Promise.reject(refused()) }), outageMaxMs: MS.minute };
    const parent = await startKeyedRun(harness.world, { agent: scriptedAgent({ approval: "always" }), key: "parent" });
    const { run } = await startKeyedRun(harness.world, { agent, key: "child", parent });
    await harness.runForTime(agent, MS.hour);
    expect(harness.row(run).status).toBe("failed");
    expect(await kindOf({ harness, run })).toBe("HasParent");
  });
});

test("a decision that the end did not apply has no effect, and its call opens a gate again", async () => {
  const harness = createChainHarness();
  let runs = 0;
  const agent = withTakeovers(scriptedAgent({ approval: "always", run: () => (runs += 1) }), 1);
  const { run } = await beginRun(harness.world, agent, {});
  await harness.runForTime(agent, MS.minute);
  const gateOf = async (): Promise<string> => (await show(harness.world, run))?.gates[0]?.gate ?? "none";
  const approve = (gate: string) =>
    decide(harness.world, { run, gate, as: "approve", args: null, by: "ann", note: null });
  const first = await gateOf();
  expect(await approve(first)).toMatchObject({ kind: "accepted" });
  for (let death = 0; death < 2; death += 1) await harness.loseAttempt(agent, crashAfterCall(harness.world, "claim"));
  await harness.runForTime(agent, MS.minute);
  const after = await show(harness.world, run);
  expect({ status: after?.status, gate: after?.ignoredDecision?.gate, runs }).toEqual({
    status: "failed",
    gate: first,
    runs: 0,
  });
  await redrive(harness.world, { run, ...ADA });
  expect(await approve(first)).toMatchObject({ kind: "noEffect" });
  await harness.runForTime(agent, MS.minute);
  const second = await gateOf();
  expect({ isSame: second === first, runs }).toEqual({ isSame: false, runs: 0 });
  expect(await approve(second)).toMatchObject({ kind: "accepted" });
  await harness.runForTime(agent, MS.minute);
  expect({ status: harness.row(run).status, runs }).toEqual({ status: "completed", runs: 1 });
});
