/** Answers and events: what is refused before any write, what is checked again by the beat, and what a run keeps. */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { askHuman, waitFor } from "../../src/index.ts";
import { listGates } from "../../src/operations/approvals.ts";
import { sendRequest } from "../../src/engine/loop/request.ts";
import { showOperation } from "../../src/operations/show.operation.ts";
import { show } from "../../src/operations/views.ts";
import { BOUNDS } from "../../src/core/limits.ts";
import type { Agent } from "../../src/ports/agent.ts";
import {
  type WaitingAgentOptions,
  LIMIT_MS,
  answerCall,
  callsOnce,
  signalEvent,
  waitingAgent,
  waitsOf,
} from "../support/agents/waiting-agent.ts";
import { approvalAgent, stateOf } from "../support/agents/approval-agent.ts";
import { startKeyedRun, sweep } from "../support/harness/chain-steps.ts";
import { createChainHarness } from "../support/harness/harness.ts";

async function waiting(of: WaitingAgentOptions = {}, agent: Agent = waitingAgent(of)) {
  const harness = createChainHarness();
  const { run } = await startKeyedRun(harness.world, { agent, key: "k" });
  await harness.runUntilIdle(agent);
  const { world } = harness;
  return { harness, world, run, agent, goOn: () => harness.runUntilIdle(agent) };
}

const resultOf = async ({ world, run }: Awaited<ReturnType<typeof waiting>>) => (await show(world, run))?.result;

describe("an answer", () => {
  test("that does not fit is refused before any write, with the path", async () => {
    const { world, harness, run, agent } = await waiting();
    const wrong = await answerCall(world, run, { agent, result: { yes: "maybe" } });
    expect(wrong).toMatchObject({ kind: "answerInvalid", why: expect.stringMatching(/^yes: Invalid input/) });
    expect(harness.row(run).wakeCount).toBe(harness.row(run).wakeCountSeen);
  });

  test("that only the beat can check is refused there, and the question is open again under the next number", async () => {
    const at = await waiting();
    const { world, run } = at;
    expect(await answerCall(world, run, { result: { yes: "maybe" } })).toMatchObject({ kind: "accepted" });
    await at.goOn();
    expect(await waitsOf(world, run)).toMatchObject([
      { call: "c1", asked: 2, answered: false, refused: expect.stringContaining("yes: Invalid input") },
    ]);
    expect(await answerCall(world, run, { result: { yes: true } })).toMatchObject({ kind: "accepted" });
    await at.goOn();
    expect(await resultOf(at)).toMatchObject([{ outcome: "succeeded", result: { yes: true } }]);
  });

  test("is asked for by the form that judges it, also where a deploy has changed that", async () => {
    const { world, run, agent } = await waiting();
    const ask = askHuman({ answer: z.object({ city: z.string() }) });
    const deployed = { ...agent, tools: { ...agent.tools, ask } } as unknown as Agent;
    const formWith = async (code: Agent | null) => {
      const context = { world, agentOf: async () => code } as unknown as Parameters<typeof showOperation.run>[0];
      const seen = await showOperation.run(context, { run }, {} as never);
      return seen.kind === "shown" ? seen.shown.waits[0]?.schema : seen;
    };
    expect(await formWith(agent)).toMatchObject({ required: ["yes"] });
    expect(await formWith(deployed)).toMatchObject({ required: ["city"] });
    expect(await formWith(null)).toMatchObject({ required: ["yes"] });
    expect(await answerCall(world, run, { agent: deployed, result: { yes: true } })).toMatchObject({
      kind: "answerInvalid",
    });
  });

  test("to no open question is refused, and names the calls that ask", async () => {
    const { world, run } = await waiting({ reply: callsOnce("ask", "paid") });
    const answers = [
      answerCall(world, run, { call: "c2", result: 1 }),
      answerCall(world, run, { call: "c9", result: 1 }),
    ];
    for (const refused of await Promise.all(answers)) {
      expect(refused).toEqual({ kind: "stale", calls: ["c1"], why: null });
    }
    expect(await answerCall(world, `local-${"z".repeat(26)}`, { result: 1 })).toEqual({ kind: "missing" });
  });

  test("with a credential is refused, and nothing of it is written", async () => {
    const { world, run } = await waiting();
    const token = `ghp_${"a1B2".repeat(9)}`;
    expect(await answerCall(world, run, { result: { yes: token } })).toMatchObject({ kind: "refused" });
  });

  test("after the end is late, or the recorded one", async () => {
    const at = await waiting();
    await answerCall(at.world, at.run, { result: { yes: true } });
    await at.goOn();
    expect(await answerCall(at.world, at.run, { result: { yes: false } })).toMatchObject({
      kind: "duplicate",
      answer: { result: { yes: true }, by: "ann" },
    });
    expect(await answerCall(at.world, at.run, { call: "c7", result: 1 })).toEqual({ kind: "late" });
  });

  test("is listed as an open question until it is given", async () => {
    const at = await waiting({ reply: callsOnce("ask", "paid", "rest") });
    const page = { tenant: "local", after: null, bytesMax: null };
    const schema = { type: "object", required: ["yes"] };
    expect((await listGates(at.world, page)).questions).toMatchObject([
      { run: at.run, call: "c1", args: { question: "Is it right?" }, schema, until: null },
    ]);
    await answerCall(at.world, at.run, { result: { yes: true } });
    expect((await listGates(at.world, page)).questions).toEqual([]);
  });
});

