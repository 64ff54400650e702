/**
 * The failure shapes of ReAct: runaway, oscillation, premature stop. Each is signalled before the damage and
 * recovered from, and a process that dies at any call gives the run no fresh cap, escalation or correction.
 */
import { expect, test } from "vitest";
import { z } from "zod";
import type { Agent, Tool } from "../../../src/ports/agent.ts";
import { type Conversation, type ScriptedReply, check, react, scriptedModel, tool } from "../../../src/index.ts";
import { decide } from "../../../src/operations/decide.ts";
import { show, timeline } from "../../../src/operations/views.ts";
import { forSampledCrashPoints } from "../../support/faults/crash-at-call.ts";
import { playRun, roleAgent } from "../../support/runs/topology-run.ts";
import { MS } from "../../support/harness/harness.ts";

const BEATS = 6;
const mustStop = ({ messages }: Conversation): boolean =>
  messages.at(-1)?.text.startsWith("You have to stop now") === true;

/** Looks for ever. Each result is another one, so no loop is found and only the cap stops it. */
function wanderer(): { readonly agent: Agent; readonly paid: () => number } {
  let [looked, paid] = [0, 0];
  const look = tool({ input: z.object({}), effect: "none", run: () => (looked += 1) });
  const { agent } = roleAgent(react({ maxBeats: BEATS }), {
    ...{ tools: { look }, budget: { beats: BEATS } },
    reply: (conversation) => {
      if (mustStop(conversation)) return { text: "I did not find it." };
      paid += 1;
      return { calls: [{ tool: "look", args: {} }] };
    },
  });
  return { agent, paid: () => paid };
}

test("a runaway is signalled once at 80 % of the cap, and no crash gives the run a fresh cap", async () => {
  const crashes = await forSampledCrashPoints(async (crash) => {
    const { agent, paid } = wanderer();
    const { lives, shown, events } = await playRun(agent, { crash });
    expect(shown).toMatchObject({ status: "failed", failure: { code: "BudgetExhausted" }, beats: BEATS });
    const signals = events.flatMap((event) => (event.kind === "CrackSignalled" ? [event] : []));
    expect(signals).toMatchObject([{ crack: "runaway", why: `5 of ${BEATS} beats are used` }]);
    // The signal comes while a beat is left, so an operator can still act.
    const kinds = events.map(({ kind }) => kind);
    expect(kinds.indexOf("CrackSignalled")).toBeLessThan(kinds.lastIndexOf("ModelCallCompleted"));
    // A reply that died with its process is paid for besides; there is one at most.
    expect(paid()).toBeLessThanOrEqual(BEATS + 1);
    return lives;
  });
  expect(crashes).toBeGreaterThan(40);
});

const claims: Tool["claims"] = (result) => ({ "seat 4A is free": (result as { readonly free: boolean }).free });

/** The map and the list contradict each other. `told`: the model looks no further once it was told twice. */
function seats(onContradiction: "ask" | { readonly model: string }): Agent {
  let looked = 0;
  const look = (free: boolean): Tool =>
    tool({
      ...{ input: z.object({}), effect: "none", claims },
      run: () => ({ free, looked: (looked += 1) }),
    }) as Tool;
  const reply = (conversation: Conversation): ScriptedReply => {
    const { calls, messages } = conversation;
    const isTold = messages.filter(({ text }) => text.startsWith("Two results")).length > 1;
    if (isTold && calls.at(-1)?.outcome === "succeeded" && calls.length > 8) return { text: "Ada says the list." };
    return { calls: [{ tool: calls.length % 2 === 0 ? "map" : "list", args: {} }] };
  };
  return roleAgent(react({ maxBeats: 40, onContradiction }), {
    ...{ reply, tools: { map: look(true), list: look(false) } },
    models: { second: scriptedModel({ name: "second", reply: () => ({ text: "I believe the list." }) }) },
  }).agent;
}

test("an oscillation is put to a second model once, whoever dies where", async () => {
  const crashes = await forSampledCrashPoints(async (crash) => {
    const { lives, shown, moves, events, cracks } = await playRun(seats({ model: "second" }), { crash });
    expect(shown).toMatchObject({ status: "completed", result: "I believe the list.", topology: { role: "arbiter" } });
    expect(moves.map(({ note }) => note)).toEqual([expect.stringContaining("model second goes on")]);
    expect(cracks).toEqual(["oscillation", "oscillation"]);
    const kinds = events.map(({ kind }) => kind);
    expect(kinds.indexOf("CrackSignalled")).toBeLessThan(kinds.indexOf("TopologyMoved"));
    return lives;
  });
  expect(crashes).toBeGreaterThan(60);
});

test("an oscillation is put to a human, who lets the run go on; whoever dies where, it stays escalated", async () => {
  const crashes = await forSampledCrashPoints(async (crash) => {
    const agent = seats("ask");
    const { harness, run, lives, shown } = await playRun(agent, { crash });
    expect(shown).toMatchObject({ status: "waiting", phase: "AwaitingApproval" });
    const [gate] = shown?.gates ?? [];
    expect(gate?.reason).toContain("contradict each other");
    const said = { run, gate: gate?.gate ?? "", as: "approve", args: null, more: {}, by: "ann", note: null } as const;
    await decide(harness.world, said);
    await harness.runForTime(agent, MS.hour);
    expect(await show(harness.world, run)).toMatchObject({ status: "completed", result: "Ada says the list." });
    const events = (await timeline(harness.world, { run, after: 0 })) ?? [];
    expect(events.filter(({ kind }) => kind === "TopologyMoved")).toHaveLength(1);
    return lives;
  });
  expect(crashes).toBeGreaterThan(60);
});

test("a premature stop is signalled and corrected as often as without a crash, and never once more", async () => {
  const crashes = await forSampledCrashPoints(async (crash) => {
    const { agent } = roleAgent(react({ maxBeats: 40 }), {
      ...{ reply: () => ({ text: "I am done." }), done: [check("has-order", () => false)] },
    });
    const { lives, shown, events } = await playRun(agent, { crash });
    expect(shown).toMatchObject({ status: "failed", failure: { code: "NotDone" } });
    const signals = events.flatMap((event) => (event.kind === "CrackSignalled" ? [event.crack] : []));
    expect(signals).toEqual(["prematureStop", "prematureStop", "prematureStop", "prematureStop"]);
    return lives;
  });
  expect(crashes).toBeGreaterThan(20);
});
