/** `defineAgent` refuses an agent that cannot end well, with an error that says why. */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { defineAgent, tool } from "../../src/sdk/define.ts";
import { AgentInvalid } from "../../src/ports/agent-invalid.ts";
import { scriptedModel } from "../../src/sdk/scripted.ts";
import { NOTHING_SPENT } from "../../src/core/policy/budget.ts";
import { REACT, reactTopology } from "../../src/core/topologies/react.ts";
import type { TopologyModule } from "../../src/core/topologies/topology.ts";
import { builtOnUse } from "../../src/codec/fit.ts";
import { SIZES } from "../../src/codec/limits.ts";
import type { Topology } from "../../src/ports/agent.ts";
import { pipeline } from "../../src/sdk/pipeline.ts";

type Options = Parameters<typeof defineAgent>[0];

const echo = tool({ input: z.object({ words: z.string() }), effect: "none", run: ({ input }) => input.words });

const valid: Options = {
  name: "travel",
  version: "1",
  model: scriptedModel({ name: "script", reply: () => ({}) }),
  instructions: "Book a trip.",
  task: z.object({ to: z.string() }),
  tools: { echo },
};

describe("an agent", () => {
  test("has defaults: no limit on money and tokens, but limits on beats and takeovers", () => {
    const agent = defineAgent(valid);
    expect(agent.result({ task: {}, calls: [], text: "last words", spent: NOTHING_SPENT })).toBe("last words");
    expect(agent).toMatchObject({
      done: [],
      topology: { kind: "react", maxBeats: 40 },
      budget: { microUsd: null, tokens: null, beats: 40, takeovers: 10 },
      price: { inUsd: 0, outUsd: 0 },
    });
  });

  test("is the same with empty options as without them", () => {
    const empty = { budget: {}, secrets: [], context: {}, results: {}, saga: {}, fallbacks: [] };
    const { result: _, ...bare } = defineAgent(valid);
    expect(defineAgent({ ...valid, ...empty })).toMatchObject(bare);
  });

  test("has its options checked by schemas that are built once, when the first one is", () => {
    let builds = 0;
    const schema = builtOnUse(() => {
      builds += 1;
      return z.string();
    });
    expect(builds).toBe(0);
    expect(schema()).toBe(schema());
    expect(builds).toBe(1);
  });

  test("keeps its budget in micro-dollars, with at most the beats of its topology", () => {
    const { budget } = defineAgent({
      ...valid,
      price: { inUsd: 1, outUsd: 1 },
      budget: { usd: 0.5, tokens: 1_000, beats: 60, takeovers: 3 },
    });
    expect(budget).toStrictEqual({
      ...{ microUsd: 500_000, tokens: 1_000, beats: 40, takeovers: 3 },
      ...{ toolCalls: null, wallMs: null, onExhausted: "stop" },
    });
  });

  test.each([
    ["2h", 7_200_000],
    ["90s", 90_000],
    ["30m", 1_800_000],
    ["1d", 86_400_000],
    [1_500, 1_500],
  ])("accepts the working time %o", (wall, wallMs) => {
    expect(defineAgent({ ...valid, budget: { wall } }).budget).toMatchObject({ wallMs });
  });

  test("fills in a deadline: effects stay, and the end may take five minutes", () => {
    expect(defineAgent(valid)).not.toHaveProperty("deadline");
    const { deadline } = defineAgent({ ...valid, deadline: { after: "2h" } });
    expect(deadline).toEqual({ afterMs: 7_200_000, withinMs: 300_000, onExpiry: "leave" });
  });

  test.each([
    ["no time", {}, /deadline of agent travel: after/],
    ["another policy", { after: "1h", onExpiry: "stop" }, /deadline of agent travel: onExpiry/],
    ["another option", { after: "1h", until: "2h" }, /deadline of agent travel: .*until/],
  ])("refuses a deadline with %s", (_, deadline, says) => {
    expect(() => defineAgent({ ...valid, deadline: deadline as never })).toThrow(says);
  });

  test.each(["2 hours", "0s", "h", "-1s", "1.5h", 0, -1, 1.5])("refuses the working time %o", (wall) => {
    expect(() => defineAgent({ ...valid, budget: { wall } })).toThrow(/budget of agent travel: wall/);
  });

  const names = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`t${index}`, echo]));

  test("may have as many tools as models accept", () => {
    expect(Object.keys(defineAgent({ ...valid, tools: names(SIZES.toolsMax) }).tools)).toHaveLength(SIZES.toolsMax);
  });

  test("says in days, from one hour on, how long its runs are kept, and which archive remains", () => {
    expect(defineAgent(valid).retention).toBeNull();
    const kept = (retention: NonNullable<Options["retention"]>) => defineAgent({ ...valid, retention }).retention;
    expect(kept({ hotDays: 7, archive: "warm" })).toStrictEqual({ hotMs: 604_800_000, archive: "warm" });
    expect(kept({ hotDays: 1 / 24 })).toStrictEqual({ hotMs: 3_600_000, archive: null });
    expect(kept({ archive: "cold" })).toStrictEqual({ hotMs: null, archive: "cold" });
  });

  test.each<[string, Partial<Options>, RegExp]>([
    [
      "runs that are kept for half an hour",
      { retention: { hotDays: 1 / 48 } },
      /the retention of agent travel: hotDays/,
    ],
    ["runs that are kept for a year", { retention: { hotDays: 365 } }, /the retention of agent travel: hotDays/],
    [
      "a tier that there is not",
      { retention: { archive: "frozen" as never } },
      /the retention of agent travel: archive/,
    ],
    ["days under another name", { retention: { days: 7 } as never }, /the retention of agent travel/],
    ["half a takeover", { budget: { takeovers: 2.5 } }, /budget of agent .*takeovers/],
    ["a price below nothing", { price: { inUsd: -1, outUsd: 1 } }, /price of agent .*inUsd/],
    ["no number of beats", { topology: { kind: "react", maxBeats: Number.NaN } }, /maxBeats NaN/],
    ["a name with a space", { name: "my travel" }, /name is 1 to 64 letters.*"my travel"/],
    ["no name", { name: "" }, /name is 1 to 64/],
    ["no version", { version: "" }, /agent travel has no version/],
    [
      "a trace of a caller of a third kind",
      { callerTrace: "own" as never },
      /has callerTrace own: write "link" or "parent"/,
    ],
    ["an end of idle runs of a third kind", { onIdle: "undo" as never }, /has onIdle undo: write "end" or "wait"/],
    ["an upgrade of a third kind", { upgrade: "ask" as never }, /has upgrade ask: write "follow" or "pin"/],
    [
      "a business key of a tool that does nothing outside",
      { tools: { look: { ...echo, key: () => "k" } } },
      /tool look of agent travel: .* no business key/,
    ],
    [
      "an unsafe tool whose errors say that something exists",
      { tools: { pay: { ...echo, effect: "unsafe", onExists: () => 1 } } },
      /tool pay of agent travel: onExists is for keyed and probed tools/,
    ],
    [
      "an effect class that there is not",
      { tools: { pay: { ...echo, effect: "safe" as never } } },
      /tool pay of agent travel: effect is safe: write none, keyed, idempotent, probed, unsafe/,
    ],
    [
      "an undo with an effect class that there is not",
      { tools: { pay: { ...echo, effect: "unsafe", undo: { effect: "safe" as never, run: () => null } } } },
      /tool pay of agent travel: undo\.effect is safe: write none, keyed, idempotent, probed, unsafe/,
    ],
    [
      "a policy for unknown outcomes that there is not",
      { tools: { pay: { ...echo, effect: "unsafe", onUnknown: "hope" as never } } },
      /tool pay of agent travel: onUnknown is hope: write ask, tell, fail/,
    ],
    [
      "a tool with a policy for loops that there is not",
      { tools: { pay: { ...echo, loops: "stop" as never } } },
      /tool pay of agent travel: loops is stop: write "ignore"/,
    ],
    [
      "a tool that is neither parallel nor not",
      { tools: { pay: { ...echo, parallel: "no" as never } } },
      /tool pay of agent travel: parallel is true or false/,
    ],
    ["a tool whose name no model takes", { tools: { "book flight": echo } }, /tool's name.*"book flight"/],
    ["more tools than models take", { tools: names(SIZES.toolsMax + 1) }, /more than 128 tools/],
    [
      "no tools, as JavaScript allows it",
      { tools: undefined as never },
      /agent travel has no tools: write tools: \{\}/,
    ],
    ["a tool that is none", { tools: { pay: undefined as never } }, /tool pay of agent travel is none: write tool/],
    ["a budget below nothing", { budget: { usd: -1 } }, /the budget of agent travel/],
    [
      "an option of its budget beside the budget",
      { onExhausted: "ask" } as never,
      /agent travel has no option "onExhausted": take it out, or write one of activeTools, approvals, budget, .*, version$/,
    ],
    ["a budget in another currency", { budget: { eur: 1 } as never }, /the budget of agent travel/],
  ])("with %s is refused", (_, change, message) => {
    expect(() => defineAgent({ ...valid, ...change })).toThrow(message);
    expect(() => defineAgent({ ...valid, ...change })).toThrow(AgentInvalid);
  });
});

