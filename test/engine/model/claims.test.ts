/** Tools that contradict each other: the model is told once, and then the run is stopped. */
import { expect, test } from "vitest";
import { z } from "zod";
import type { Agent, Tool } from "../../../src/ports/agent.ts";
import type { World } from "../../../src/ports/world.ts";
import { type OnContradiction } from "../../../src/core/topologies/react.ts";
import { type Conversation, type ScriptedReply, defineAgent, react, scriptedModel, tool } from "../../../src/index.ts";
import { show, timeline } from "../../../src/operations/views.ts";
import { beginRun, drive, runnerOf } from "../../support/harness/drive.ts";
import { FINAL_REPLY, createHarness } from "../../support/harness/harness.ts";

interface StatedResult {
  readonly claims?: Tool["claims"];
  readonly loops?: Agent["loops"];
  /** Characters of each result besides what it claims. */
  readonly bulk?: number;
  readonly reply?: (conversation: Conversation) => ScriptedReply;
  readonly onContradiction?: OnContradiction;
}

const factIn: Tool["claims"] = (result) => ({ "seat 4A is free": (result as { readonly free: boolean }).free });
const sawContradiction = ({ messages }: Conversation): boolean =>
  messages.some(({ text }) => text.startsWith("Two results"));
const mustStop = ({ messages }: Conversation): boolean => messages.at(-1)?.text.startsWith("You have to stop") === true;

/** Looks at the map and at the list in turns; every result is another one, so nothing else is a loop. */
async function seats({ claims = factIn, loops = "stop", bulk = 0, reply, onContradiction = "stop" }: StatedResult) {
  const harness = createHarness();
  let looked = 0;
  const look = (free: boolean): Tool =>
    tool({
      ...{ input: z.object({}), effect: "none", claims },
      run: () => ({ free, looked: (looked += 1), more: "x".repeat(bulk) }),
    }) as Tool;
  const turn = (conversation: Conversation): ScriptedReply => {
    if (mustStop(conversation)) return { text: "the map and the list differ" };
    return { calls: [{ tool: conversation.calls.length % 2 === 0 ? "map" : "list", args: {} }] };
  };
  const agent = defineAgent({
    ...{ name: "seats", version: "1", instructions: "", task: z.object({}), loops, budget: { beats: 12 } },
    model: scriptedModel({ name: "script", reply: reply ?? turn }),
    tools: { map: look(true), list: look(false) },
    topology: react({ maxBeats: 40, onContradiction }),
    models: { second: scriptedModel({ name: "second", reply: () => ({ text: "I believe the list." }) }) },
  }) as Agent;
  const lines: unknown[] = [];
  const world: World = { ...harness.world, telemetry: { record: (record) => void lines.push(record.detail["line"]) } };
  const payload = await beginRun(world, agent, {});
  await harness.advanceUntilSettled(drive(runnerOf(world, agent), payload));
  const events = (await timeline(world, { run: payload.run, after: 0 })) ?? [];
  const rules = events.flatMap((event) => (event.kind === "RecoveryDecided" ? [event.rule] : []));
  return { events, rules, lines: lines.filter(Boolean), shown: await show(world, payload.run), looked };
}

const TELLS = "results contradict each other, model is told";

test("a contradiction is reported to the model first, and a run that continues it is stopped", async () => {
  const { events, rules, shown, looked } = await seats({});
  expect(rules).toEqual([TELLS, "loop detector"]);
  const why = 'map and list contradict each other about "seat 4A is free", again and again';
  expect(events.filter(({ kind }) => kind === "CrackSignalled")).toMatchObject([
    { crack: "oscillation", why },
    { crack: "oscillation", why },
  ]);
  expect(looked).toBe(8);
  expect(shown).toMatchObject({ status: "failed", failure: { code: "Contradiction" } });
  expect(shown?.failure?.message).toContain("Its last words: the map and the list differ");
  const told = events.find((event) => event.kind === "RecoveryDecided");
  expect(told).toMatchObject({ action: { text: expect.stringContaining("map says true, and list says false") } });
});

test("a model that resolves the contradiction completes", async () => {
  const reply = (conversation: Conversation): ScriptedReply => {
    if (sawContradiction(conversation)) return FINAL_REPLY;
    return { calls: [{ tool: conversation.calls.length % 2 === 0 ? "map" : "list", args: {} }] };
  };
  const { rules, shown } = await seats({ reply });
  expect(rules).toEqual([TELLS]);
  expect(shown).toMatchObject({ status: "completed", beats: 5 });
});

test("results that are stored outside of the state are read for contradictions as well", async () => {
  expect((await seats({ bulk: 20_000 })).rules).toEqual([TELLS, "loop detector"]);
});

test.each<[string, StatedResult]>([
  ["whose agent may go in circles", { loops: "ignore" }],
  ["whose tools claim nothing", { claims: null }],
  ["whose tools claim the same", { claims: () => ({ "seat 4A exists": true }) }],
])("nothing is reported in a run %s", async (_, said) => {
  const { rules, shown, lines } = await seats(said);
  expect(rules[0]).toBe("budget exhausted");
  expect(shown).toMatchObject({ failure: { code: "BudgetExhausted" }, beats: 12 });
  expect(lines).toEqual([]);
});

test.each<[string, unknown, string]>([
  ["throws", () => JSON.parse("{"), "JSON"],
  ["takes its time", () => Promise.reject(new Error("late")), "claims cannot be read"],
  ["are no facts", () => ["seat 4A"], "they are no record"],
  ["cannot be kept", () => ({ seat: 1n }), "a bigint is not JSON"],
])("claims whose code %s count as none, and a log line says so", async (_, claims, line) => {
  const { rules, lines } = await seats({ claims: claims as Tool["claims"] });
  expect(rules[0]).toBe("budget exhausted");
  expect(lines[0]).toContain(line);
});

test("a contradiction that goes on is put to another model, if the agent wants that", async () => {
  const { rules, shown, events } = await seats({ onContradiction: { model: "second" } });
  expect(rules).toEqual([TELLS]);
  const models = events.flatMap((event) => (event.kind === "ModelCallCompleted" ? [event.model] : []));
  expect([models.at(-2), models.at(-1)]).toEqual(["scripted:script", "scripted:second"]);
  expect(shown).toMatchObject({ status: "completed", result: "I believe the list.", topology: { role: "arbiter" } });
});

test("or to a human, who approves each call from there on", async () => {
  const { shown } = await seats({ onContradiction: "ask" });
  expect(shown).toMatchObject({ status: "waiting", phase: "AwaitingApproval" });
  const reason = 'map and list contradict each other about "seat 4A is free", again and again';
  expect(shown?.gates).toMatchObject([{ tool: "map", reason }]);
});

test("80 % of the beats are a first signal, given once while beats are left", async () => {
  const { events, shown } = await seats({ loops: "ignore" });
  const signals = events.filter((event) => event.kind === "CrackSignalled");
  expect(signals).toMatchObject([{ crack: "runaway", why: "10 of 12 beats are used", times: 1 }]);
  const at = events.findIndex((event) => event.kind === "CrackSignalled");
  expect(events.slice(at).filter(({ kind }) => kind === "ModelCallCompleted").length).toBeGreaterThan(1);
  expect(shown?.cracks).toMatchObject({ runaway: { times: 1 } });
});
