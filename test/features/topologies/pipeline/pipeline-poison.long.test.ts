/**
 * Cascading poison: each kind of gate, the way back, and first signals, also if a process dies at any call. No
 * stage ever sees an output that was refused or that no gate judged.
 */
import { expect, test } from "vitest";
import { z } from "zod";
import { type Conversation, type ScriptedReply, judge, pipeline, react, tool } from "../../../../src/index.ts";
import type { TopologyFunction } from "../../../../src/ports/agent.ts";
import { forSampledCrashPoints } from "../../../support/faults/crash-at-call.ts";
import { playRun, roleAgent } from "../../../support/runs/topology-run.ts";

type Options = Parameters<typeof pipeline>[0];

/** The words of the message that opened the section. */
const openingIn = ({ messages }: Conversation): string =>
  messages.findLast(({ role, text }) => role === "user" && /^(Stage|Judge)/.test(text))?.text ?? "";

/** Each stage adds its name to what it was given. The first run of `read` is wrong: it says poison. */
function reply(conversation: Conversation): ScriptedReply {
  const opening = openingIn(conversation);
  if (opening.startsWith("Judge")) {
    return { text: JSON.stringify({ score: opening.includes("poison") ? 0.2 : 0.9, why: "read it" }) };
  }
  const [, stage = ""] = /^Stage \d of \d: (\w+)/.exec(opening) ?? [];
  if (stage === "read")
    return { text: JSON.stringify({ fact: opening.includes("not accepted") ? "clean" : "poison" }) };
  const [, given = "?"] = /handed on:\n(.*)/.exec(opening) ?? [];
  return { text: `${given} ${stage}` };
}

const agentOf = (options: Options) => roleAgent(pipeline(options), { reply });
const stage = (name: string, more: object = {}) => ({ name, instructions: `Do ${name}.`, tools: [], ...more });
const isClean: TopologyFunction = ({ output }) => !output.includes("poison") || "it says poison";

/** What the stages after the first one were given. */
const given = (asked: readonly { readonly texts: readonly string[] }[]): readonly string[] =>
  asked.flatMap(({ texts }) => texts.filter((text) => text.includes("handed on")));

test.each([
  ["schema", { output: z.object({ fact: z.literal("clean") }) }, /fact/],
  ["check", { gate: isClean }, /it says poison/],
  ["judge with a score", { gate: judge({ instructions: "Judge.", threshold: 0.5 }) }, /the judge gave 0.2, and 0.5/],
] as const)("a gate refuses poison before the next stage sees it, whoever dies where: %s", async (_, gate, why) => {
  const of = { stages: [stage("read", gate), stage("write")] } as Options;
  const calm = await playRun(agentOf(of).agent);
  expect(calm.moves.some(({ note }) => why.test(note) && note.includes("back to read"))).toBe(true);
  const crashes = await forSampledCrashPoints(async (crash) => {
    const { agent, asked } = agentOf(of);
    const { lives, shown, moves } = await playRun(agent, { crash });
    expect(shown).toMatchObject({ status: "completed", result: '{"fact":"clean"} write' });
    expect(moves.map(({ note }) => note)).toEqual(calm.moves.map(({ note }) => note));
    expect(given(asked).filter((text) => text.includes("poison"))).toEqual([]);
    return lives;
  });
  expect(crashes).toBeGreaterThan(25);
});

test.each([
  ["no schema", {}],
  ["a stage with a schema", { output: z.object({ fact: z.string() }) }],
])("no run resumes on an output that no gate judged, whoever dies where: %s", async (_, form) => {
  const of = { stages: [stage("read", form), stage("think"), stage("write", { gate: isClean })] } as Options;
  const crashes = await forSampledCrashPoints(async (crash) => {
    const { agent, asked } = agentOf(of);
    const { lives, shown, moves } = await playRun(agent, { crash });
    expect(shown).toMatchObject({ status: "completed", result: '{"fact":"clean"} think write' });
    const notes = moves.map(({ note }) => note);
    const back = notes.findIndex((note) => note.includes("back to read"));
    expect(notes.filter((note) => note.includes("back to"))).toHaveLength(1);
    // After the way back the poison is not given to any stage again.
    const before = notes.slice(0, back).filter((note) => note.includes("has no gate")).length;
    expect(before).toBe(2);
    const poisoned = given(asked).lastIndexOf(given(asked).findLast((text) => text.includes("poison")) ?? "");
    const clean = given(asked).findIndex((text) => text.includes("clean"));
    expect(poisoned).toBeLessThan(clean);
    return lives;
  });
  expect(crashes).toBeGreaterThan(40);
});

test("a schema vouches for no output: poison of the right form is not used again, whoever dies where", async () => {
  const output = z.object({ fact: z.string() });
  const of = { stages: [stage("read", { output }), stage("write", { gate: isClean })] } as Options;
  const crashes = await forSampledCrashPoints(async (crash) => {
    const { agent, asked } = agentOf(of);
    const { lives, shown, moves } = await playRun(agent, { crash });
    expect(shown).toMatchObject({ status: "completed", result: '{"fact":"clean"} write' });
    expect(moves.map(({ note }) => note).filter((note) => note.includes("back to"))).toEqual([
      "its output was refused (write: it says poison); back to read",
    ]);
    const poisoned = given(asked).findLastIndex((text) => text.includes("poison"));
    expect(poisoned).toBeLessThan(given(asked).findIndex((text) => text.includes("clean")));
    return lives;
  });
  expect(crashes).toBeGreaterThan(25);
});

