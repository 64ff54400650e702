/** A run and the code that is deployed: what it waits for, what it costs meanwhile, and what reaches it all the same. */
import { describe, expect, test } from "vitest";
import type { Agent } from "../../src/ports/agent.ts";
import { TIMES } from "../../src/protocol/limits.ts";
import type { Payload } from "../../src/protocol/chain.ts";
import { decide } from "../../src/operations/decide.ts";
import { ledger, show, timeline, transcript } from "../../src/operations/views.ts";
import type { Runner } from "../../src/engine/context/runner.ts";
import { sendRequest } from "../../src/engine/loop/request.ts";
import { send } from "../../src/operations/steer.ts";
import { acceptUpgrade } from "../../src/operations/upgrade.ts";
import { attemptBeat, beginRun, drive, runnerOf } from "../support/harness/drive.ts";
import {
  type Harness,
  scriptedAgent,
  callsThenFinal,
  dieInTool,
  beatReply,
  createHarness,
} from "../support/harness/harness.ts";

const version = (agent: Agent, name: string): Agent => ({ ...agent, version: name });
const PINNED: Agent = { ...scriptedAgent({ reply: callsThenFinal(2) }), upgrade: "pin" };

const absent = (harness: Harness): Runner => ({
  ...runnerOf(harness.world, PINNED),
  agentOf: async () => ({ kind: "absent", why: "its file is broken" }),
});

const kindsOf = async (harness: Harness, run: string) =>
  ((await timeline(harness.world, { run, after: 0 })) ?? []).map((event) =>
    event.kind === "RecoveryDecided" ? event.action.kind : event.kind,
  );

/** A run that is pinned to version 1, and what its next beat comes with. */
async function held(harness: Harness): Promise<Payload> {
  const payload = await beginRun(harness.world, PINNED, {});
  const reply = await beatReply(attemptBeat(runnerOf(harness.world, PINNED), payload));
  const next = await beatReply(attemptBeat(runnerOf(harness.world, version(PINNED, "2")), reply));
  expect(next).toMatchObject({ route: "park", seconds: 30 });
  expect(harness.row(payload.run)).toMatchObject({ phase: "AwaitingAgent", status: "blocked", owner: null });
  return next;
}

const accept = (harness: Harness, run: string) => acceptUpgrade(harness.world, { run, by: "ann" });

describe("an agent that cannot be loaded", () => {
  test("is waited for with ever rarer polls that do not move the deadline; the run continues in its phase", async () => {
    const harness = createHarness();
    let payload: Payload = await beginRun(harness.world, PINNED, {});
    const waits: number[] = [];
    const deadlines = new Set<number>();
    for (let look = 0; look < 12; look += 1) {
      const reply = await beatReply(attemptBeat(absent(harness), payload));
      waits.push(reply.seconds);
      deadlines.add(harness.row(payload.run).deadline);
      harness.clock.moveTo(harness.clock.now() + reply.seconds * 1_000);
      payload = reply;
    }
    expect(waits).toEqual([30, 30, 60, 120, 240, 480, 960, 1_920, 3_600, 3_600, 3_600, 3_600]);
    expect(Math.max(...waits) * 1_000).toBe(TIMES.lookMsMax);
    expect(deadlines.size).toBe(1);
    expect(await kindsOf(harness, payload.run)).toEqual(["hold"]);
    expect(await show(harness.world, payload.run)).toMatchObject({
      waitsFor: { kind: "agent", why: "its file is broken" },
    });
    expect(await drive(runnerOf(harness.world, PINNED), payload)).toMatchObject({ route: "done" });
    expect((await kindsOf(harness, payload.run)).slice(0, 3)).toEqual(["hold", "RunResumed", "RunStarted"]);
  });

  test("that returns with another version is recorded by a run that follows", async () => {
    const harness = createHarness();
    const agent = scriptedAgent({ reply: callsThenFinal(2) });
    const payload = await beginRun(harness.world, agent, {});
    const first = await beatReply(attemptBeat(runnerOf(harness.world, agent), payload));
    const lost = await beatReply(attemptBeat(absent(harness), first));
    expect(await drive(runnerOf(harness.world, version(agent, "2")), lost)).toMatchObject({ route: "done" });
    expect(await kindsOf(harness, payload.run)).toEqual(expect.arrayContaining(["hold", "AgentChanged"]));
    expect(await kindsOf(harness, payload.run)).not.toContain("RunResumed");
    expect(harness.row(payload.run).agentVersion).toBe("2");
  });
});

