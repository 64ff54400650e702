/** Calls that fail and that their tool wants tried again: the same key, a bound that no crash resets, and an end in time. */
import { describe, expect, test } from "vitest";
import type { Agent, Tool } from "../../../src/ports/agent.ts";
import { AgentInvalid, OutcomeUnknown, Rejected } from "../../../src/index.ts";
import { ledger, timeline } from "../../../src/operations/views.ts";
import { sendRequest } from "../../../src/engine/loop/request.ts";
import { resultsOf, stateOf } from "../../support/asking.ts";
import { dying, everyCrash } from "../../support/crashing.ts";
import { asks, deeds } from "../../support/deeds.ts";
import { executionName } from "../../../src/protocol/ids.ts";
import { beat } from "../../../src/engine/loop/beat.ts";
import { attempt, begin, drive, runnerOf } from "../../support/drive.ts";
import { type Stage, passing, stage } from "../../support/stage.ts";

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
  const of = deeds({ reply: asks([["pay", "ada", 5]]), pay: said as object, run });
  return { ...of, agent: { ...of.agent, ...more } };
}

async function outcomeOf(on: Stage, { agent, done }: ReturnType<typeof payer>) {
  const payload = await begin(on.world, agent, {});
  const reply = await passing(on, drive(runnerOf(on.world, agent), payload));
  const events = (await timeline(on.world, { run: reply.run, after: 0 })) ?? [];
  const again = events.filter((event) => event.kind === "RecoveryDecided" && event.rule === RULE);
  const [entry] = (await ledger(on.world, reply.run)) ?? [];
  return { reply, events, again, entry, keys: done.map(({ key }) => key), results: await resultsOf(on, reply.run) };
}

