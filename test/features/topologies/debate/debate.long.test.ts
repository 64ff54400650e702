/** Whole runs of a debate: who sees what, first signals before the end, and crashes at every moment. */
import { expect, test } from "vitest";
import { type Conversation, type ScriptedReply, check, debate, scriptedModel } from "../../../../src/index.ts";
import type { Fallback } from "../../../../src/ports/agent.ts";
import { send } from "../../../../src/operations/steer.ts";
import { createChainHarness } from "../../../support/harness/harness.ts";
import { forSampledCrashPoints } from "../../../support/faults/crash-at-call.ts";
import { playRun, roleAgent } from "../../../support/runs/topology-run.ts";

/** The drafter numbers its drafts; the judge gives the scores in order. */
function actors(scores: readonly number[], rounds = 3) {
  const second = scriptedModel({
    name: "second",
    reply: ({ messages }) => {
      const draft = Number(/draft (\d+)/.exec(messages.at(-1)?.text ?? "")?.[1] ?? 0);
      return { text: JSON.stringify({ score: scores[draft - 1] ?? 0, why: "so" }) };
    },
  });
  let drafts = 0;
  const reply = ({ instructions, messages }: Conversation): ScriptedReply => {
    if (instructions.includes("Criticise.")) return { text: `Objection: ${messages.at(-1)?.text.length ?? 0}` };
    // The number comes from the conversation, so that a repeated call gives the same draft.
    const seen = messages.findLast(({ role }) => role === "user")?.text ?? "";
    drafts = Number(/draft (\d+)/.exec(seen)?.[1] ?? 0) + 1;
    return { text: `draft ${drafts}, ${"abc".repeat(drafts)} words` };
  };
  return roleAgent(
    debate({
      ...{ drafter: { instructions: "Draft." }, critic: { instructions: "Criticise." }, rounds },
      judge: { instructions: "Judge.", model: "second" },
    }),
    { reply, models: { second } },
  );
}

test("the best-scored draft is the answer, and the judge is another model that sees no criticism", async () => {
  const { agent, asked } = actors([0.2, 0.6, 0.9]);
  const { shown, events, cracks } = await playRun(agent);
  expect(shown).toMatchObject({
    status: "completed",
    result: "draft 3, abcabcabc words",
    topology: { where: expect.stringContaining("scores 0.2, 0.6, 0.9") },
  });
  expect(cracks).toEqual(["deadlock"]);
  const models = events.flatMap((event) =>
    event.kind === "ModelCallCompleted" ? [event.model.replace("scripted:", "")] : [],
  );
  const routes = events.flatMap((event) => (event.kind === "ModelCallCompleted" ? [event.routed ?? null] : []));
  expect(routes.map((routed) => routed?.why ?? "own")).toEqual(
    models.map((name) => (name === "second" ? "its topology names the model second for this call" : "own")),
  );
  expect(models).toEqual(["script", "second", "script", "script", "second", "script", "script", "second"]);
  expect(asked.filter(({ instructions }) => instructions.includes("Judge."))).toEqual([]);
  expect(asked[1]?.texts.at(-1)).toBe("Criticise this draft:\ndraft 1, abc words");
});

test("a capitulation is signalled at the first fall, before another round is paid for, and the good draft is shipped", async () => {
  const { shown, events, cracks } = await playRun(actors([0.9, 0.5]).agent);
  expect(cracks[0]).toBe("capitulation");
  expect(shown).toMatchObject({ result: "draft 1, abc words" });
  const at = events.findIndex((event) => event.kind === "CrackSignalled");
  expect(events.slice(at).some(({ kind }) => kind === "ModelCallCompleted")).toBe(true);
});

test("whoever dies where, there are as many rounds as without, and the same draft is shipped", async () => {
  const calm = await playRun(actors([0.2, 0.9, 0.4]).agent);
  const crashes = await forSampledCrashPoints(async (crash) => {
    const { lives, shown, moves } = await playRun(actors([0.2, 0.9, 0.4]).agent, { crash });
    expect(shown).toMatchObject({ status: "completed", result: "draft 2, abcabc words" });
    expect(moves.map(({ note }) => note)).toEqual(calm.moves.map(({ note }) => note));
    return lives;
  });
  expect(crashes).toBeGreaterThan(60);
});

