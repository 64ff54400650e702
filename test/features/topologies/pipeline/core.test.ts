/** The exact moves of a pipeline: gates, the way back, and the end-to-end check. */
import { describe, expect, test } from "vitest";
import { PIPELINE } from "../../../../src/features/topologies/pipeline/core.ts";
import type { PipelineOptions } from "../../../../src/features/topologies/pipeline/core-options.ts";
import type { Observation } from "../../../../src/core/topologies/topology.ts";
import { context } from "../../../support/states/topology-context.ts";

const STAGES = ["read", "think", "write", "check"].map((name) => ({ name, instructions: `Do ${name}.` }));
const [read, think, write, check] = STAGES as [object, object, object, object];
const options = {
  ...{ kind: "pipeline", maxBeats: 50, retriesPerStage: 1, endToEnd: "end" },
  stages: [{ ...read, gates: ["g"] }, think, { ...write, gates: ["g"] }, check],
} as PipelineOptions;

type Progress = Parameters<typeof PIPELINE.observe>[0];
const begun = PIPELINE.begin(options, context())?.progress as Progress;
const harness = (progress: Progress, seen: Observation, with_ = options) =>
  PIPELINE.observe(progress, seen, { options: with_, context: context() });
const reply = (message: string): Observation => ({ kind: "reply", message, text: "its text" });
const verdict = (holds: boolean, detail?: string): Observation => ({
  kind: "verdicts",
  verdicts: [
    { name: "g", holds, why: holds ? "it holds" : "a number is wrong", ...(detail === undefined ? {} : { detail }) },
  ],
});
/** The progress after these observations. */
const after = (...seen: readonly Observation[]): Progress =>
  seen.reduce((progress, each) => {
    const move = harness(progress, each);
    return move !== null && "progress" in move ? move.progress : progress;
  }, begun);

describe("a stage", () => {
  test("with a gate is judged before the next one begins, and hands its output on", () => {
    expect(harness(begun, reply("m2"))).toMatchObject({
      kind: "verify",
      names: ["g"],
      output: "its text",
      about: { stage: "read" },
    });
    expect(harness(after(reply("m2")), verdict(true))).toMatchObject({
      kind: "ask",
      note: "the gate of read held; think is next",
      say: "Stage 2 of 4: think.\n\nWhat stage read handed on:\ntext of m2",
      progress: { cursor: 1, outputs: [{ message: "m2", held: true }], runs: [1, 1, 0, 0] },
    });
  });

  test("without one goes on at once, and nothing vouches for its output", () => {
    expect(after(reply("m2"), verdict(true), reply("m4"))).toMatchObject({
      cursor: 2,
      outputs: [{ held: true }, { message: "m4", held: false }],
    });
  });

  test("that is refused goes back behind the last gate that held: outputs that no gate judged are not used again", () => {
    const refused = harness(after(reply("m2"), verdict(true), reply("m4"), reply("m6")), verdict(false));
    expect(refused).toMatchObject({
      kind: "ask",
      note: "its output was refused (write: a number is wrong); back to think",
      progress: { cursor: 1, outputs: [{ message: "m2" }], runs: [1, 2, 1, 0], why: "write: a number is wrong" },
      say: expect.stringContaining(
        "What stage read handed on:\ntext of m2\n\nAn earlier run was not accepted: write: a number",
      ),
    });
  });

  test("fails the run when its retries are used up; the count is in the progress, so no crash refills it", () => {
    const again = [reply("m2"), verdict(false), reply("m4")] as const;
    expect(after(...again)).toMatchObject({ runs: [2, 0, 0, 0] });
    expect(harness(after(...again), verdict(false))).toMatchObject({
      kind: "fail",
      failure: {
        code: "GateFailed",
        message: "stage read was refused in each of 2 runs; the last time: a number is wrong",
      },
    });
  });

  test("that gives up is refused like one whose gate falls", () => {
    const failure = { code: "Runaway", message: "20 of 20 beats are used" };
    expect(harness(begun, { kind: "gaveUp", failure })).toMatchObject({ progress: { cursor: 0, runs: [2, 0, 0, 0] } });
  });
});