test("a stage whose output has the wrong form runs again itself, with what it was given", async () => {
  let writes = 0;
  const { agent, asked } = roleAgent(
    pipeline({
      stages: [
        stage("read"),
        stage("write", {
          output: z.object({ fact: z.string() }),
          gate: ({ output }: { readonly output: string }) => output.startsWith("{"),
        }),
      ],
    } as Options),
    {
      reply: (conversation) => {
        if (openingIn(conversation).startsWith("Stage 1")) return { text: "read" };
        writes += 1;
        return { text: writes === 1 ? "no JSON" : '{"fact":"clean"}' };
      },
    },
  );
  const { shown, moves } = await playRun(agent);
  expect(shown).toMatchObject({ status: "completed", result: '{"fact":"clean"}' });
  expect(moves.map(({ note }) => note)).toContainEqual(
    expect.stringMatching(/^its output was refused \(write: the output is not a JSON object; .*\); back to write$/),
  );
  expect(given(asked).map((text) => text.includes("What stage read handed on:\nread"))).toEqual([true, true]);
  expect(asked).toHaveLength(3);
});

test.each([
  ["an earlier stage", "read", "back to read", "clean"],
  ["the last stage again", "write", "back to write", "poison"],
])("the end-to-end check chooses %s, and signals before the answer", async (_, detail, back, fact) => {
  let falls = 1;
  const endToEnd: TopologyFunction = ({ output }) => {
    if (detail === "read" ? !output.includes("poison") : falls-- <= 0) return true;
    return { holds: false, why: "the whole is wrong", detail };
  };
  const { agent } = agentOf({ stages: [stage("read"), stage("write")], endToEnd } as Options);
  const { shown, moves, events, cracks } = await playRun(agent);
  expect(moves.map(({ note }) => note)).toContain(`${back}: the whole is wrong`);
  expect(shown).toMatchObject({ status: "completed", result: `{"fact":"${fact}"} write` });
  expect(cracks).toEqual(["cascadingPoison"]);
  const kinds = events.map(({ kind }) => kind);
  expect(kinds.indexOf("CrackSignalled")).toBeLessThan(kinds.lastIndexOf("ModelCallCompleted"));
});

test("the end-to-end check chooses a stage before gates that held, and no schema stands in its way", async () => {
  const output = z.object({ fact: z.string() });
  const held = () => true;
  const endToEnd: TopologyFunction = ({ output: whole }) =>
    !whole.includes("poison") || { holds: false, why: "the whole is wrong", detail: "read" };
  const stages = [stage("read", { output, gate: held }), stage("think", { gate: held }), stage("write")];
  const crashes = await forSampledCrashPoints(async (crash) => {
    const { shown, moves, lives } = await playRun(agentOf({ stages, endToEnd } as Options).agent, { crash });
    expect(shown).toMatchObject({ status: "completed", result: '{"fact":"clean"} think write' });
    expect(moves.map(({ note }) => note).filter((note) => note.includes("back to"))).toEqual([
      "back to read: the whole is wrong",
    ]);
    return lives;
  });
  expect(crashes).toBeGreaterThan(40);
});

test("a roll-back stops behind a declared gate alone, also where every stage has a schema", async () => {
  const output = z.object({ fact: z.string() });
  const { agent } = roleAgent(
    pipeline({
      stages: ["read", "check", "think", "write"].map((name) =>
        stage(name, {
          output,
          ...(name === "check" ? { gate: () => true } : {}),
          ...(name === "write" ? { gate: isClean } : {}),
        }),
      ),
    } as Options),
    {
      reply: (conversation) => {
        const opening = openingIn(conversation);
        const isClean = opening.startsWith("Stage 3") ? opening.includes("not accepted") : !opening.includes("poison");
        return { text: JSON.stringify({ fact: isClean ? "clean" : "poison" }) };
      },
    },
  );
  const { shown, moves } = await playRun(agent);
  expect(shown).toMatchObject({ status: "completed", result: '{"fact":"clean"}' });
  expect(moves.map(({ note }) => note).filter((note) => note.includes("back to"))).toEqual([
    "its output was refused (write: it says poison); back to think",
  ]);
});

test("each stage that nears its own cap signals it, also after another stage did, and whoever dies where", async () => {
  let looks = 0;
  const look = tool({ input: z.object({}), effect: "none", run: () => (looks += 1) });
  const capped = (name: string) => stage(name, { tools: ["look"], topology: react({ maxBeats: 5 }) });
  const agentWith = (retriesPerStage: number) =>
    roleAgent(pipeline({ stages: [capped("read"), capped("write")], retriesPerStage } as Options), {
      tools: { look },
      reply: (conversation) => {
        const isFirst = openingIn(conversation).startsWith("Stage 1");
        return isFirst && conversation.calls.length === 4 ? { text: "read" } : { calls: [{ tool: "look", args: {} }] };
      },
    }).agent;
  const orderIn = ({ events }: Awaited<ReturnType<typeof playRun>>): readonly string[] =>
    events.flatMap((event) =>
      event.kind === "CrackSignalled" ? [event.why] : event.kind === "TopologyMoved" ? ["moved"] : [],
    );
  const each = ["moved", "4 of 5 beats are used"];
  // Each of the two stages runs twice, and each of these four runs signals before its cap is reached.
  expect(orderIn(await playRun(agentWith(1)))).toEqual([...each, ...each, ...each, ...each]);
  const crashes = await forSampledCrashPoints(async (crash) => {
    const played = await playRun(agentWith(0), { crash });
    expect(played.shown).toMatchObject({ status: "failed", failure: { code: "GateFailed" } });
    expect(orderIn(played)).toEqual([...each, ...each]);
    return played.lives;
  });
  expect(crashes).toBeGreaterThan(60);
});
