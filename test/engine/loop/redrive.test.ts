/** `cairn redrive`: a run that failed for a reason of infrastructure goes on from its last checkpoint. */
import { stripVTControlCharacters } from "node:util";
import { describe, expect, test } from "vitest";
import type { Agent } from "../../../src/ports/agent.ts";
import { plain } from "../../../src/cli/terminal/paint.ts";
import { UNTOLD, tell } from "../../../src/cli/render/timeline.ts";
import { readArchive } from "../../../src/codec/archive.ts";
import { TIMES } from "../../../src/protocol/limits.ts";
import { decide } from "../../../src/operations/decide.ts";
import { archiveKey } from "../../../src/history/object-keys.ts";
import { ledger, show, timeline } from "../../../src/operations/views.ts";
import { purge } from "../../../src/operations/purge.ts";
import { reconcile } from "../../../src/operations/reconcile.ts";
import { redrive } from "../../../src/operations/redrive.ts";
import { sendRequest } from "../../../src/engine/loop/request.ts";
import { verify } from "../../../src/history/verify.ts";
import { AT } from "../../support/build.ts";
import { type Crashed, crashed } from "../../support/crashed.ts";
import { asks, deeds } from "../../support/deeds.ts";
import { begin } from "../../support/drive.ts";
import { HOUR, MINUTE, playFor } from "../../support/passing-time.ts";
import { OVER, type Stage, actor, callsThenOver, chainedStage, passing, rowOf } from "../../support/stage.ts";
import { beforeCall, dieInTool, dyingAfter, lose, start, sweep, withTakeovers } from "../../support/steps.ts";

const ADA = { by: "ada", why: "more memory" } as const;
const refused = (): Error => Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });

const again = (it: Crashed) => redrive(it.on.world, { run: it.run, ...ADA });
const shown = (it: Crashed) => show(it.on.world, it.run);