describe("a judge", () => {
  const judged = {
    ...options,
    stages: [{ ...read, judge: { instructions: "Judge.", threshold: 0.7, model: "cheap" } }, think],
  } as PipelineOptions;
  const asked = harness(begun, reply("m2"), judged);
  const progress = (asked?.kind === "ask" ? asked.progress : null) as Progress;
  const score = (text: string): Observation => ({ kind: "reply", message: "m4", text });

  test("sees the output alone, without tools and with its own model", () => {
    expect(asked).toMatchObject({ kind: "ask", say: "Judge the output of stage read:\n\ntext of m2" });
    expect(PIPELINE.request(progress, judged)).toMatchObject({ role: "judge of read", tools: "none", model: "cheap" });
    expect(PIPELINE.inner(progress, judged)).toBeNull();
  });

  test("lets it pass from its threshold on", () => {
    expect(harness(progress, score('Well: {"score": 0.7, "why": "good"}'), judged)).toMatchObject({
      progress: { cursor: 1, outputs: [{ message: "m2", held: true }] },
    });
    expect(harness(progress, score('{"score": 0.69, "why": "thin"}'), judged)).toMatchObject({
      progress: { cursor: 0, why: expect.stringContaining("0.69, and 0.7 is needed. thin") },
    });
  });

  test("that gives no score is asked again twice, then counts as a refusal", () => {
    const unsure = score("It is fine.");
    let now = progress;
    for (let times = 1; times <= 2; times += 1) {
      const move = harness(now, unsure, judged);
      expect(move).toMatchObject({
        kind: "ask",
        tell: expect.stringContaining("JSON"),
        progress: { unreadable: times },
      });
      now = (move?.kind === "ask" ? move.progress : null) as Progress;
    }
    expect(harness(now, unsure, judged)).toMatchObject({ progress: { cursor: 0, runs: [2, 0, 0, 0] } });
  });
});

describe("the end-to-end check", () => {
  const last = after(reply("m2"), verdict(true), reply("m4"), reply("m6"), verdict(true), reply("m8"));

  test("finishes with the last output if it holds", () => {
    expect(harness(last, verdict(true))).toMatchObject({ kind: "finish", message: "m8" });
  });

  test("signals cascading poison before the run ends, and returns to the stage that it names", () => {
    const cracks = [
      { crack: "cascadingPoison", why: "the end-to-end check falls while all 4 stages were green: a number is wrong" },
    ];
    expect(harness(last, verdict(false, "think"))).toMatchObject({
      kind: "ask",
      cracks,
      progress: { cursor: 1, outputs: [{ message: "m2" }], runs: [1, 2, 1, 1] },
    });
    expect(harness(last, verdict(false))).toMatchObject({ kind: "ask", cracks, progress: { cursor: 0, outputs: [] } });
    const again = { ...last, runs: [1, 2, 1, 1] };
    expect(harness(again, verdict(false, "think"))).toMatchObject({
      kind: "fail",
      cracks,
      failure: { code: "CascadingPoison" },
    });
  });
});

test("a finished run is opened again at its last stage: by checks a bounded number of times, by a user always", () => {
  const done = after(reply("m2"), verdict(true), reply("m4"), reply("m6"), verdict(true), reply("m8"));
  expect(harness(done, { kind: "reopened", by: "checks", why: "- has-source: none" })).toMatchObject({
    kind: "ask",
    progress: { cursor: 3 },
  });
  const used = { ...done, runs: [1, 1, 1, 2] };
  expect(harness(used, { kind: "reopened", by: "checks", why: "none" })).toMatchObject({ kind: "fail" });
  expect(harness(used, { kind: "reopened", by: "user", why: "in German" })).toMatchObject({
    kind: "ask",
    progress: { cursor: 3 },
  });
});

test("says what is wrong with its options", () => {
  expect(PIPELINE.problems(options)).toEqual([]);
  expect(PIPELINE.problems({ ...options, stages: [] })).toEqual(["write stages: [{ name, instructions }]"]);
  expect(PIPELINE.problems({ ...options, stages: [STAGES[0], STAGES[0]] as never, retriesPerStage: -1 })).toEqual([
    "two stages have the name read",
    "retriesPerStage -1: write a whole number, 0 or more",
  ]);
  const judge = { instructions: "", threshold: 70 };
  expect(PIPELINE.problems({ ...options, stages: [{ ...STAGES[0], judge }] as never })).toHaveLength(1);
});

test("a progress of other stages does not fit, so that a changed agent begins anew", () => {
  expect(PIPELINE.fits(begun, options)).toBe(true);
  expect(PIPELINE.fits(begun, { ...options, stages: options.stages.slice(1) })).toBe(false);
});