test("a deadlock is signalled before the answer, after three rounds also where a process dies", async () => {
  await forSampledCrashPoints(async (crash) => {
    const { lives, shown, events, cracks } = await playRun(actors([0.2, 0.6, 0.4]).agent, { crash });
    expect(shown).toMatchObject({ status: "completed", result: "draft 2, abcabc words" });
    expect(cracks).toEqual(["capitulation", "deadlock"]);
    const kinds = events.map(({ kind }) => kind);
    expect(kinds.lastIndexOf("CrackSignalled")).toBeLessThan(kinds.indexOf("RunEnded"));
    const kept = events.flatMap((event) => (event.kind === "ModelCallCompleted" ? [event.model] : []));
    expect(kept.filter((model) => model.endsWith("second"))).toHaveLength(3);
    return lives;
  });
});

test("drafts that converge end the debate without a signal, before the rounds are used up", async () => {
  const { agent } = actors([0.4, 0.6, 0.9]);
  const still = scriptedModel({
    name: "still",
    reply: ({ instructions }) => ({ text: instructions.includes("Criticise.") ? "longer" : "draft 1, the same words" }),
  });
  const { shown, cracks, moves } = await playRun({ ...agent, model: still });
  expect(shown).toMatchObject({ status: "completed", result: "draft 1, the same words" });
  expect({ cracks, note: moves.at(-1)?.note }).toEqual({
    cracks: [],
    note: expect.stringContaining("the drafts have converged"),
  });
});

test("a debate without beats whose best draft is not accepted fails instead of going round without a model call", async () => {
  const { agent } = actors([0.2, 0.6, 0.9]);
  const done = [check("longer", () => false)];
  const { shown, moves } = await playRun({ ...agent, done, budget: { ...agent.budget, beats: 4 } });
  expect(shown).toMatchObject({ status: "failed", failure: { code: "NotDone" }, beats: 4 });
  expect(shown?.failure?.message).toContain("no beat is left");
  expect(moves.length).toBeLessThan(10);
});

test("no run ships half a revision, whoever dies where in it", async () => {
  await forSampledCrashPoints(async (crash) => {
    const { agent } = actors([0.2, 0.6, 0.9]);
    const { lives, shown } = await playRun({ ...agent, budget: { ...agent.budget, beats: 4 } }, { crash });
    // The second draft is written with the fourth beat, and no beat is left to judge it.
    expect(shown).toMatchObject({ status: "completed", result: "draft 1, abc words" });
    return lives;
  });
});

test("a debate whose beats are used up ships its best draft instead of failing", async () => {
  const { agent } = actors([0.2, 0.6, 0.9]);
  const { shown } = await playRun({ ...agent, budget: { ...agent.budget, beats: 4 } });
  expect(shown).toMatchObject({ status: "completed", result: "draft 1, abc words", beats: 4 });
});

test("only the calls of the judge name the model of the judge, also within one invocation", async () => {
  const { agent } = actors([0.2, 0.6, 0.9]);
  const { events } = await playRun({ ...agent, checkpoint: 50 });
  const routed = events.flatMap((event) => (event.kind === "ModelCallCompleted" ? [event.routed?.by ?? "own"] : []));
  expect(routed).toEqual(["own", "role", "own", "own", "role", "own", "own", "role"]);
});

test("a user who writes while the last draft is judged is heard: the debate goes on from its best draft", async () => {
  const { agent, asked } = actors([0.9, 0.9, 0.9, 0.95]);
  const harness = createChainHarness();
  let isSent = false;
  const judge = agent.models?.["second"]?.model as ReturnType<typeof scriptedModel>;
  const model = {
    ...judge,
    doGenerate: async (call: Parameters<typeof judge.doGenerate>[0]) => {
      const [run = ""] = harness.world.store.rows.keys();
      const isLast = asked.filter(({ instructions }) => instructions.includes("Draft.")).length === 3;
      if (isLast && !isSent) {
        isSent = true;
        await send(harness.world, { run, text: "in German, please", by: "ann", id: "1" });
      }
      return judge.doGenerate(call);
    },
  };
  const second = { ...(agent.models?.["second"] as Fallback), model };
  const { shown, moves } = await playRun({ ...agent, models: { second } }, { harness });
  expect(moves.map(({ note }) => note)).toContain("a user wrote: in German, please");
  expect(asked.at(-1)?.texts).toContain("in German, please");
  expect(shown).toMatchObject({ status: "completed" });
});