test("a tool with an option that no tool has is refused, since nothing would obey it", () => {
  const cautious = { input: z.object({}), effect: "unsafe", run: () => null, approved: "always" } as const;
  expect(() => tool(cautious)).toThrow(/^a tool has no option "approved": did you mean approval\?$/);
});

describe("the topology of an agent", () => {
  const refusal = (change: object): string => {
    try {
      defineAgent({ ...valid, ...change });
      return "";
    } catch (error) {
      expect(error).toBeInstanceOf(AgentInvalid);
      return (error as Error).message;
    }
  };

  test("is refused where cairn does not know it, with the ones that it knows", () => {
    expect(refusal({ topology: { kind: "ring", maxBeats: 3 } })).toMatch(/unknown topology "ring": write .*react\(/);
    expect(refusal({ topology: null })).toMatch(/unknown topology/);
  });

  test("is refused where its options are wrong or name what the agent lacks", () => {
    expect(refusal({ topology: reactTopology({ maxBeats: 0 }) })).toMatch(/topology react of agent travel: maxBeats 0/);
    const stage = (topology: Topology) => ({ name: "one", instructions: "do it", topology });
    const inner = pipeline({
      stages: [stage({ ...pipeline({ stages: [stage(reactTopology({ maxBeats: 3 }))] }), maxBeats: -1 })],
    });
    expect(refusal({ topology: inner })).toMatch(/pipeline: maxBeats -1: write a whole number, 1 or more/);
    const second = reactTopology({ maxBeats: 5, onContradiction: { model: "second" } });
    expect(refusal({ topology: second })).toMatch(/it names second, and the agent has no such model/);
    expect(refusal({ topology: second, models: { second: valid.model } })).toBe("");
  });

  test("may be the agent's own: a module with the same interface", () => {
    const own = { ...REACT, kind: "own", problems: () => ["it wants more options"] } as TopologyModule;
    expect(refusal({ topology: { kind: "own", maxBeats: 3, module: own } })).toMatch(/own .*more options/);
    expect(refusal({ topology: { kind: "own", maxBeats: 3, module: { ...own, problems: () => [] } } })).toBe("");
  });

  test("stores snapshots as often as the agent says", () => {
    expect(defineAgent({ ...valid, checkpoint: 5 })).toMatchObject({ checkpoint: 5 });
    expect(refusal({ checkpoint: "unit" })).toBe("");
    expect(refusal({ checkpoint: 0 })).toMatch(/checkpoint 0: write a number of beats/);
    expect(refusal({ models: { cheap: { model: valid.model, price: { inUsd: -1, outUsd: 0 } } } })).toMatch(/price/);
  });
});
