/** Calls that fail and that their tool wants tried again: the same key, a bound that no crash resets, and an end in time. */
import { describe, expect, test } from "vitest";
import type { Agent, Tool } from "../../../src/ports/agent.ts";
import { AgentInvalid, OutcomeUnknown, Rejected } from "../../../src/index.ts";
import { ledger, timeline } from "../../../src/operations/views.ts";
import { sendRequest } from "../../../src/engine/loop/request.ts";
import { toolResultsOf, stateOf } from "../../support/agents/approval-agent.ts";
import { crashAtCall, forEachCrashPoint } from "../../support/faults/crash-at-call.ts";
import { replyWithCalls, sideEffectAgent } from "../../support/agents/side-effect-agent.ts";
import { executionName } from "../../../src/protocol/ids.ts";
import { beat } from "../../../src/engine/loop/beat.ts";
import { attemptBeat, beginRun, drive, runnerOf } from "../../support/harness/drive.ts";
import { type Harness, createHarness } from "../../support/harness/harness.ts";

const RULE = "call failed, its tool says try again";
const busy = new Error("503 busy");

/** One call whose tries end so, one after the other; what is no error is what the tool returns. */
function payer(said: Partial<Tool>, ends: readonly unknown[], more: Partial<Agent> = {}) {
  let tries = 0;
  const run = (): unknown => {
    const end = ends[tries];
    tries += 1;
    if (end instanceof Error) throw end;
    return end;
  };
  const of = sideEffectAgent({ reply: replyWithCalls([["pay", "ada", 5]]), pay: said as object, run });
  return { ...of, agent: { ...of.agent, ...more } };
}

async function outcomeOf(harness: Harness, { agent, done }: ReturnType<typeof payer>) {
  const payload = await beginRun(harness.world, agent, {});
  const reply = await harness.advanceUntilSettled(drive(runnerOf(harness.world, agent), payload));
  const events = (await timeline(harness.world, { run: reply.run, after: 0 })) ?? [];
  const again = events.filter((event) => event.kind === "RecoveryDecided" && event.rule === RULE);
  const [entry] = (await ledger(harness.world, reply.run)) ?? [];
  return {
    reply,
    events,
    again,
    entry,
    keys: done.map(({ key }) => key),
    results: await toolResultsOf(harness, reply.run),
  };
}

test.each(["none", "keyed", "probed"] as const)("%s: is retried with its key", async (effect) => {
  const harness = createHarness();
  const probe = effect === "probed" ? { probe: () => ({ kind: "unknown" }) as const } : {};
  const of = payer({ effect, ...probe, retry: { attempts: 3 } }, [busy, busy, "paid"]);
  const { reply, again, entry, keys, results } = await outcomeOf(harness, of);
  expect(reply.route).toBe("done");
  expect(again).toMatchObject([
    { why: "503 busy", action: { kind: "again", call: "c1" } },
    { why: "503 busy", action: { kind: "again", call: "c1" } },
  ]);
  expect(keys).toHaveLength(3);
  expect(new Set(keys).size).toBe(1);
  expect(entry).toMatchObject({ status: "succeeded", attempts: 3 });
  expect(results).toMatchObject([{ outcome: "succeeded", value: { json: "paid" } }]);
});

const silent = new OutcomeUnknown("the answer was lost");

describe("the model gets the failure", () => {
  test.each<[string, Tool["retry"], readonly unknown[], number, string]>([
    ["when the tool declares nothing", null, [busy], 1, "the tool threw"],
    ["after one try", { attempts: 1 }, [busy], 1, "the tool threw"],
    ["after the last try", { attempts: 2 }, [busy, busy], 2, "the tool threw, in the last of 2 tries"],
    [
      "when its tool declares no retries",
      { attempts: 3, when: (error) => error !== busy },
      [busy],
      1,
      "wants no other try",
    ],
    [
      "when the retry function throws",
      { attempts: 3, when: () => JSON.parse("{") as boolean },
      [busy],
      1,
      "retry.when:",
    ],
    [
      "when the retry function returns a promise",
      { attempts: 3, when: (() => Promise.reject(busy)) as never },
      [busy],
      1,
      "gave neither true nor false",
    ],
  ])("%s", async (_, retry, ends, tries, evidence) => {
    const { reply, entry, keys, results } = await outcomeOf(createHarness(), payer({ retry }, ends));
    expect(reply.route).toBe("done");
    expect(keys).toHaveLength(tries);
    expect(entry?.status).toBe("failed");
    expect(entry?.evidence).toContain(evidence);
    expect(results).toMatchObject([{ outcome: "failed", value: { json: "503 busy" } }]);
  });

  test("when no working time is left", async () => {
    const harness = createHarness();
    const limits = { wallMs: 50, microUsd: null, tokens: null, toolCalls: null, beats: 9 } as const;
    const budget = { ...limits, onExhausted: "stop", takeovers: 9 } as const;
    const slow = payer({ retry: { attempts: 3 } }, [], { budget });
    const pay = slow.agent.tools["pay"] as Tool;
    const run = (): never => {
      harness.clock.moveTo(harness.clock.now() + 60);
      throw busy;
    };
    const agent = { ...slow.agent, tools: { ...slow.agent.tools, pay: { ...pay, run } } };
    const { again, entry } = await outcomeOf(harness, { ...slow, agent });
    expect(again).toEqual([]);
    expect(entry?.evidence).toBe("the tool threw, and no time at work is left for another try");
  });
});

