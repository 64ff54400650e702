/** The exact moves of a debate: rounds, scores, convergence, and which draft is shipped. */
import { describe, expect, test } from "vitest";
import { DEBATE, type DebateOptions } from "../../../../src/features/topologies/debate/core.ts";
import { editDistance } from "../../../../src/core/topologies/edit-distance.ts";
import type { Move, Observation } from "../../../../src/core/topologies/topology.ts";
import { context } from "../../../support/states/topology-context.ts";

const role = { instructions: "Do it." };
const options: DebateOptions = {
  ...{ kind: "debate", maxBeats: 60, rounds: 3, epsilon: 0.1, drafter: { ...role, tools: ["look"] }, critic: role },
  judge: { ...role, model: "second" },
};
type Progress = Parameters<typeof DEBATE.observe>[0];
const begun = DEBATE.begin(options, context())?.progress as Progress;

/** Drafts whose words all differ, so that they never converge. */
const TEXTS: Readonly<Record<string, string>> = {
  d1: "a b c d",
  d2: "e f g h",
  d3: "i j k l",
  near: "e f g h i j k l m n o",
};
const harness = (progress: Progress, seen: Observation, change: Parameters<typeof context>[0] = {}) =>
  DEBATE.observe(progress, seen, {
    options,
    context: context({ textOf: (id) => TEXTS[id] ?? `text of ${id}`, ...change }),
  });
const reply = (message: string, text = ""): Observation => ({ kind: "reply", message, text });
const score = (value: number): Observation => reply("judgement", JSON.stringify({ score: value, why: "so" }));

function play(...seen: readonly Observation[]): { readonly move: Move<Progress> | null; readonly progress: Progress } {
  let progress = begun;
  let move: Move<Progress> | null = null;
  for (const each of seen) {
    move = harness(progress, each);
    if (move !== null && "progress" in move) progress = move.progress;
  }
  return { move, progress };
}

describe("a round", () => {
  test("is a draft and its score: the judge sees the draft alone, without criticism and with its own model", () => {
    const { move, progress } = play(reply("d1"));
    expect(move).toMatchObject({
      kind: "ask",
      say: "Score this draft:\na b c d",
      progress: { round: 0, judged: [], candidate: "d1" },
    });
    expect(DEBATE.request(progress, options)).toMatchObject({ role: "judge", tools: "none", model: "second" });
    expect(play(reply("d1"), score(0.5))).toMatchObject({
      progress: { role: "critic", round: 1, judged: [{ message: "d1", score: 0.5 }], candidate: "" },
    });
  });

  test("revises the best draft, not the last one", () => {
    const { move, progress } = play(reply("d1"), score(0.8), reply("k1"), reply("d2"), score(0.3), reply("k2"));
    expect(progress).toMatchObject({ role: "drafter", critique: "k2" });
    expect(move).toMatchObject({ say: expect.stringContaining("The draft:\na b c d\n\nThe criticism:\ntext of k2") });
    expect(DEBATE.request(progress, options)).toMatchObject({ role: "drafter", tools: ["look"] });
  });
});

