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
import { attempt, begin, drive, runnerOf } from "../support/drive.ts";
import { type Stage, actor, callsThenOver, dieInTool, replyOf, rowOf, stage } from "../support/stage.ts";

const version = (agent: Agent, name: string): Agent => ({ ...agent, version: name });
const PINNED: Agent = { ...actor({ reply: callsThenOver(2) }), upgrade: "pin" };

const absent = (on: Stage): Runner => ({
  ...runnerOf(on.world, PINNED),
  agentOf: async () => ({ kind: "absent", why: "its file is broken" }),
});

const kindsOf = async (on: Stage, run: string) =>
  ((await timeline(on.world, { run, after: 0 })) ?? []).map((event) =>
    event.kind === "RecoveryDecided" ? event.action.kind : event.kind,
  );

/** A run that is pinned to version 1, and what its next beat comes with. */
async function held(on: Stage): Promise<Payload> {
  const payload = await begin(on.world, PINNED, {});
  const reply = await replyOf(attempt(runnerOf(on.world, PINNED), payload));
  const next = await replyOf(attempt(runnerOf(on.world, version(PINNED, "2")), reply));
  expect(next).toMatchObject({ route: "park", seconds: 30 });
  expect(rowOf(on, payload.run)).toMatchObject({ phase: "AwaitingAgent", status: "blocked", owner: null });
  return next;
}

const accept = (on: Stage, run: string) => acceptUpgrade(on.world, { run, by: "ann" });

describe("an agent that cannot be loaded", () => {
  test("is waited for: looked for soon, then ever more rarely; no look moves the deadline; it goes on where it was", async () => {
    const on = stage();
    let payload: Payload = await begin(on.world, PINNED, {});
    const waits: number[] = [];
    const deadlines = new Set<number>();
    for (let look = 0; look < 12; look += 1) {
      const reply = await replyOf(attempt(absent(on), payload));
      waits.push(reply.seconds);
      deadlines.add(rowOf(on, payload.run).deadline);
      on.clock.moveTo(on.clock.now() + reply.seconds * 1_000);
      payload = reply;
    }
    expect(waits).toEqual([30, 30, 60, 120, 240, 480, 960, 1_920, 3_600, 3_600, 3_600, 3_600]);
    expect(Math.max(...waits) * 1_000).toBe(TIMES.lookMsMax);
    expect(deadlines.size).toBe(1);
    expect(await kindsOf(on, payload.run)).toEqual(["hold"]);
    expect(await show(on.world, payload.run)).toMatchObject({
      waitsFor: { kind: "agent", why: "its file is broken" },
    });
    expect(await drive(runnerOf(on.world, PINNED), payload)).toMatchObject({ route: "done" });
    expect((await kindsOf(on, payload.run)).slice(0, 3)).toEqual(["hold", "RunResumed", "RunStarted"]);
  });

  test("that is another version when it comes back is noted by a run that follows", async () => {
    const on = stage();
    const agent = actor({ reply: callsThenOver(2) });
    const payload = await begin(on.world, agent, {});
    const first = await replyOf(attempt(runnerOf(on.world, agent), payload));
    const lost = await replyOf(attempt(absent(on), first));
    expect(await drive(runnerOf(on.world, version(agent, "2")), lost)).toMatchObject({ route: "done" });
    expect(await kindsOf(on, payload.run)).toEqual(expect.arrayContaining(["hold", "AgentChanged"]));
    expect(await kindsOf(on, payload.run)).not.toContain("RunResumed");
    expect(rowOf(on, payload.run).agentVersion).toBe("2");
  });
});

