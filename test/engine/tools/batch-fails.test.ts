/** What ends a batch of calls that run side by side, where a commit fails, or a call cannot be started. */
import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import type { Tool } from "../../../src/ports/agent.ts";
import { StateTooLarge } from "../../../src/codec/snapshot.ts";
import { StoreUnreachable, type World } from "../../../src/ports/world.ts";
import type { ActiveRun } from "../../../src/engine/context/active-run.ts";
import { runBatch } from "../../../src/engine/tools/batch.ts";
import { beat } from "../../../src/engine/loop/beat.ts";
import { ledger, timeline } from "../../../src/operations/views.ts";
import {
  type ToolRun,
  parallelCallsAgent,
  deferredCall,
  callStatuses,
} from "../../support/agents/parallel-calls-agent.ts";
import { stateAfter, callPart as calling, EVENT } from "../../support/states/states-and-events.ts";
import { attemptBeat, beginRun, drive, runnerOf } from "../../support/harness/drive.ts";
import { neverSettles, createHarness, flushPromises, MS } from "../../support/harness/harness.ts";
import { wrapTableCall } from "../../support/harness/chain-steps.ts";

/** A table whose commits do what is given from the moment on at which a call has returned. */
const from = (
  world: World,
  isLate: () => boolean,
  instead: () => Promise<never> | { readonly kind: "missing" },
): World => wrapTableCall(world, "commit", (commit) => async (asked) => (isLate() ? instead() : commit(asked)));

describe("a failed commit between two results", () => {
  const away = (): Promise<never> => Promise.reject(new StoreUnreachable("away"));

  test.each<readonly [string, Parameters<typeof from>[2], boolean]>([
    ["no store responds: the error is thrown when every call has ended", away, false],
    ["another invocation has the run: so is the response", () => ({ kind: "missing" }), true],
  ])("%s", async (_, instead, isAnswered) => {
    const harness = createHarness();
    const { run, thaw } = deferredCall();
    let isLate = false;
    const first: ToolRun = () => {
      isLate = true;
      return "sent";
    };
    const agent = parallelCallsAgent({ first: { run: first }, other: { run } });
    const payload = await beginRun(harness.world, agent, {});
    const ended = vi.fn<() => void>();
    const done = attemptBeat(
      runnerOf(
        from(harness.world, () => isLate, instead),
        agent,
      ),
      payload,
    );
    done.then(ended, ended);
    await flushPromises();
    expect(ended).not.toHaveBeenCalled();
    thaw();
    if (isAnswered) expect(await done).toMatchObject({ kind: "beat", reply: { route: "superseded" } });
    else await expect(done).rejects.toThrow("away");
  });

  test.each([
    ["throws", away],
    ["is answered", () => ({ kind: "missing" }) as const],
  ])("ends the process after a call outlived its timeout meanwhile, also if it %s", async (_, instead) => {
    const harness = createHarness();
    let isLate = false;
    const first: ToolRun = () => {
      isLate = true;
      return "sent";
    };
    const agent = parallelCallsAgent({ first: { run: first }, deaf: { run: neverSettles } });
    const payload = await beginRun(harness.world, agent, {});
    const mustEnd = vi.fn<() => void>();
    const task = { payload, attempt: { execution: "x", epoch: 0, retry: 0 } };
    const { clock, limits } = harness.world;
    const invocation = { deadline: clock.now() + limits.beatMs, drain: new AbortController().signal, mustEnd };
    const done = beat(
      runnerOf(
        from(harness.world, () => isLate, instead),
        agent,
      ),
      task,
      invocation,
    );
    const begunAt = clock.now();
    const result = await harness.advanceUntilSettled(done).catch(() => "thrown");
    expect(clock.now()).toBeGreaterThanOrEqual(begunAt + 400 + limits.abortGraceMs);
    if (instead === away)
      expect({ result, mustEndCalls: mustEnd.mock.calls.length }).toEqual({ result: "thrown", mustEndCalls: 1 });
    else expect(result).toMatchObject({ kind: "exit", reply: { route: "superseded" } });
  });

  test("lets the process live when no call can act any more", async () => {
    const harness = createHarness();
    let isLate = false;
    const act: ToolRun = () => {
      isLate = true;
      return "sent";
    };
    const agent = parallelCallsAgent({ act: { run: act } });
    const payload = await beginRun(harness.world, agent, {});
    const mustEnd = vi.fn<() => void>();
    const task = { payload, attempt: { execution: "x", epoch: 0, retry: 0 } };
    const invocation = { deadline: harness.clock.now() + MS.beat, drain: new AbortController().signal, mustEnd };
    const done = beat(
      runnerOf(
        from(harness.world, () => isLate, away),
        agent,
      ),
      task,
      invocation,
    );
    await expect(harness.advanceUntilSettled(done)).rejects.toThrow("away");
    expect(mustEnd).not.toHaveBeenCalled();
  });

  test("because of a state that is too large still records the other calls, and the next commit reports it", async () => {
    const commitPending = vi.fn<() => Promise<never>>(() =>
      Promise.reject(new StateTooLarge("the state has too many bytes")),
    );
    const row = { takeovers: 0, chainClaims: 1 };
    const noticed = { noteUnderWay: () => {} };
    const run = { now: 0, row, noticed, commitPending } as unknown as ActiveRun;
    const { open } = stateAfter(
      ...[EVENT.started, EVENT.replied(["a", "b", "c"].map((name) => calling(name)))],
      ...["c1", "c2", "c3"].map((call) => EVENT.intended(call, "unsafe")),
    );
    const calls = open.map((each) => ({ open: each, ...deferredCall() }));
    const recorded: string[] = [];
    const done = runBatch(run, calls, {
      start: async (each) => ({ kind: "returned", value: await each.run() }),
      record: async ({ open }) => void recorded.push(open.call),
    });
    for (const { thaw } of calls) {
      thaw();
      await flushPromises();
    }
    await done;
    expect({ recorded, commitPendingCalls: commitPending.mock.calls.length }).toEqual({
      recorded: ["c1", "c2", "c3"],
      commitPendingCalls: 1,
    });
  });
});