describe("a debate ends", () => {
  test("with the best-scored draft when its rounds are used up, and signals a deadlock", () => {
    const { move } = play(
      reply("d1"),
      score(0.4),
      reply("k1"),
      reply("d2"),
      score(0.9),
      reply("k2"),
      reply("d3"),
      score(0.5),
    );
    expect(move).toMatchObject({
      ...{ kind: "finish", message: "d2" },
      cracks: [
        { crack: "capitulation", why: "the score fell from 0.9 to 0.5" },
        { crack: "deadlock", why: "3 rounds are used up, and the last drafts differ by 100 %" },
      ],
    });
  });

  test("when a draft has the highest score, without another round", () => {
    expect(play(reply("d1"), score(1)).move).toMatchObject({ kind: "finish", message: "d1" });
    expect(play(reply("d1"), score(0.99)).move).toMatchObject({ kind: "ask" });
  });

  test("when two drafts converge, without a signal", () => {
    const { move } = play(reply("d2"), score(0.4), reply("k1"), reply("d2"), score(0.6));
    expect(move).toMatchObject({ kind: "finish", note: expect.stringContaining("differ by 0 %") });
    expect(move).not.toHaveProperty("cracks");
    expect(play(reply("d2"), score(0.4), reply("k1"), reply("near"), score(0.6)).move).toMatchObject({ kind: "ask" });
  });

  test("signals a capitulation at the first fall, and ends at the second in a row", () => {
    const once = play(reply("d1"), score(0.9), reply("k1"), reply("d2"), score(0.7));
    expect(once.move).toMatchObject({ kind: "ask", cracks: [{ crack: "capitulation" }] });
    const more = { ...options, rounds: 9 };
    const twice = DEBATE.observe({ ...once.progress, role: "judge", candidate: "d3" }, score(0.6), {
      options: more,
      context: context({ textOf: (id) => TEXTS[id] ?? "" }),
    });
    expect(twice).toMatchObject({
      kind: "finish",
      message: "d1",
      cracks: [{ crack: "capitulation", why: "the score fell from 0.7 to 0.6" }],
    });
  });

  test("with a judged draft when its beats are used up or the drafter gives up, and never in the middle of a revision", () => {
    const revising = play(reply("d1"), score(0.5), reply("k1")).progress;
    expect(harness(revising, { kind: "due" }, { beats: { used: 60, max: 60 } })).toMatchObject({
      kind: "finish",
      message: "d1",
    });
    expect(harness(revising, { kind: "due" }, { beats: { used: 59, max: 60 } })).toBeNull();
    expect(harness(begun, { kind: "due" }, { beats: { used: 60, max: 60 } })).toBeNull();
    const failure = { code: "Runaway", message: "20 of 20 beats" };
    expect(harness(revising, { kind: "gaveUp", failure })).toMatchObject({ kind: "finish", message: "d1" });
    expect(harness(begun, { kind: "gaveUp", failure })).toEqual({ kind: "fail", failure });
  });

  test("without a usable judge: it is asked twice more, then the last judged draft counts", () => {
    const silent = reply("j", "good");
    expect(play(reply("d1"), silent).move).toMatchObject({ kind: "ask", tell: expect.stringContaining("JSON") });
    expect(play(reply("d1"), silent, silent, silent).move).toMatchObject({
      kind: "fail",
      failure: { code: "JudgeUnusable" },
    });
    const later = play(reply("d1"), score(0.5), reply("k1"), reply("d2"), silent, silent, silent);
    expect(later.move).toMatchObject({ kind: "finish", message: "d1" });
  });
});

test("a debate that has ended is opened again: for checks while rounds are left, for a user always", () => {
  const { progress } = play(reply("d2"), score(0.4), reply("k1"), reply("d2"), score(0.6));
  expect(harness(progress, { kind: "reopened", by: "checks", why: "- short: no" })).toMatchObject({
    kind: "ask",
    say: expect.stringContaining("Also wanted:\n- short: no"),
    progress: { round: 2 },
  });
  const spent = { beats: { used: 60, max: 60 } };
  expect(harness(progress, { kind: "reopened", by: "checks", why: "no" }, spent)).toMatchObject({
    kind: "fail",
    failure: { code: "NotDone", message: expect.stringContaining("no beat is left") },
  });
  const used = { ...progress, round: 3 };
  expect(harness(used, { kind: "reopened", by: "checks", why: "no" })).toMatchObject({
    kind: "fail",
    failure: { code: "NotDone" },
  });
  expect(harness(used, { kind: "reopened", by: "user", why: "in German" })).toMatchObject({
    kind: "ask",
    progress: { role: "drafter" },
  });
});

test("the distance of drafts is that of their words, as a share of the longer one", () => {
  expect(editDistance("a b c d", "a b c d")).toBe(0);
  expect(editDistance("a b c d", "a  b\nx d")).toBe(0.25);
  expect(editDistance("a", "a b c d")).toBe(0.75);
  expect(editDistance("", "")).toBe(0);
  const long = Array.from({ length: 3_000 }, (_, index) => `line ${index}`).join("\n");
  expect(editDistance(long, `${long}\nmore`)).toBe(0);
});

test("says what is wrong with its options", () => {
  expect(DEBATE.problems(options)).toEqual([]);
  expect(DEBATE.problems({ ...options, rounds: 0, epsilon: 1, critic: { instructions: "" } })).toEqual([
    "critic has no instructions",
    "rounds 0: write a whole number, 1 or more",
    "epsilon 1: write a number from 0 to below 1",
  ]);
});