test.each(["none", "keyed", "probed"] as const)("%s: is tried again with its key", async (effect) => {
  const on = stage();
  const probe = effect === "probed" ? { probe: () => ({ kind: "unknown" }) as const } : {};
  const of = payer({ effect, ...probe, retry: { attempts: 3 } }, [busy, busy, "paid"]);
  const { reply, again, entry, keys, results } = await outcomeOf(on, of);
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

describe("the model is told of the failure", () => {
  test.each<[string, Tool["retry"], readonly unknown[], number, string]>([
    ["where the tool says nothing of it", null, [busy], 1, "the tool threw"],
    ["after one try", { attempts: 1 }, [busy], 1, "the tool threw"],
    ["after the last try", { attempts: 2 }, [busy, busy], 2, "the tool threw, in the last of 2 tries"],
    ["where its tool wants none", { attempts: 3, when: (error) => error !== busy }, [busy], 1, "wants no other try"],
    ["where asking its tool throws", { attempts: 3, when: () => JSON.parse("{") as boolean }, [busy], 1, "retry.when:"],
    [
      "where its tool takes its time",
      { attempts: 3, when: (() => Promise.reject(busy)) as never },
      [busy],
      1,
      "gave neither true nor false",
    ],
  ])("%s", async (_, retry, ends, tries, evidence) => {
    const { reply, entry, keys, results } = await outcomeOf(stage(), payer({ retry }, ends));
    expect(reply.route).toBe("done");
    expect(keys).toHaveLength(tries);
    expect(entry?.status).toBe("failed");
    expect(entry?.evidence).toContain(evidence);
    expect(results).toMatchObject([{ outcome: "failed", value: { json: "503 busy" } }]);
  });

  test("where no time at work is left", async () => {
    const on = stage();
    const limits = { wallMs: 50, microUsd: null, tokens: null, toolCalls: null, beats: 9 } as const;
    const budget = { ...limits, onExhausted: "stop", takeovers: 9 } as const;
    const slow = payer({ retry: { attempts: 3 } }, [], { budget });
    const pay = slow.agent.tools["pay"] as Tool;
    const run = (): never => {
      on.clock.moveTo(on.clock.now() + 60);
      throw busy;
    };
    const agent = { ...slow.agent, tools: { ...slow.agent.tools, pay: { ...pay, run } } };
    const { again, entry } = await outcomeOf(on, { ...slow, agent });
    expect(again).toEqual([]);
    expect(entry?.evidence).toBe("the tool threw, and no time at work is left for another try");
  });
});

test("what exists already is no failure that is tried again", async () => {
  const onExists = (error: unknown): unknown => (error === busy ? "R7" : null);
  const { again, entry } = await outcomeOf(stage(), payer({ onExists, retry: { attempts: 3 } }, [busy]));
  expect(again).toEqual([]);
  expect(entry).toMatchObject({ status: "reconciled" });
});

test("before each further try it waits, twice as long as before the one before", async () => {
  const on = stage();
  const at: number[] = [];
  const of = payer({ timeoutMs: 100, retry: { attempts: 3, backoffMs: 200 } }, []);
  const pay = of.agent.tools["pay"] as Tool;
  const run = (): never => {
    at.push(on.clock.now());
    throw busy;
  };
  await outcomeOf(on, { ...of, agent: { ...of.agent, tools: { ...of.agent.tools, pay: { ...pay, run } } } });
  const [first = 0, second = 0, third = 0] = at;
  expect([second - first, third - second]).toEqual([200, 400]);
});

test("a process that is asked to end does not wait for it; the next one goes on", async () => {
  const on = stage();
  const of = payer({ timeoutMs: 100, retry: { attempts: 2, backoffMs: 2_000 } }, [busy, "paid"]);
  const runner = runnerOf(on.world, of.agent);
  const payload = await begin(on.world, of.agent, {});
  const drain = new AbortController();
  const told = { execution: executionName(payload.run, payload.born, 1), epoch: 0, retry: 0 };
  const deadline = on.clock.now() + on.world.limits.beatMs;
  on.clock.after(1, () => drain.abort());
  const first = await passing(on, beat(runner, { payload, attempt: told }, { deadline, drain: drain.signal }));
  expect(on.clock.now()).toBeLessThan(deadline - 2_000);
  expect(of.done).toHaveLength(1);
  const reply = await passing(on, drive(runner, first.kind === "beat" ? first.reply : payload));
  expect(reply.route).toBe("done");
  expect(of.done).toHaveLength(2);
});

describe("without time for another try", () => {
  // A beat of 3 s keeps half a second free to commit: the first try leaves too little for the second one.
  const said = { timeoutMs: 2_000, retry: { attempts: 2 } };
  const slowly = (on: Stage, of: ReturnType<typeof payer>) => {
    const pay = of.agent.tools["pay"] as Tool;
    const run: Tool["run"] = (context) => {
      on.clock.moveTo(on.clock.now() + 1_000);
      return pay.run(context);
    };
    return { ...of.agent, tools: { ...of.agent.tools, pay: { ...pay, run } } };
  };

  test("a keyed call is tried by the next invocation", async () => {
    const on = stage();
    const of = payer(said, [busy, "paid"]);
    const agent = slowly(on, of);
    const payload = await begin(on.world, agent, {});
    const first = await passing(on, attempt(runnerOf(on.world, agent), payload));
    expect(first).toMatchObject({ kind: "beat", reply: { route: "beat" } });
    expect((await stateOf(on.world, payload.run)).open).toMatchObject([{ status: "started", tries: 1 }]);
    expect(of.done).toHaveLength(1);
    const last = await passing(on, drive(runnerOf(on.world, agent), first.kind === "beat" ? first.reply : payload));
    expect(last.route).toBe("done");
    expect(of.done).toHaveLength(2);
    expect(await resultsOf(on, payload.run)).toMatchObject([{ outcome: "succeeded" }]);
  });

  test("a probed one is asked about first: only the epoch that released it may start it", async () => {
    const on = stage();
    const asked: string[] = [];
    const probe: Tool["probe"] = ({ key }) => {
      asked.push(key);
      return { kind: "absent" };
    };
    const of = payer({ effect: "probed", probe, ...said }, [busy, "paid"]);
    const agent = slowly(on, of);
    const payload = await begin(on.world, agent, {});
    const waits = await passing(on, drive(runnerOf(on.world, agent), payload));
    expect(waits.route).toBe("wait");
    expect(asked).toEqual([]);
    const [open] = (await stateOf(on.world, payload.run)).open;
    expect(open).toMatchObject({ status: "started", tries: 1 });
    on.clock.moveTo(open?.probeAt ?? 0);
    const reply = await passing(on, drive(runnerOf(on.world, agent), waits));
    expect(reply.route).toBe("done");
    expect(asked).toHaveLength(1);
    expect(of.done).toHaveLength(2);
  });
});

test("nothing is tried again once somebody has asked the run to end", async () => {
  const on = stage();
  const of = payer({ retry: { attempts: 3 } }, [busy, busy, busy]);
  const pay = of.agent.tools["pay"] as Tool;
  const payload = await begin(on.world, of.agent, {});
  const run: Tool["run"] = async (context) => {
    await sendRequest(on.world, { run: payload.run, want: "cancel" });
    return pay.run(context);
  };
  const agent = { ...of.agent, tools: { ...of.agent.tools, pay: { ...pay, run } } };
  await passing(on, drive(runnerOf(on.world, agent), payload));
  expect(of.done).toHaveLength(1);
  expect((await stateOf(on.world, payload.run)).phase).toBe("Cancelled");
});

describe("after a try that gave no answer", () => {
  test("an error of a later one does not say that the call did not happen", async () => {
    const { keys, entry, results } = await outcomeOf(stage(), payer({ retry: { attempts: 2 } }, [silent, busy, busy]));
    expect([new Set(keys).size, keys.length, entry?.status]).toEqual([1, 3, "unknown"]);
    expect(JSON.stringify(results)).toContain("It may have happened");
  });

  test("the other side can say so, and then it has failed", async () => {
    const { keys, entry } = await outcomeOf(stage(), payer({}, [silent, new Rejected("the card is declined")]));
    expect([keys.length, entry?.status]).toEqual([2, "failed"]);
  });

  test("a later one that succeeds has succeeded, whatever was before", async () => {
    const { keys, entry } = await outcomeOf(stage(), payer({}, [silent, busy]));
    expect([keys.length, entry?.status]).toEqual([3, "succeeded"]);
  });
});

test("no crash resets the bound: whoever dies where, it is tried three times and once more for each death", async () => {
  const crashes = await everyCrash(async (crash) => {
    const on = stage();
    const of = payer(
      { retry: { attempts: 3 } },
      Array.from({ length: 9 }, () => busy),
    );
    const payload = await begin(on.world, of.agent, {});
    const { survives } = dying(on.world, crash);
    const lives = await passing(
      on,
      survives((mortal) => drive(runnerOf(mortal, of.agent), payload)),
    );
    if (!lives) {
      const row = await on.world.table.read(payload.run, on.clock.now());
      const execution = { ...payload, epoch: row?.epoch ?? 0 };
      if (row?.status !== "completed") await passing(on, takeOver(on, of.agent, execution));
    }
    const [entry] = (await ledger(on.world, payload.run)) ?? [];
    // Where a try may have left that nobody heard of, the errors of later ones say nothing of it.
    expect(lives ? ["failed"] : ["failed", "unknown"]).toContain(entry?.status);
    const events = (await timeline(on.world, { run: payload.run, after: 0 })) ?? [];
    const again = events.filter((event) => event.kind === "RecoveryDecided" && event.action.kind === "again");
    expect(again).toHaveLength(2);
    expect(of.done.length).toBeLessThanOrEqual(lives ? 3 : 4);
    expect(new Set(of.done.map(({ key }) => key)).size).toBe(1);
    return lives;
  });
  expect(crashes).toBeGreaterThan(20);
});

/** The retry of the entry that died, or the next one where that had answered already. */
async function takeOver(on: Stage, agent: Agent, payload: Parameters<typeof drive>[1]): Promise<void> {
  const runner = runnerOf(on.world, agent);
  const retried = await attempt(runner, payload, 1);
  if (retried.kind === "beat" && retried.reply.route === "beat") await drive(runner, retried.reply);
}

test.each<[string, Partial<Tool>, string]>([
  ["an unsafe tool", { effect: "unsafe", retry: { attempts: 2 } }, "never retried automatically"],
  ["no try", { retry: { attempts: 0 } }, "write 1 to 3 attempts"],
  ["more tries than a call has", { retry: { attempts: 4 } }, "write 1 to 3 attempts"],
  ["half a try", { retry: { attempts: 1.5 } }, "write 1 to 3 attempts"],
  ["a pause that outlasts a beat", { retry: { attempts: 2, backoffMs: 10_001 } }, "write 0 to 10000 milliseconds"],
])("an agent is refused: %s", (_, said, why) => {
  expect(() => payer(said, [])).toThrow(AgentInvalid);
  expect(() => payer(said, [])).toThrow(why);
});