describe("a limit", () => {
  test.each([
    ["tell", "completed", [{ outcome: "failed", result: expect.stringMatching(/^NoAnswer: no answer came by 20/) }]],
    [{ take: { yes: false } }, "completed", [{ outcome: "succeeded", result: { yes: false } }]],
  ] as const)("with %j ends the wait", async (atLimit, status, result) => {
    const at = await waiting({ reply: callsOnce("askFor"), atLimit });
    at.harness.clock.moveTo(at.harness.clock.now() + LIMIT_MS);
    await at.goOn();
    expect(at.harness.row(at.run).status).toBe(status);
    expect(await resultOf(at)).toMatchObject(result);
  });

  test("with fail fails the run, and its wait is settled", async () => {
    const at = await waiting({ reply: callsOnce("askFor", "paid"), atLimit: "fail" });
    at.harness.clock.moveTo(at.harness.clock.now() + LIMIT_MS);
    await at.goOn();
    expect(await show(at.world, at.run)).toMatchObject({ status: "failed", failure: { code: "NoAnswer" }, waits: [] });
  });

  test("that passes in a paused run ends the wait after the resume", async () => {
    const at = await waiting({ reply: callsOnce("askFor") });
    await sendRequest(at.world, { run: at.run, want: "pause" });
    await at.goOn();
    at.harness.clock.moveTo(at.harness.clock.now() + LIMIT_MS);
    await at.goOn();
    expect(at.harness.row(at.run).status).toBe("paused");
    expect(await waitsOf(at.world, at.run)).toMatchObject([{ call: "c1", answered: false }]);
    await sendRequest(at.world, { run: at.run, want: "resume" });
    await at.goOn();
    expect(await resultOf(at)).toMatchObject([{ outcome: "failed" }]);
  });

  test("costs no time at work and no budget while the run waits", async () => {
    const at = await waiting({ reply: callsOnce("askFor") });
    const before = at.harness.row(at.run).spent;
    at.harness.clock.moveTo(at.harness.clock.now() + LIMIT_MS - 1);
    await answerCall(at.world, at.run, { result: { yes: true } });
    await at.goOn();
    const { wallMs = 0 } = at.harness.row(at.run).spent;
    expect(wallMs - (before.wallMs ?? 0)).toBeLessThan(60_000);
  });
});