describe("a run whose processes died too often", () => {
  test("goes on with the same key and the same budget, and completes", async () => {
    const it = await crashed();
    const before = await shown(it);
    expect([before?.status, before?.failure?.code, it.called]).toEqual(["failed", "CrashLoop", []]);
    expect(await again(it)).toMatchObject({ kind: "redriven", failure: { code: "CrashLoop" }, from: "ExecutingTools" });
    await playFor(it.on, it.agent, HOUR);
    const after = await shown(it);
    expect([after?.status, after?.failure]).toEqual(["completed", null]);
    expect(after?.beats).toBe((before?.beats ?? 0) + 1);
    expect(it.called).toEqual([it.key]);
    expect(await ledger(it.on.world, it.run)).toMatchObject([{ call: "c1", key: it.key, status: "succeeded" }]);
    expect((await verify(it.on.world, { run: it.run }))?.findings).toEqual([]);
  });

  test("says who wanted that, and why, in its timeline", async () => {
    const it = await crashed();
    await again(it);
    await playFor(it.on, it.agent, HOUR);
    const events = (await timeline(it.on.world, { run: it.run, after: 0 })) ?? [];
    expect(events.find(({ kind }) => kind === "RunRedriven")).toMatchObject({ ...ADA, failure: { code: "CrashLoop" } });
    const lines = tell(UNTOLD, events, { paint: plain, width: 100 }).lines.map(stripVTControlCharacters);
    expect(lines.join("\n")).toContain("↻ redriven by ada after CrashLoop: more memory");
  });

  test("is shown as one that goes on from the moment of the redrive, and is whole", async () => {
    const it = await crashed();
    await again(it);
    const label = "redriven, waiting for its next beat";
    expect(await shown(it)).toMatchObject({
      status: "running",
      label,
      failure: null,
      keptUntil: null,
      inProgress: true,
    });
    expect((await verify(it.on.world, { run: it.run }))?.findings).toEqual([]);
  });

  test("is judged anew: it may die as often as before, fail again, and be redriven again", async () => {
    const it = await crashed();
    await again(it);
    await dieInTool(it.on, it.agent);
    await dieInTool(it.on, it.agent);
    await playFor(it.on, it.agent, MINUTE);
    expect(await shown(it)).toMatchObject({ status: "failed", failure: { code: "CrashLoop" } });
    expect(await again(it)).toMatchObject({ kind: "redriven" });
    await playFor(it.on, it.agent, HOUR);
    expect([it.row().status, it.called]).toEqual(["completed", [it.key]]);
  });

  test("asks a person about an unsafe call, and does it no second time", async () => {
    const it = await crashed({ effect: "unsafe", deaths: 1 });
    await again(it);
    await playFor(it.on, it.agent, HOUR);
    expect(await shown(it)).toMatchObject({ status: "blocked", unknown: [{ call: "c1", key: it.key }] });
    const said = { run: it.run, call: "c1", as: "succeeded", result: "acted", by: "ada", note: null } as const;
    expect(await reconcile(it.on.world, said)).toEqual({ kind: "accepted" });
    await playFor(it.on, it.agent, HOUR);
    expect([it.row().status, it.called]).toEqual(["completed", []]);
  });

  test("has nobody asked about a call that its next invocation takes up again", async () => {
    const it = await crashed();
    const said = { run: it.run, call: "c1", as: "failed", result: null, by: "bob", note: null } as const;
    // Of a run that has ended no answer is taken, also where somebody redrives it in the same moment.
    const slow = beforeCall(it.on.world, "deliver", () => again(it));
    expect(await reconcile(slow, said)).toEqual({ kind: "late" });
    await again(it);
    expect(await shown(it)).toMatchObject({ unknown: [] });
    expect(await reconcile(it.on.world, said)).toEqual({ kind: "stale", unknown: [] });
    await playFor(it.on, it.agent, HOUR);
    expect([it.row().status, it.called]).toEqual(["completed", [it.key]]);
  });

  test("probes a call that can be probed", async () => {
    const it = await crashed({ effect: "probed", probe: () => ({ kind: "happened", result: "seen" }), deaths: 1 });
    await again(it);
    await playFor(it.on, it.agent, HOUR);
    expect([it.row().status, it.called]).toEqual(["completed", []]);
  });

  test("stays paused where it was to be paused, and ends where it was to be cancelled", async () => {
    const it = await crashed();
    await again(it);
    await sendRequest(it.on.world, { run: it.run, want: "pause" });
    await playFor(it.on, it.agent, HOUR);
    expect(it.row().status).toBe("paused");
    const other = await crashed();
    await again(other);
    await sendRequest(other.on.world, { run: other.run, want: "cancel" });
    await playFor(other.on, other.agent, HOUR);
    expect([other.row().status, other.called]).toEqual(["cancelled", []]);
  });

  test("has an archive for each of its ends; a purge removes both", async () => {
    const it = await crashed({}, { hotMs: null, archive: "warm" });
    const { objects } = it.on.world.store;
    const archived = (end: number) => readArchive(objects.get(archiveKey(it.row(), "warm", end)) as Uint8Array);
    expect(archived(1).run).toMatchObject({ status: "failed" });
    await again(it);
    await playFor(it.on, it.agent, HOUR);
    const { key = "" } = (await shown(it))?.archive ?? {};
    expect(key).toBe(archiveKey(it.row(), "warm", 2));
    expect(archived(2).run).toMatchObject({ status: "completed", failure: null });
    expect(archived(1).run).toMatchObject({ status: "failed" });
    it.on.clock.moveTo(it.on.clock.now() + TIMES.invocationMsMax + HOUR);
    expect(await purge(it.on.world, it.run)).toMatchObject({ kind: "purged" });
    expect([...objects.keys()]).toEqual([]);
  });

  test("keeps no secret of whoever redrove it, and no more words than it has room for", async () => {
    const it = await crashed();
    await redrive(it.on.world, {
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

describe("a run that failed for another reason of infrastructure", () => {
  test("asks its model again: the outage that ended it is over", async () => {
    const on = chainedStage();
    let isAway = true;
    const agent: Agent = {
      ...actor({
        reply: (conversation) => {
          if (isAway && conversation.calls.length > 0) throw refused();
          return callsThenOver(1)(conversation);
        },
      }),
      outageMaxMs: 10 * MINUTE,
    };
    const { run } = await begin(on.world, agent, {});
    await playFor(on, agent, HOUR);
    expect(await show(on.world, run)).toMatchObject({ status: "failed", failure: { code: "ModelUnavailable" } });
    await redrive(on.world, { run, ...ADA });
    await playFor(on, agent, 5 * MINUTE);
    expect(await show(on.world, run)).toMatchObject({ status: "running", outage: { since: AT + HOUR } });
    isAway = false;
    await playFor(on, agent, HOUR);
    expect(rowOf(on, run).status).toBe("completed");
  });

  test("goes on although the sweeper gave it up", async () => {
    const it = await crashed();
    await again(it);
    // Its deadline passes before anybody drives it: the sweeper ends it, and the redrive is in its history.
    it.on.clock.moveTo(it.row().deadline + 1);
    await passing(it.on, sweep(it.on.world));
    expect(await shown(it)).toMatchObject({ status: "failed", failure: { code: "Expired" } });
    const kinds = ((await timeline(it.on.world, { run: it.run, after: 0 })) ?? []).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === "RunRedriven" || kind === "RunEnded")).toEqual([
      ...["RunEnded", "RunRedriven", "RunEnded"],
    ]);
    expect(await again(it)).toMatchObject({ kind: "redriven", failure: { code: "Expired" } });
    await playFor(it.on, it.agent, HOUR);
    expect([it.row().status, it.called]).toEqual(["completed", [it.key]]);
  });
});

describe("is refused", () => {
  const endsAs = async (part: Parameters<typeof actor>[0]) => {
    const on = chainedStage();
    const agent = actor(part);
    const { run } = await begin(on.world, agent, {});
    await playFor(on, agent, HOUR);
    return { on, run };
  };
  const kindOf = async ({ on, run }: { readonly on: Stage; readonly run: string }) =>
    (await redrive(on.world, { run, ...ADA })).kind;

  test("for a run that is done, goes on, or is not there", async () => {
    expect(await kindOf(await endsAs({ reply: () => OVER }))).toBe("NotFailed");
    const on = chainedStage();
    const { run } = await begin(on.world, actor({}), {});
    expect(await kindOf({ on, run })).toBe("NotFailed");
    expect(await kindOf({ on, run: `local-${"z".repeat(26)}` })).toBe("missing");
  });

  test("for a run that failed by itself", async () => {
    const it = await endsAs({ loops: "stop", effect: "none", reply: () => ({ calls: [{ tool: "act", args: {} }] }) });
    expect(await kindOf(it)).toBe("NotInfrastructure");
    expect(rowOf(it.on, it.run).status).toBe("failed");
  });

  test("for a run whose effects were undone", async () => {
    const on = chainedStage();
    const script = asks([["pay", "ada", 5]]);
    const { agent } = deeds({
      saga: { onOutage: "undo" },
      pay: { undo: { effect: "keyed", run: () => "undone" } },
      reply: (conversation) => {
        if (conversation.calls.length > 0) throw refused();
        return script(conversation);
      },
    });
    const { run } = await begin(on.world, agent, {});
    await playFor(on, agent, 20 * HOUR);
    await playFor(on, agent, 5 * HOUR);
    expect(await show(on.world, run)).toMatchObject({ failure: { code: "ModelUnavailable" } });
    expect(await kindOf({ on, run })).toBe("Compensated");
  });

  test("for a run that another one waits for: that one knows the end", async () => {
    const on = chainedStage();
    const agent = { ...actor({ reply: () => Promise.reject(refused()) }), outageMaxMs: MINUTE };
    const parent = await start(on.world, { agent: actor({ approval: "always" }), key: "parent" });
    const { run } = await start(on.world, { agent, key: "child", parent });
    await playFor(on, agent, HOUR);
    expect(rowOf(on, run).status).toBe("failed");
    expect(await kindOf({ on, run })).toBe("HasParent");
  });
});

test("a decision that the end did not apply comes to nothing, and its call is asked about anew", async () => {
  const on = chainedStage();
  let runs = 0;
  const agent = withTakeovers(actor({ approval: "always", run: () => (runs += 1) }), 1);
  const { run } = await begin(on.world, agent, {});
  await playFor(on, agent, MINUTE);
  const gateOf = async (): Promise<string> => (await show(on.world, run))?.gates[0]?.gate ?? "none";
  const approve = (gate: string) => decide(on.world, { run, gate, as: "approve", args: null, by: "ann", note: null });
  const first = await gateOf();
  expect(await approve(first)).toMatchObject({ kind: "accepted" });
  for (let death = 0; death < 2; death += 1) await lose(on, agent, dyingAfter(on.world, "claim"));
  await playFor(on, agent, MINUTE);
  const after = await show(on.world, run);
  expect([after?.status, after?.ignoredDecision?.gate, runs]).toEqual(["failed", first, 0]);
  await redrive(on.world, { run, ...ADA });
  expect(await approve(first)).toMatchObject({ kind: "noEffect" });
  await playFor(on, agent, MINUTE);
  const second = await gateOf();
  expect([second === first, runs]).toEqual([false, 0]);
  expect(await approve(second)).toMatchObject({ kind: "accepted" });
  await playFor(on, agent, MINUTE);
  expect([rowOf(on, run).status, runs]).toEqual(["completed", 1]);
});
