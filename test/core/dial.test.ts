/** The dial: what of a step is committed on its own, from what it may do, what it costs and how often processes die. */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { COMMIT_COST, type StepAtRisk, crashRateOf, dialOf, resultSettingOf } from "../../src/core/policy/dial.ts";
import type { Effect } from "../../src/core/calls/effects.ts";
import { defineAgent, scriptedModel } from "../../src/index.ts";
import { drive, begin, runnerOf } from "../support/drive.ts";
import { actor, callsThenOver, chainedStage, rowOf, stage } from "../support/stage.ts";
import { dieInTool, playOut } from "../support/steps.ts";

const FREE = { microUsd: 0, tookMs: 0 };
const RATE = crashRateOf({ takeovers: 0, claims: 0 });
const step = (of: Partial<StepAtRisk>) => dialOf({ effects: ["none"], reply: FREE, crashRate: RATE, ...of });

describe("the table", () => {
  test.each([
    [["none"], "skip", "merge"],
    [["none", "none", "none"], "skip", "merge"],
    [["keyed"], "force", "merge"],
    [["none", "keyed"], "force", "merge"],
    [["probed"], "force", "force"],
    [["none", "unsafe"], "force", "force"],
  ] as readonly (readonly [readonly Effect[], string, string])[])(
    "%j: plan %s, results %s",
    (effects, plan, results) => {
      expect(step({ effects })).toMatchObject({ plan, results });
    },
  );

  test("a result is committed at once where its call may not be repeated, or repeating it takes longer than a commit", () => {
    const slow = COMMIT_COST.ms / RATE;
    const settings = (["none", "keyed", "probed", "unsafe"] as const).map((effect) =>
      [0, slow - 1, slow, slow + 1].map((tookMs) => resultSettingOf({ effect, tookMs, crashRate: RATE })),
    );
    expect(settings).toEqual([
      ["merge", "merge", "merge", "merge"],
      ["merge", "merge", "force", "force"],
      ["force", "force", "force", "force"],
      ["force", "force", "force", "force"],
    ]);
  });

  test("a reply that costs more to lose than a commit is committed, in money as in time", () => {
    const dear = COMMIT_COST.microUsd / RATE;
    const slow = COMMIT_COST.ms / RATE;
    expect([dear, slow]).toEqual([200, 500]);
    for (const [reply, plan] of [
      [{ microUsd: dear - 1, tookMs: slow - 1 }, "skip"],
      [{ microUsd: dear, tookMs: 0 }, "force"],
      [{ microUsd: 0, tookMs: slow }, "force"],
    ] as const) {
      expect(step({ reply }).plan).toBe(plan);
    }
  });

  test("a long calm run may wait with dearer replies, and one that saw deaths with cheaper ones", () => {
    expect(crashRateOf({ takeovers: 0, claims: 900 })).toBe(0.001);
    expect(crashRateOf({ takeovers: 3, claims: 100 })).toBe(0.02);
    expect(crashRateOf({ takeovers: 1_000, claims: 1 })).toBe(1);
    const reply = { microUsd: 1_000, tookMs: 1_000 };
    expect(step({ reply }).plan).toBe("force");
    expect(step({ reply, crashRate: crashRateOf({ takeovers: 0, claims: 900 }) }).plan).toBe("skip");
  });
});

/** Writes of its row that a run takes until it is done; the claims are the same. */
async function versionsOf(of: { readonly dial: "auto" | "always"; readonly effect: Effect; readonly inUsd?: number }) {
  const on = stage();
  const { dial, effect, inUsd = 0 } = of;
  const made = actor({ effect, reply: (asked) => ({ ...callsThenOver(3)(asked), tokensIn: 300, tokensOut: 0 }) });
  const agent = { ...made, dial, price: { inUsd, outUsd: 0 } };
  const payload = await begin(on.world, agent, {});
  await drive(runnerOf(on.world, agent), payload);
  return rowOf(on, payload.run).version;
}

test("a beat that acts nowhere is one commit instead of two, where its agent says so and its replies are cheap", async () => {
  expect(await versionsOf({ dial: "always", effect: "none" })).toBe(7);
  expect(await versionsOf({ dial: "auto", effect: "none" })).toBe(4);
  expect(await versionsOf({ dial: "auto", effect: "keyed" })).toBe(7);
  expect(await versionsOf({ dial: "auto", effect: "none", inUsd: 1 })).toBe(7);
});

test("what acts outside is committed before it starts: a model may say something else the second time", async () => {
  const on = chainedStage();
  const keys: string[] = [];
  let replies = 0;
  const made = actor({
    run: ({ key }) => keys.push(key),
    reply: ({ calls }) =>
      calls.length > 0 ? { text: "over" } : { calls: [{ tool: "act", args: { reply: (replies += 1) } }] },
  });
  const agent = { ...made, dial: "auto" } as const;
  await begin(on.world, agent, {});
  const key = await dieInTool(on, agent);
  await playOut(on, agent);
  expect([keys, replies]).toEqual([[key], 1]);
});

test("what was looked at and not committed is forgotten, also where a later version says that it acts", async () => {
  // Schedule 58 is for what was released; a wrong `none` is repeated freely, and so it is here.
  for (const [dial, status] of [
    ["always", "blocked"],
    ["auto", "completed"],
  ] as const) {
    const on = chainedStage();
    const { run } = await begin(on.world, actor({ effect: "none" }), {});
    await dieInTool(on, { ...actor({ effect: "none" }), dial });
    await playOut(on, { ...actor({ effect: "unsafe" }), dial, version: "2" });
    expect(rowOf(on, run).status).toBe(status);
  }
});

test("an agent has a dial or is refused", () => {
  const options = { name: "a", version: "1", model: scriptedModel({ name: "m", reply: () => ({ text: "over" }) }) };
  const define = (dial: unknown) =>
    defineAgent({ ...options, instructions: "", task: z.object({}), tools: {}, dial: dial as "auto" });
  expect(define(undefined).dial).toBe("always");
  expect(() => define("never")).toThrow('agent a has dial never: write "auto" or "always"');
});