describe("an event", () => {
  test("whose ID is known is known whatever the run takes now: before the beat reads it, and after it", async () => {
    const reply = callsOnce("paid", "ask");
    const at = await waiting({ reply });
    const { world, run, agent } = at;
    const paid = waitFor({ event: "paid", detail: z.object({ euros: z.number(), from: z.string() }), timeLimit: "5h" });
    const deployed = { ...agent, tools: { ...agent.tools, paid } } as unknown as Agent;
    expect(await signalEvent(world, run, { agent })).toEqual({ kind: "accepted", call: "c1" });
    const repeated = async () => [
      await signalEvent(world, run, { agent: deployed }),
      await signalEvent(world, run, { agent: deployed, detail: { euros: 6 } }),
    ];
    expect(await repeated()).toEqual([{ kind: "duplicate" }, { kind: "conflict" }]);
    expect(await signalEvent(world, run, { agent: deployed, id: "new" })).toMatchObject({ kind: "detailInvalid" });
    await at.goOn();
    await sendRequest(world, { run, want: "cancel" });
    expect(await repeated()).toEqual([{ kind: "duplicate" }, { kind: "conflict" }]);
    expect(await signalEvent(world, run, { agent: deployed, id: "new" })).toMatchObject({ kind: "refused" });
  });

  test("whose ID is known is the same in whatever order its members stand", async () => {
    const at = await waiting({ reply: callsOnce("paid", "ask") });
    const { world, run, agent } = at;
    const detail = { by: { name: "ada", city: "bern" }, euros: 5 };
    expect(await signalEvent(world, run, { agent, detail })).toMatchObject({ kind: "accepted" });
    await at.goOn();
    await sendRequest(world, { run, want: "cancel" });
    const turned = { euros: 5, by: { city: "bern", name: "ada" } };
    for (const again of [detail, turned])
      expect(await signalEvent(world, run, { agent, detail: again })).toEqual({ kind: "duplicate" });
  });

  test("is refused as before where the beginning of the history cannot be read", async () => {
    const at = await waiting({ reply: callsOnce("paid", "paid", "ask") });
    const { world, run, agent } = at;
    expect(await signalEvent(world, run, { agent })).toMatchObject({ kind: "accepted" });
    await at.goOn();
    const newest = at.harness.row(run).snapshot.key;
    const get: typeof world.objects.get = async (key) =>
      key.includes("/snapshots/") && key !== newest ? null : world.objects.get(key);
    const lossy = { ...world, objects: { ...world.objects, get } };
    expect(await signalEvent(lossy, run, { agent, detail: "wrong", id: "new" })).toMatchObject({
      kind: "detailInvalid",
    });
    expect(await signalEvent(lossy, run, { agent, detail: "wrong" })).toEqual({ kind: "conflict" });
  });

  test("ends the wait that began first, and one wait only", async () => {
    const at = await waiting({ reply: callsOnce("paid", "paid", "ask") });
    expect(await signalEvent(at.world, at.run, { agent: at.agent })).toEqual({ kind: "accepted", call: "c1" });
    await at.goOn();
    expect((await waitsOf(at.world, at.run)).map(({ call }) => call)).toEqual(["c2", "c3"]);
    expect(at.harness.row(at.run).status).toBe("waiting");
  });

  test("ends the next wait if it comes before a beat has taken the first", async () => {
    const at = await waiting({ reply: callsOnce("paid", "paid", "paid") });
    await signalEvent(at.world, at.run, { id: "first" });
    await signalEvent(at.world, at.run, { id: "second", detail: { euros: 6 } });
    await at.goOn();
    expect((await waitsOf(at.world, at.run)).map(({ call }) => call)).toEqual(["c3"]);
    expect(at.harness.row(at.run)).toMatchObject({ status: "waiting", phase: "ExecutingTools" });
  });

  test("is one event per ID, and another detail under its ID is refused", async () => {
    const { world, run } = await waiting({ reply: callsOnce("ask") });
    expect(await signalEvent(world, run, { id: "a" })).toEqual({ kind: "accepted", call: null });
    expect(await signalEvent(world, run, { id: "a" })).toEqual({ kind: "duplicate" });
    expect(await signalEvent(world, run, { id: "a", detail: { euros: 6 } })).toEqual({ kind: "conflict" });
    expect(await signalEvent(world, run, { id: "a", event: "shipped" })).toEqual({ kind: "conflict" });
  });

  test("that does not fit is refused before any write, or by the beat, and the call waits on", async () => {
    const at = await waiting({ reply: callsOnce("paid", "ask") });
    const { world, run, agent } = at;
    expect(await signalEvent(world, run, { agent, detail: "no" })).toMatchObject({ kind: "detailInvalid" });
    await signalEvent(world, run, { detail: "no", id: "wrong" });
    await signalEvent(world, run, { id: "right" });
    await at.goOn();
    expect((await waitsOf(world, run)).map(({ call }) => call)).toEqual(["c2"]);
  });

  test("is kept before its wait, up to a bound", async () => {
    const at = await waiting({ reply: callsOnce("ask") });
    for (let index = 0; index < BOUNDS.signalsMax; index += 1) await signalEvent(at.world, at.run, { id: `${index}` });
    await at.goOn();
    expect((await stateOf(at.world, at.run)).signals).toHaveLength(BOUNDS.signalsMax);
    const refused = { kind: "refused", why: `${BOUNDS.signalsMax} events are kept already that no call waits for` };
    expect(await signalEvent(at.world, at.run, { id: "one more" })).toEqual(refused);
  });

  test("to a run whose agent waits for none is refused", async () => {
    const { world, run } = await waiting({}, approvalAgent());
    const refused = { kind: "refused", why: "no tool of its agent waits for events" };
    expect(await signalEvent(world, run)).toEqual(refused);
  });

  test.each(["", "a b", "x".repeat(65), "é"])("with the name %j is refused", async (event) => {
    const { world, run } = await waiting();
    expect(await signalEvent(world, run, { event })).toMatchObject({ kind: "refused" });
  });
});

test("a run that waits holds no process, and the sweeper leaves it alone", async () => {
  const { harness, run } = await waiting();
  expect(harness.row(run)).toMatchObject({ status: "waiting", owner: null, park: expect.anything() });
  const before = harness.row(run).version;
  harness.clock.moveTo(harness.clock.now() + 3_600_000);
  await sweep(harness.world);
  expect(harness.row(run).version).toBe(before);
  expect(await waitsOf(harness.world, run)).toMatchObject([{ call: "c1", for: "answer", answered: false }]);
});