describe("a run that waits for an upgrade", () => {
  test("ends when an operator cancels it, without its agent", async () => {
    const harness = createHarness();
    const payload = await held(harness);
    expect(await sendRequest(harness.world, { run: payload.run, want: "cancel" })).toBe("requested");
    expect(await beatReply(attemptBeat(absent(harness), payload))).toMatchObject({ route: "done" });
    expect(harness.row(payload.run).status).toBe("cancelled");
  });

  test("accepts messages meanwhile, and continues with them", async () => {
    const harness = createHarness();
    const payload = await held(harness);
    await send(harness.world, { run: payload.run, text: "hurry", by: "bob", id: "w1" });
    const still = await beatReply(attemptBeat(runnerOf(harness.world, version(PINNED, "2")), payload));
    expect(harness.row(payload.run).phase).toBe("AwaitingAgent");
    expect(await accept(harness, payload.run)).toEqual({ kind: "accepted", from: "1", to: "2" });
    expect(await drive(runnerOf(harness.world, version(PINNED, "2")), still)).toMatchObject({ route: "done" });
    const sources = (await transcript(harness.world, payload.run))?.map(({ source }) => source);
    expect(sources).toContain("user:bob");
  });

  test("that is also paused still waits after the resume, and continues after one acceptance", async () => {
    const harness = createHarness();
    const payload = await held(harness);
    const next = runnerOf(harness.world, version(PINNED, "2"));
    const steer = (want: "pause" | "resume") => sendRequest(harness.world, { run: payload.run, want });
    await steer("pause");
    const paused = await beatReply(attemptBeat(next, payload));
    expect(harness.row(payload.run).status).toBe("paused");
    await steer("resume");
    const again = await beatReply(attemptBeat(next, paused));
    expect(harness.row(payload.run)).toMatchObject({ status: "blocked", phase: "AwaitingAgent" });
    await steer("pause");
    const pausedAgain = await beatReply(attemptBeat(next, again));
    expect(await show(harness.world, payload.run)).toMatchObject({ status: "paused", waitsFor: { kind: "upgrade" } });
    expect(await accept(harness, payload.run)).toMatchObject({ kind: "accepted" });
    expect(await drive(next, pausedAgain)).toMatchObject({ route: "done" });
  });

  test("takes one answer; a repeated or late one, or one to another run, is refused", async () => {
    const harness = createHarness();
    const payload = await held(harness);
    const { run } = payload;
    expect(await accept(harness, run)).toMatchObject({ kind: "accepted" });
    expect(await accept(harness, run)).toEqual({ kind: "duplicate", to: "2" });
    expect(await show(harness.world, run)).toMatchObject({ waitsFor: { accepted: true } });
    await drive(runnerOf(harness.world, version(PINNED, "2")), payload);
    expect(await accept(harness, run)).toEqual({ kind: "late" });
    expect(await accept(harness, `local-${"b".repeat(26)}`)).toEqual({ kind: "missing" });
    const other = await beginRun(harness.world, PINNED, {});
    expect(await accept(harness, other.run)).toEqual({ kind: "stale", version: "1" });
  });

  test("keeps an acceptance until that version is deployed, also over a broken deployment", async () => {
    const harness = createHarness();
    const payload = await held(harness);
    await accept(harness, payload.run);
    const broken = await beatReply(attemptBeat(absent(harness), payload));
    expect(await show(harness.world, payload.run)).toMatchObject({ waitsFor: { kind: "agent" } });
    expect(await drive(runnerOf(harness.world, version(PINNED, "2")), broken)).toMatchObject({ route: "done" });
  });

  test("cannot be unpinned by the version that it waits for", async () => {
    const harness = createHarness();
    const payload = await held(harness);
    const loose: Agent = { ...version(PINNED, "2"), upgrade: "follow" };
    await beatReply(attemptBeat(runnerOf(harness.world, loose), payload));
    expect(harness.row(payload.run).phase).toBe("AwaitingAgent");
  });
});

describe("a removed tool", () => {
  test("is reported to the model when its call was approved and never started", async () => {
    const harness = createHarness();
    let runs = 0;
    const agent = scriptedAgent({ approval: "always", run: () => (runs += 1) });
    const payload = await beginRun(harness.world, agent, {});
    const reply = await drive(runnerOf(harness.world, agent), payload);
    const gate = (await show(harness.world, payload.run))?.gates[0]?.gate ?? "";
    await decide(harness.world, { run: payload.run, gate, as: "approve", args: null, by: "ann", note: null });
    const bare: Agent = { ...agent, version: "2", tools: {} };
    expect(await drive(runnerOf(harness.world, bare), reply)).toMatchObject({ route: "done" });
    expect({ ledger: await ledger(harness.world, payload.run), runs }).toMatchObject({
      ledger: [{ status: "failed" }],
      runs: 0,
    });
  });

  test.each([
    ["its tool", (agent: Agent): Agent => ({ ...agent, tools: {} })],
    ["its probe", (agent: Agent): Agent => ({ ...agent, tools: scriptedAgent({ effect: "keyed" }).tools })],
  ])("keeps a probed call open without %s, and is probed when it is back", async (_, bereave) => {
    const harness = createHarness();
    const asked: string[] = [];
    const probe = (key: string) => {
      asked.push(key);
      return { kind: "happened", result: "seen" };
    };
    const agent = scriptedAgent({ effect: "probed", probe });
    const payload = await beginRun(harness.world, agent, {});
    const key = await dieInTool(harness, { payload, agent });
    const blocked = await beatReply(attemptBeat(runnerOf(harness.world, bereave(version(agent, "2"))), payload, 1));
    expect(harness.row(payload.run).status).toBe("blocked");
    const waiting = await drive(runnerOf(harness.world, version(agent, "3")), blocked);
    harness.clock.moveTo(harness.clock.now() + waiting.seconds * 1_000);
    expect(await drive(runnerOf(harness.world, version(agent, "3")), waiting)).toMatchObject({ route: "done" });
    expect(asked).toEqual([key]);
    expect(await ledger(harness.world, payload.run)).toMatchObject([{ status: "reconciled" }]);
  });
});