describe("a call that cannot be started", () => {
  /**
   * Its schema makes a value that is not JSON, and makes it once. So the value cannot be made again once a function of
   * the tool has changed it.
   */
  function unparsable(effect: Tool["effect"], run: ToolRun): Partial<Tool> & { readonly run: ToolRun } {
    let isMade = false;
    const input = z.object({}).transform(() => {
      if (isMade) throw null as unknown as Error;
      isMade = true;
      return new Date(0);
    });
    return { effect, input: input as unknown as Tool["input"], run };
  }

  const spoil = (input: unknown): null => {
    (input as Date).setTime(1);
    return null;
  };

  test("is recorded as not started when the calls beside it have ended", async () => {
    const harness = createHarness();
    const { run, thaw } = deferredCall();
    const agent = parallelCallsAgent({ other: { run }, act: { ...unparsable("unsafe", () => "done"), key: spoil } });
    const payload = await beginRun(harness.world, agent, {});
    const ended = vi.fn<() => void>();
    const done = attemptBeat(runnerOf(harness.world, agent), payload);
    done.then(ended, ended);
    await flushPromises();
    expect(ended).not.toHaveBeenCalled();
    thaw();
    expect(await harness.advanceUntilSettled(done)).toMatchObject({ kind: "beat" });
    const entries = (await ledger(harness.world, payload.run)) ?? [];
    expect(entries).toMatchObject([{ status: "succeeded" }, { status: "failed", evidence: "it was never started" }]);
    const events = (await timeline(harness.world, { run: payload.run, after: 0 })) ?? [];
    expect(JSON.stringify(events)).toContain(
      "NotStarted: its arguments could not be read again: null; it did not happen",
    );
  });

  test.each([
    ["does not end", neverSettles],
    [
      "ends then, so that the next try follows in its process",
      (signal: AbortSignal) =>
        new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(new Error("stopped")))),
    ],
  ])("is not recorded as not started when an earlier try timed out, and %s", async (_, waits) => {
    const harness = createHarness();
    const act = unparsable("keyed", ({ input, signal }): Promise<never> => {
      spoil(input);
      return waits(signal);
    });
    const agent = parallelCallsAgent({ act });
    const payload = await beginRun(harness.world, agent, {});
    await harness.advanceUntilSettled(drive(runnerOf(harness.world, agent), payload));
    expect(await ledger(harness.world, payload.run)).toMatchObject([{ status: "unknown" }]);
  });
});

test("an invalid log line for the operator does not fail its call", async () => {
  const harness = createHarness();
  const run: ToolRun = ({ log }) => {
    log(Object.create(null) as string);
    log(Symbol("x") as unknown as string);
    return "sent";
  };
  const agent = parallelCallsAgent({ act: { run } });
  const payload = await beginRun(harness.world, agent, {});
  await drive(runnerOf(harness.world, agent), payload);
  expect(await callStatuses(harness, payload.run)).toEqual(["succeeded"]);
});