test("an error that reports an existing effect is not retried", async () => {
  const onExists = (error: unknown): unknown => (error === busy ? "R7" : null);
  const { again, entry } = await outcomeOf(createHarness(), payer({ onExists, retry: { attempts: 3 } }, [busy]));
  expect(again).toEqual([]);
  expect(entry).toMatchObject({ status: "reconciled" });
});

test("the pause before each further try is twice the one before", async () => {
  const harness = createHarness();
  const at: number[] = [];
  const of = payer({ timeoutMs: 100, retry: { attempts: 3, backoffMs: 200 } }, []);
  const pay = of.agent.tools["pay"] as Tool;
  const run = (): never => {
    at.push(harness.clock.now());
    throw busy;
  };
  await outcomeOf(harness, { ...of, agent: { ...of.agent, tools: { ...of.agent.tools, pay: { ...pay, run } } } });
  const [first = 0, second = 0, third = 0] = at;
  expect([second - first, third - second]).toEqual([200, 400]);
});

test("a process that is asked to end does not wait for a retry; the next one makes it", async () => {
  const harness = createHarness();
  const of = payer({ timeoutMs: 100, retry: { attempts: 2, backoffMs: 2_000 } }, [busy, "paid"]);
  const runner = runnerOf(harness.world, of.agent);
  const payload = await beginRun(harness.world, of.agent, {});
  const drain = new AbortController();
  const told = { execution: executionName(payload.run, payload.born, 1), epoch: 0, retry: 0 };
  const deadline = harness.clock.now() + harness.world.limits.beatMs;
  harness.clock.after(1, () => drain.abort());
  const first = await harness.advanceUntilSettled(
    beat(runner, { payload, attempt: told }, { deadline, drain: drain.signal }),
  );
  expect(harness.clock.now()).toBeLessThan(deadline - 2_000);
  expect(of.done).toHaveLength(1);
  const reply = await harness.advanceUntilSettled(drive(runner, first.kind === "beat" ? first.reply : payload));
  expect(reply.route).toBe("done");
  expect(of.done).toHaveLength(2);
});

describe("without time for another try", () => {
  // A beat of 3 s keeps half a second free to commit: the first try leaves too little for the second one.
  const said = { timeoutMs: 2_000, retry: { attempts: 2 } };
  const slowly = (harness: Harness, of: ReturnType<typeof payer>) => {
    const pay = of.agent.tools["pay"] as Tool;
    const run: Tool["run"] = (context) => {
      harness.clock.moveTo(harness.clock.now() + 1_000);
      return pay.run(context);
    };
    return { ...of.agent, tools: { ...of.agent.tools, pay: { ...pay, run } } };
  };

  test("a keyed call is retried by the next invocation", async () => {
    const harness = createHarness();
    const of = payer(said, [busy, "paid"]);
    const agent = slowly(harness, of);
    const payload = await beginRun(harness.world, agent, {});
    const first = await harness.advanceUntilSettled(attemptBeat(runnerOf(harness.world, agent), payload));
    expect(first).toMatchObject({ kind: "beat", reply: { route: "beat" } });
    expect((await stateOf(harness.world, payload.run)).open).toMatchObject([{ status: "permitted", attempts: 1 }]);
    expect(of.done).toHaveLength(1);
    const last = await harness.advanceUntilSettled(
      drive(runnerOf(harness.world, agent), first.kind === "beat" ? first.reply : payload),
    );
    expect(last.route).toBe("done");
    expect(of.done).toHaveLength(2);
    expect(await toolResultsOf(harness, payload.run)).toMatchObject([{ outcome: "succeeded" }]);
  });

  test("a probed call is probed first: only the epoch that released it may start it", async () => {
    const harness = createHarness();
    const asked: string[] = [];
    const probe: Tool["probe"] = ({ key }) => {
      asked.push(key);
      return { kind: "absent" };
    };
    const of = payer({ effect: "probed", probe, ...said }, [busy, "paid"]);
    const agent = slowly(harness, of);
    const payload = await beginRun(harness.world, agent, {});
    const waits = await harness.advanceUntilSettled(drive(runnerOf(harness.world, agent), payload));
    expect(waits.route).toBe("wait");
    expect(asked).toEqual([]);
    const [open] = (await stateOf(harness.world, payload.run)).open;
    expect(open).toMatchObject({ status: "started", attempts: 1 });
    harness.clock.moveTo(open?.probeAt ?? 0);
    const reply = await harness.advanceUntilSettled(drive(runnerOf(harness.world, agent), waits));
    expect(reply.route).toBe("done");
    expect(asked).toHaveLength(1);
    expect(of.done).toHaveLength(2);
  });
});