describe("a run that waits for an upgrade", () => {
  test("ends when somebody cancels it, without its agent", async () => {
    const on = stage();
    const payload = await held(on);
    expect(await sendRequest(on.world, { run: payload.run, want: "cancel" })).toBe("requested");
    expect(await replyOf(attempt(absent(on), payload))).toMatchObject({ route: "done" });
    expect(rowOf(on, payload.run).status).toBe("cancelled");
  });

  test("hears words meanwhile, and goes on with them", async () => {
    const on = stage();
    const payload = await held(on);
    await send(on.world, { run: payload.run, text: "hurry", by: "bob", id: "w1" });
    const still = await replyOf(attempt(runnerOf(on.world, version(PINNED, "2")), payload));
    expect(rowOf(on, payload.run).phase).toBe("AwaitingAgent");
    expect(await accept(on, payload.run)).toEqual({ kind: "accepted", from: "1", to: "2" });
    expect(await drive(runnerOf(on.world, version(PINNED, "2")), still)).toMatchObject({ route: "done" });
    const sources = (await transcript(on.world, payload.run))?.map(({ source }) => source);
    expect(sources).toContain("user:bob");
  });

  test("that is paused besides still waits when it is resumed, and goes on by one word that accepts", async () => {
    const on = stage();
    const payload = await held(on);
    const next = runnerOf(on.world, version(PINNED, "2"));
    const steer = (want: "pause" | "resume") => sendRequest(on.world, { run: payload.run, want });
    await steer("pause");
    const paused = await replyOf(attempt(next, payload));
    expect(rowOf(on, payload.run).status).toBe("paused");
    await steer("resume");
    const again = await replyOf(attempt(next, paused));
    expect(rowOf(on, payload.run)).toMatchObject({ status: "blocked", phase: "AwaitingAgent" });
    await steer("pause");
    const pausedAgain = await replyOf(attempt(next, again));
    expect(await show(on.world, payload.run)).toMatchObject({ status: "paused", waitsFor: { kind: "upgrade" } });
    expect(await accept(on, payload.run)).toMatchObject({ kind: "accepted" });
    expect(await drive(next, pausedAgain)).toMatchObject({ route: "done" });
  });

  test("takes one answer; who says it again, too late, or of a run that asks nothing, is told so", async () => {
    const on = stage();
    const payload = await held(on);
    const { run } = payload;
    expect(await accept(on, run)).toMatchObject({ kind: "accepted" });
    expect(await accept(on, run)).toEqual({ kind: "duplicate", to: "2" });
    expect(await show(on.world, run)).toMatchObject({ waitsFor: { accepted: true } });
    await drive(runnerOf(on.world, version(PINNED, "2")), payload);
    expect(await accept(on, run)).toEqual({ kind: "late" });
    expect(await accept(on, `local-${"b".repeat(26)}`)).toEqual({ kind: "missing" });
    const other = await begin(on.world, PINNED, {});
    expect(await accept(on, other.run)).toEqual({ kind: "stale", version: "1" });
  });

  test("keeps an acceptance until that version is there, also over a deployment that is broken", async () => {
    const on = stage();
    const payload = await held(on);
    await accept(on, payload.run);
    const broken = await replyOf(attempt(absent(on), payload));
    expect(await show(on.world, payload.run)).toMatchObject({ waitsFor: { kind: "agent" } });
    expect(await drive(runnerOf(on.world, version(PINNED, "2")), broken)).toMatchObject({ route: "done" });
  });

  test("cannot be unpinned by the version that it waits for", async () => {
    const on = stage();
    const payload = await held(on);
    const loose: Agent = { ...version(PINNED, "2"), upgrade: "follow" };
    await replyOf(attempt(runnerOf(on.world, loose), payload));
    expect(rowOf(on, payload.run).phase).toBe("AwaitingAgent");
  });
});

describe("a tool that is gone", () => {
  test("is told to the model where its call was approved and never started", async () => {
    const on = stage();
    let runs = 0;
    const agent = actor({ approval: "always", run: () => (runs += 1) });
    const payload = await begin(on.world, agent, {});
    const reply = await drive(runnerOf(on.world, agent), payload);
    const gate = (await show(on.world, payload.run))?.gates[0]?.gate ?? "";
    await decide(on.world, { run: payload.run, gate, as: "approve", args: null, by: "ann", note: null });
    const bare: Agent = { ...agent, version: "2", tools: {} };
    expect(await drive(runnerOf(on.world, bare), reply)).toMatchObject({ route: "done" });
    expect([await ledger(on.world, payload.run), runs]).toMatchObject([[{ status: "failed" }], 0]);
  });

  test.each([
    ["its tool", (agent: Agent): Agent => ({ ...agent, tools: {} })],
    ["its probe", (agent: Agent): Agent => ({ ...agent, tools: actor({ effect: "keyed" }).tools })],
  ])("keeps a probed call open without %s, and it is asked about when that is back", async (_, bereave) => {
    const on = stage();
    const asked: string[] = [];
    const probe = (key: string) => {
      asked.push(key);
      return { kind: "happened", result: "seen" };
    };
    const agent = actor({ effect: "probed", probe });
    const payload = await begin(on.world, agent, {});
    const key = await dieInTool(on, { payload, agent });
    const blocked = await replyOf(attempt(runnerOf(on.world, bereave(version(agent, "2"))), payload, 1));
    expect(rowOf(on, payload.run).status).toBe("blocked");
    const waiting = await drive(runnerOf(on.world, version(agent, "3")), blocked);
    on.clock.moveTo(on.clock.now() + waiting.seconds * 1_000);
    expect(await drive(runnerOf(on.world, version(agent, "3")), waiting)).toMatchObject({ route: "done" });
    expect(asked).toEqual([key]);
    expect(await ledger(on.world, payload.run)).toMatchObject([{ status: "reconciled" }]);
  });
});
