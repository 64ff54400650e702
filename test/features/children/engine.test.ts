/** Child runs from the dispatch to the result, without faults and with each way in which a hand-off fails. */
import { describe, expect, test } from "vitest";
import type { Agent } from "../../../src/ports/agent.ts";
import { sendRequest } from "../../../src/engine/loop/request.ts";
import { show, timeline } from "../../../src/operations/views.ts";
import { verify } from "../../../src/features/seals/verify.ts";
import { add, NOTHING_SPENT } from "../../../src/core/policy/budget.ts";
import { beginRun, createLocalHarness, drive, runnerOf } from "../../support/harness/drive.ts";
import { createChainHarness, neverSettles } from "../../support/harness/harness.ts";
import { TASKS_MAX, childrenOf, kindsOf, played } from "../../support/runs/played-family.ts";
import { type BossOptions, OVER, asks, boss, worker } from "../../support/agents/workers.ts";

describe("a boss", () => {
  test("dispatches two children of one reply at once, and their results are the results of the calls", async () => {
    const harness = createChainHarness();
    const run = await played(harness, [boss(), worker()]);
    const shown = await show(harness.world, run);
    expect(shown).toMatchObject({ status: "completed", children: [] });
    expect(shown?.result).toEqual([
      { outcome: "succeeded", result: { memo: "part 0" } },
      { outcome: "succeeded", result: { memo: "part 1" } },
    ]);
    const children = childrenOf(harness, run);
    expect(children).toMatchObject([1, 2].map(() => ({ status: "completed", endNotified: true, agent: "worker" })));
    // Intents, entries and reservations are one commit.
    const entries = (await timeline(harness.world, { run, after: 0 })) ?? [];
    const dispatched = entries.filter(({ kind }) => kind === "ChildDispatched");
    expect(new Set(dispatched.map(({ version }) => version)).size).toBe(1);
    expect((await verify(harness.world, { run }))?.findings).toEqual([]);
  });

  test("spends what its children report, each once, and nothing stays reserved", async () => {
    const harness = createChainHarness();
    const run = await played(harness, [boss({ children: 3 }), worker()]);
    const entries = (await timeline(harness.world, { run, after: 0 })) ?? [];
    const own = entries.flatMap((each) => (each.kind === "BudgetDebited" && each.child === undefined ? [each] : []));
    const sum = own.reduce((spent, { debit }) => add(spent, debit), NOTHING_SPENT);
    const all = childrenOf(harness, run).reduce((spent, child) => add(spent, child.spent), sum);
    expect(harness.row(run).spent).toEqual(all);
  });

  test("costs nothing while it waits: it is parked until the deadline of its children, and polls never", async () => {
    const harness = createChainHarness();
    const agents = [boss({ child: { deadlineMs: 30_000 } }), worker()];
    const { run } = await beginRun(harness.world, agents[0] as Agent, {});
    await harness.runAttempt(agents);
    const row = harness.row(run);
    expect(row).toMatchObject({ phase: "AwaitingChildren", status: "waiting", owner: null });
    expect(row.wakeAt).toBe(row.lastCheckpointAt + 30_000);
    const shown = await show(harness.world, run);
    expect(shown?.children).toMatchObject([
      { agent: "worker", call: "c1", try: 1, superseded: false, asked: false, grant: { beats: 5 } },
      { agent: "worker", call: "c2", try: 1 },
    ]);
    expect(shown?.label).toBe("waiting for the runs that it dispatched");
  });

  test("that is run by a real store gives the same result", async () => {
    const { world } = createLocalHarness();
    const agents = [boss(), worker()];
    const payload = await beginRun(world, agents[0] as Agent, {});
    const waiting = await drive(runnerOf(world, agents), payload);
    expect(waiting.route).toBe("park");
    const { rows } = await world.table.alive({ limit: 9, after: null, now: 0 });
    for (const row of rows.filter(({ parent }) => parent !== null)) {
      const { run, born, chain, epoch, agent } = row;
      expect(await drive(runnerOf(world, agents), { run, born, chain, epoch, agent })).toMatchObject({ route: "done" });
    }
    expect(await drive(runnerOf(world, agents), waiting)).toMatchObject({ route: "done" });
    expect((await show(world, payload.run))?.result).toMatchObject([
      { outcome: "succeeded" },
      { outcome: "succeeded" },
    ]);
  });

  test("of bosses goes three levels down", async () => {
    const harness = createChainHarness();
    const middle = boss({ name: "middle", children: 2, budget: { beats: 30 } });
    const root = boss({ name: "root", child: { agent: "middle", output: undefined as never, budget: { beats: 40 } } });
    const run = await played(harness, [root, { ...middle, task: worker().task }, worker()]);
    const shown = await show(harness.world, run);
    const leaves = [1, 2].map((part) => ({ outcome: "succeeded", result: { memo: `part ${part - 1}` } }));
    expect(shown?.result).toEqual([1, 2].map(() => ({ outcome: "succeeded", result: leaves })));
    expect(harness.world.store.rows.size).toBe(7);
    // The root has spent what all seven runs have.
    const beats = [...harness.world.store.rows.values()].map(({ spent }) => spent.beats);
    expect(harness.row(run).spent.beats).toBe(Math.max(...beats));
  });

  test("of three bosses has 27 workers at once, and each of them works once", async () => {
    const harness = createChainHarness();
    const asked: number[] = [];
    const middle = { ...boss({ name: "middle", children: 9, budget: { beats: 60 } }), task: worker().task };
    const root = boss({
      ...{ name: "root", children: 3, budget: { beats: 200 } },
      child: { agent: "middle", output: undefined as never, budget: { beats: 60 } },
    });
    const { run } = await beginRun(harness.world, root, {});
    await harness.runUntilIdle([root, middle, worker({ onReply: (part) => asked.push(part) })], 2_000);
    expect(harness.row(run)).toMatchObject({ status: "completed", endNotified: true });
    expect(harness.world.store.rows.size).toBe(1 + 3 + 27);
    expect(asked).toHaveLength(2 * 27);
  });
});

