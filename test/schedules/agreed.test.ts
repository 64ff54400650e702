/** A call that was agreed and did not begin is made by a later beat: once, with its key, and by one invocation. */
import { expect, test } from "vitest";
import { ledger } from "../../src/operations/views.ts";
import type { World } from "../../src/ports/world.ts";
import { runTask } from "../../src/maintenance/chain-tasks.ts";
import { beginRun, runnerOf } from "../support/harness/drive.ts";
import { beatReply, createChainHarness, scriptedAgent, flushPromises } from "../support/harness/harness.ts";
import { dieInTool, recoveryRulesOf } from "../support/harness/chain-steps.ts";
import { toolResultsOf } from "../support/agents/approval-agent.ts";

/** Of a beat of 3 s 2.5 s are for its work: there is room for the call, and not for a slow probe as well. */
const TIMEOUT_MS = 1_500;
const PROBE_MS = 1_200;
const POSTPONED = "call did not begin, a later beat makes it";

/** An agent whose call the external service knows by its key, and whose probe takes most of a beat. */
function slowlyProbed(harness: ReturnType<typeof createChainHarness>) {
  const effects: { readonly key: string; readonly epoch: number }[] = [];
  const agent = scriptedAgent({
    effect: "probed",
    timeoutMs: TIMEOUT_MS,
    run: ({ key, epoch }) => {
      effects.push({ key, epoch });
      return "acted";
    },
    probe: (key) => {
      harness.clock.moveTo(harness.clock.now() + PROBE_MS);
      return effects.some((each) => each.key === key) ? { kind: "happened", result: "seen" } : { kind: "absent" };
    },
  });
  return { effects, agent };
}

test("schedule 210: a probe finds that a call did not happen, and uses up the beat; the next beat makes the call", async () => {
  const harness = createChainHarness();
  const { effects, agent } = slowlyProbed(harness);
  const { run } = await beginRun(harness.world, agent, {});
  const key = await dieInTool(harness, agent);
  await harness.runUntilIdle(agent);
  expect(await recoveryRulesOf(harness.world, run)).toContain(POSTPONED);
  expect(effects.map((each) => each.key)).toEqual([key]);
  expect(await toolResultsOf(harness, run)).toMatchObject([{ outcome: "succeeded", value: { json: "acted" } }]);
  expect(harness.row(run).status).toBe("completed");
});

/** The world of a process that is frozen from its start: when it thaws, its answers are there before any timer fires. */
function frozenWorld(world: World) {
  const { promise: thawed, resolve } = Promise.withResolvers<void>();
  let isFrozen = true;
  const thaw = (): void => {
    isFrozen = false;
    resolve();
  };
  const after: World["clock"]["after"] = (ms, act) => (isFrozen ? () => undefined : world.clock.after(ms, act));
  return { world: { ...world, clock: { ...world.clock, after } }, thawed, thaw };
}

test("schedule 211: A releases a call and freezes; B probes and postpones it, C makes it, and A thaws", async () => {
  const harness = createChainHarness();
  const { effects, agent } = slowlyProbed(harness);
  const { run } = await beginRun(harness.world, agent, {});
  const { world, thawed, thaw } = frozenWorld(harness.world);
  // Its commit has released the call, and it freezes while it loads its agent.
  const runner = runnerOf(world, agent);
  const agentOf = async (name: string) => {
    if (harness.row(run).phase === "ExecutingTools") await thawed;
    return runner.agentOf(name);
  };
  const out = harness.startAttempt();
  const { clock, limits } = harness.world;
  const invocation = { deadline: clock.now() + limits.beatMs, drain: new AbortController().signal };
  const a = runTask({ ...runner, agentOf })(out.task, invocation);
  await flushPromises();
  expect(harness.row(run).phase).toBe("ExecutingTools");
  out.end(null);
  expect(await beatReply(harness.runAttempt(agent))).toMatchObject({ route: "wait" });
  expect(await beatReply(harness.runAttempt(agent))).toMatchObject({ route: "beat" });
  expect(await recoveryRulesOf(harness.world, run)).toContain(POSTPONED);
  thaw();
  await harness.advanceUntilSettled(a.catch(() => undefined));
  expect(effects).toEqual([]);
  await harness.runUntilIdle(agent);
  expect(effects).toHaveLength(1);
  expect(effects[0]?.epoch).toBeGreaterThan(2);
  expect(await ledger(harness.world, run)).toMatchObject([{ status: "succeeded" }]);
});

test("schedule 212: A dies in an unsafe call, and B is asked to end before it decides about the call", async () => {
  const harness = createChainHarness();
  const effects: string[] = [];
  const agent = scriptedAgent({ effect: "unsafe", run: ({ key }) => effects.push(key) });
  const { run } = await beginRun(harness.world, agent, {});
  effects.push(await dieInTool(harness, agent));
  const out = harness.startAttempt();
  const { clock, limits } = harness.world;
  const invocation = { deadline: clock.now() + limits.beatMs, drain: AbortSignal.abort() };
  out.end(await runTask(runnerOf(harness.world, agent))(out.task, invocation));
  await harness.runUntilIdle(agent);
  expect(effects).toHaveLength(1);
  expect(harness.row(run).status).toBe("blocked");
  expect(await recoveryRulesOf(harness.world, run)).not.toContain(POSTPONED);
});