test("nothing is retried after a request to end the run", async () => {
  const harness = createHarness();
  const of = payer({ retry: { attempts: 3 } }, [busy, busy, busy]);
  const pay = of.agent.tools["pay"] as Tool;
  const payload = await beginRun(harness.world, of.agent, {});
  const run: Tool["run"] = async (context) => {
    await sendRequest(harness.world, { run: payload.run, want: "cancel" });
    return pay.run(context);
  };
  const agent = { ...of.agent, tools: { ...of.agent.tools, pay: { ...pay, run } } };
  await harness.advanceUntilSettled(drive(runnerOf(harness.world, agent), payload));
  expect(of.done).toHaveLength(1);
  expect((await stateOf(harness.world, payload.run)).phase).toBe("Cancelled");
});

describe("after a try that timed out", () => {
  test("an error of a later try does not show that the call did not happen", async () => {
    const { keys, entry, results } = await outcomeOf(
      createHarness(),
      payer({ retry: { attempts: 2 } }, [silent, busy, busy]),
    );
    expect({ differentKeys: new Set(keys).size, keys: keys.length, status: entry?.status }).toEqual({
      differentKeys: 1,
      keys: 3,
      status: "unknown",
    });
    expect(JSON.stringify(results)).toContain("It may have happened");
  });

  test("the external service can show it, and then the call has failed", async () => {
    const { keys, entry } = await outcomeOf(createHarness(), payer({}, [silent, new Rejected("the card is declined")]));
    expect({ keys: keys.length, status: entry?.status }).toEqual({ keys: 2, status: "failed" });
  });

  test("a later try that succeeds settles the call as succeeded", async () => {
    const { keys, entry } = await outcomeOf(createHarness(), payer({}, [silent, busy]));
    expect({ keys: keys.length, status: entry?.status }).toEqual({ keys: 3, status: "succeeded" });
  });
});

test("no crash resets the bound: a call has three tries and one more per death, wherever processes die", async () => {
  const crashes = await forEachCrashPoint(async (crash) => {
    const harness = createHarness();
    const of = payer(
      { retry: { attempts: 3 } },
      Array.from({ length: 9 }, () => busy),
    );
    const payload = await beginRun(harness.world, of.agent, {});
    const { survives } = crashAtCall(harness.world, crash);
    const lives = await harness.advanceUntilSettled(survives((mortal) => drive(runnerOf(mortal, of.agent), payload)));
    if (!lives) {
      const row = await harness.world.table.read(payload.run, harness.clock.now());
      const execution = { ...payload, epoch: row?.epoch ?? 0 };
      if (row?.status !== "completed") await harness.advanceUntilSettled(takeOver(harness, of.agent, execution));
    }
    const [entry] = (await ledger(harness.world, payload.run)) ?? [];
    // Where a try may have left that nobody heard of, the errors of later ones say nothing of it.
    expect(lives ? ["failed"] : ["failed", "unknown"]).toContain(entry?.status);
    const events = (await timeline(harness.world, { run: payload.run, after: 0 })) ?? [];
    const again = events.filter((event) => event.kind === "RecoveryDecided" && event.action.kind === "again");
    expect(again).toHaveLength(2);
    expect(of.done.length).toBeLessThanOrEqual(lives ? 3 : 4);
    expect(new Set(of.done.map(({ key }) => key)).size).toBe(1);
    return lives;
  });
  expect(crashes).toBeGreaterThan(20);
});

/** The retry of the entry that died, or the next one where that had answered already. */
async function takeOver(harness: Harness, agent: Agent, payload: Parameters<typeof drive>[1]): Promise<void> {
  const runner = runnerOf(harness.world, agent);
  const retried = await attemptBeat(runner, payload, 1);
  if (retried.kind === "beat" && retried.reply.route === "beat") await drive(runner, retried.reply);
}

test.each<[string, Partial<Tool>, string]>([
  ["an unsafe tool", { effect: "unsafe", retry: { attempts: 2 } }, "never retried automatically"],
  ["no tries", { retry: { attempts: 0 } }, "write 1 to 3 attempts"],
  ["more tries than a call has", { retry: { attempts: 4 } }, "write 1 to 3 attempts"],
  ["half a try", { retry: { attempts: 1.5 } }, "write 1 to 3 attempts"],
  ["a pause that outlasts a beat", { retry: { attempts: 2, backoffMs: 10_001 } }, "write 0 to 10000 milliseconds"],
])("an agent is refused: %s", (_, said, why) => {
  expect(() => payer(said, [])).toThrow(AgentInvalid);
  expect(() => payer(said, [])).toThrow(why);
});