describe("a hand-off", () => {
  const withMemos = (memos: readonly unknown[]): Agent => {
    let given = 0;
    return worker({ effect: "none", result: () => memos[Math.min(given++, memos.length - 1)] });
  };

  test.each([
    ["does not fit", { text: 1 }],
    ["is empty", ""],
    ["gives the task back", { part: 0 }],
  ])("whose answer %s is tried again with another child, and the failure is signalled", async (_, bad) => {
    const harness = createChainHarness();
    const options: BossOptions = { children: 1, child: { output: undefined as never } };
    const isOfSchema = JSON.stringify(bad) === '{"text":1}';
    const run = await played(harness, [
      boss(isOfSchema ? { children: 1 } : options),
      withMemos([bad, { memo: "fine" }]),
    ]);
    expect((await show(harness.world, run))?.result).toEqual([{ outcome: "succeeded", result: { memo: "fine" } }]);
    expect(childrenOf(harness, run)).toHaveLength(2);
    const entries = (await timeline(harness.world, { run, after: 0 })) ?? [];
    expect(entries.filter(({ kind }) => kind === "CrackSignalled")).toMatchObject([{ crack: "lostHandoff" }]);
  });

  test("that fails each time is told to the model after the last try", async () => {
    const harness = createChainHarness();
    const run = await played(harness, [boss({ children: 1, child: { tries: 3 } }), withMemos([{ text: 1 }])]);
    expect((await show(harness.world, run))?.result).toMatchObject([
      { outcome: "failed", result: expect.stringMatching(/^HandoffLost: .*after 3 of 3 tries/) },
    ]);
    expect(childrenOf(harness, run)).toHaveLength(3);
  });

  test("to a child that fails is told to the model with the reason", async () => {
    const harness = createChainHarness();
    const run = await played(harness, [boss({ children: 1 }), worker({ reply: () => ({}) })]);
    expect((await show(harness.world, run))?.result).toMatchObject([
      { outcome: "failed", result: { status: "failed", why: { code: "EmptyReply" } } },
    ]);
  });

  test("to a child that is silent beyond its deadline goes to another one, and the late answer is not taken", async () => {
    const harness = createChainHarness();
    let asked = 0;
    const slow = worker({
      effect: "none",
      reply: () => ((asked += 1) === 1 ? neverSettles() : OVER),
      result: () => ({ memo: `${asked}` }),
    });
    const run = await played(harness, [boss({ children: 1, child: { deadlineMs: 2_000 } }), slow]);
    const kinds = await kindsOf(harness, run);
    expect(kinds).toContain("ChildSuperseded");
    expect((await show(harness.world, run))?.status).toBe("completed");
    const entries = (await timeline(harness.world, { run, after: 0 })) ?? [];
    expect(entries.filter(({ kind }) => kind === "CrackSignalled")).toMatchObject([
      { crack: "workerSilence", times: 1 },
      { crack: "lostHandoff", times: 1 },
    ]);
    expect(
      childrenOf(harness, run)
        .map(({ status }) => status)
        .toSorted(),
    ).toEqual(["cancelled", "completed"]);
  });

  test("to an agent that does not exist fails the run, before anything is committed for the call", async () => {
    const harness = createChainHarness();
    const run = await played(harness, [boss({ children: 1 })]);
    expect(await show(harness.world, run)).toMatchObject({
      status: "failed",
      failure: {
        code: "ChildAgentUnknown",
        message: "child tool ask dispatches runs of agent worker, which does not exist: there is no agent worker",
      },
    });
    const kinds = await kindsOf(harness, run);
    expect(kinds.filter((kind) => kind === "ModelCallCompleted")).toHaveLength(1);
    expect(kinds).not.toContain("ToolIntended");
    expect(kinds).not.toContain("ChildDispatched");
  });
});

