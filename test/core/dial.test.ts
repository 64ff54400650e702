/** The dial: what of a step is committed on its own, from what it may do, what it costs and how often processes die. */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { COMMIT_COST, type StepAtRisk, crashRateOf, dialOf, resultSettingOf } from "../../src/core/policy/dial.ts";
import type { Effect } from "../../src/core/calls/effects.ts";
import { defineAgent, scriptedModel } from "../../src/index.ts";
import { drive, beginRun, runnerOf } from "../support/harness/drive.ts";
import { scriptedAgent, callsThenFinal, createChainHarness, createHarness } from "../support/harness/harness.ts";
import { dieInTool } from "../support/harness/chain-steps.ts";

const FREE = { microUsd: 0, tookMs: 0 };
const RATE = crashRateOf({ takeovers: 0, claims: 0 });
const step = (of: Partial<StepAtRisk>) => dialOf({ effects: ["none"], reply: FREE, crashRate: RATE, ...of });

describe("the commit policy", () => {
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

  test("commits a result at once when its call may not be repeated, or repeating it takes longer than a commit", () => {
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

  test("commits a reply that costs more to lose than a commit, in money and in time", () => {
    const dear = COMMIT_COST.microUsd / RATE;
    const slow = COMMIT_COST.ms / RATE;
    expect({ dear, slow }).toEqual({ dear: 200, slow: 500 });
    for (const [reply, plan] of [
      [{ microUsd: dear - 1, tookMs: slow - 1 }, "skip"],
      [{ microUsd: dear, tookMs: 0 }, "force"],
      [{ microUsd: 0, tookMs: slow }, "force"],
    ] as const) {
      expect(step({ reply }).plan).toBe(plan);
    }
  });

  test("lets a long run without deaths defer dearer replies, and a run with deaths only cheaper ones", () => {
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
  const harness = createHarness();
  const { dial, effect, inUsd = 0 } = of;
  const made = scriptedAgent({
    effect,
    reply: (asked) => ({ ...callsThenFinal(3)(asked), tokensIn: 300, tokensOut: 0 }),
  });
  const agent = { ...made, dial, price: { inUsd, outUsd: 0 } };
  const payload = await beginRun(harness.world, agent, {});
  await drive(runnerOf(harness.world, agent), payload);
  return harness.row(payload.run).version;
}

test("a beat without outside effects is one commit instead of two when its agent allows it and its replies are cheap", async () => {
  expect(await versionsOf({ dial: "always", effect: "none" })).toBe(7);
  expect(await versionsOf({ dial: "auto", effect: "none" })).toBe(4);
  expect(await versionsOf({ dial: "auto", effect: "keyed" })).toBe(7);
  expect(await versionsOf({ dial: "auto", effect: "none", inUsd: 1 })).toBe(7);
});

test("a call with an outside effect is committed before it starts, because a repeated model call may differ", async () => {
  const harness = createChainHarness();
  const keys: string[] = [];
  let replies = 0;
  const made = scriptedAgent({
    run: ({ key }) => keys.push(key),
    reply: ({ calls }) =>
      calls.length > 0 ? { text: "over" } : { calls: [{ tool: "act", args: { reply: (replies += 1) } }] },
  });
  const agent = { ...made, dial: "auto" } as const;
  await beginRun(harness.world, agent, {});
  const key = await dieInTool(harness, agent);
  await harness.runUntilIdle(agent);
  expect({ keys, replies }).toEqual({ keys: [key], replies: 1 });
});

test("an uncommitted read is forgotten, also when a later version declares an outside effect", async () => {
  // Schedule 58 is for what was released; a wrong `none` is repeated freely, and so it is here.
  for (const [dial, status] of [
    ["always", "blocked"],
    ["auto", "completed"],
  ] as const) {
    const harness = createChainHarness();
    const { run } = await beginRun(harness.world, scriptedAgent({ effect: "none" }), {});
    await dieInTool(harness, { ...scriptedAgent({ effect: "none" }), dial });
    await harness.runUntilIdle({ ...scriptedAgent({ effect: "unsafe" }), dial, version: "2" });
    expect(harness.row(run).status).toBe(status);
  }
});

test("an agent without a valid dial is refused", () => {
  const options = { name: "a", version: "1", model: scriptedModel({ name: "m", reply: () => ({ text: "over" }) }) };
  const define = (dial: unknown) =>
    defineAgent({ ...options, instructions: "", task: z.object({}), tools: {}, dial: dial as "auto" });
  expect(define(undefined).dial).toBe("always");
  expect(() => define("never")).toThrow('agent a has dial never: write "auto" or "always"');
});