describe("a boss that ends", () => {
  test("by a cancel stops its children first, and its own end comes last", async () => {
    const harness = createChainHarness();
    const agents = [boss(), worker()];
    const { run } = await beginRun(harness.world, agents[0] as Agent, {});
    await harness.runAttempt(agents);
    await sendRequest(harness.world, { run, want: "cancel" });
    await harness.runUntilIdle(agents, TASKS_MAX);
    const [one, two] = childrenOf(harness, run);
    expect([harness.row(run), one, two]).toMatchObject(
      [1, 2, 3].map(() => ({ status: "cancelled", endNotified: true })),
    );
    const kinds = await kindsOf(harness, run);
    expect(kinds.filter((kind) => kind === "ChildAskedToStop")).toHaveLength(2);
    expect(kinds.at(-1)).toBe("RunEnded");
  });

  test("by a failure while a child is out ends after that child has stopped and reported", async () => {
    const harness = createChainHarness();
    const failing = boss({
      children: 1,
      child: { deadlineMs: 2_000, tries: 1 },
      reply: ({ calls }) => (calls.length === 0 ? asks([0]) : {}),
    });
    const run = await played(harness, [failing, worker({ reply: neverSettles })]);
    const [late] = childrenOf(harness, run);
    expect({ row: harness.row(run), late }).toMatchObject({
      row: { status: "failed", endNotified: true },
      late: { status: "cancelled", endNotified: true },
    });
    const entries = (await timeline(harness.world, { run, after: 0 })) ?? [];
    expect(entries.at(-1)).toMatchObject({ kind: "RunEnded", failure: { code: "EmptyReply" } });
    const reports = entries.filter((entry) => entry.kind === "MessageAbsorbed" && entry.stage === "taken");
    expect(reports).toMatchObject([{ body: { kind: "child", child: late?.run } }]);
    expect(await kindsOf(harness, run)).toContain("ChildSuperseded");
  });

  test("by a failure undoes its own effects after its children have stopped", async () => {
    const harness = createChainHarness();
    const failing = boss({
      reply: ({ calls }) =>
        calls.length === 0 ? { calls: [{ tool: "act", args: {} }] } : calls.length === 1 ? asks([0, 1]) : {},
    });
    const run = await played(harness, [failing, worker()]);
    expect(harness.row(run)).toMatchObject({ status: "failed", endNotified: true });
    expect(await kindsOf(harness, run)).toContain("ToolCompensated");
  });
});
