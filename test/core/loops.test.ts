/** What the loop detector takes for a loop, and what it does not. */
import { foldAll } from "../../src/features/compose.ts";
import { describe, expect, test } from "vitest";
import { BOUNDS } from "../../src/core/limits.ts";
import type { Event } from "../../src/core/event.ts";
import type { Json } from "../../src/core/json.ts";
import { type LoopRules, findLoop, newestCalls, sameJson, sameValue } from "../../src/core/policy/loops.ts";
import { AT, stateAfter, callPart, EVENT } from "../support/states/states-and-events.ts";

type Call = readonly [tool: string, args: Json, result: Json, outcome?: "failed"];

/** Beats, each of one call or of several at once, or what a person says in between. */
function stateAfterBeats(beats: readonly (Call | readonly Call[] | string)[]) {
  let state = stateAfter(EVENT.started);
  for (const [index, beat] of beats.entries()) {
    if (typeof beat === "string") {
      state = foldAll(state, [EVENT.messageReceived(beat, String(index))]);
      continue;
    }
    const made = (typeof beat[0] === "string" ? [beat] : beat) as readonly Call[];
    const first = state.calls + 1;
    const settled = made.flatMap(([, , result, outcome], at): Event[] => {
      const call = `c${first + at}`;
      const value = { kind: "inline", json: result } as const;
      const told = { outcome: outcome ?? "succeeded", value, externalId: null, evidence: "test" } as const;
      return [EVENT.intended(call), EVENT.invoked(call), { kind: "ToolResultRecorded", at: AT, call, ...told }];
    });
    state = foldAll(state, [EVENT.replied(made.map(([tool, args]) => callPart(tool, args))), ...settled]);
  }
  return state;
}

type Beats = Parameters<typeof stateAfterBeats>[0];

const loopIn = (beats: Beats, rules: Partial<LoopRules> = {}) =>
  findLoop(stateAfterBeats(beats).messages, {
    ...{ failures: BOUNDS.loopFailures, isExpected: () => false, asksHuman: () => false },
    ...rules,
  });

const A: Call = ["search", { from: "LIS", to: "BER" }, { found: 0 }];
const B: Call = ["relax", { by: 1 }, "relaxed"];
const other = (n: number): Call => ["look", { n }, n];

describe("a runaway", () => {
  test("is the same call with the same result, three times", () => {
    expect(loopIn([A, A])).toBeNull();
    expect(loopIn([A, A, A])).toEqual({
      crack: "runaway",
      why: "of its last 3 calls 3 were of search with the same arguments and the same result",
    });
  });

  test("is found within six calls; older calls do not count", () => {
    expect(BOUNDS.loopCalls).toBe(6);
    expect(loopIn([A, other(1), other(2), A, other(3), A])?.crack).toBe("runaway");
    expect(loopIn([A, other(1), other(2), A, other(3), other(4), A])).toBeNull();
  });

  test("does not depend on the order of names", () => {
    const turned: Call = ["search", { to: "BER", from: "LIS" }, { found: 0 }];
    expect(loopIn([A, turned, A])?.crack).toBe("runaway");
  });

  test("is not found in a poll that makes progress, or in calls with other arguments", () => {
    expect(loopIn([1, 2, 3, 4].map((percent): Call => ["poll", {}, { percent }]))).toBeNull();
    expect(loopIn([1, 2, 3, 4].map((page): Call => ["search", { page }, []]))).toBeNull();
    expect(loopIn([[1], [1, 2], [[1]]].map((result): Call => ["poll", {}, result]))).toBeNull();
    expect(loopIn([{ a: 1 }, { b: 1 }, { a: 1, b: 1 }].map((result): Call => ["poll", {}, result]))).toBeNull();
  });

  test("is not found in calls of another tool or with another outcome", () => {
    const [here, there]: Call[] = [
      ["here", {}, 1],
      ["there", {}, 1],
    ];
    expect(loopIn([here, there, other(1), here] as Call[])).toBeNull();
    const [works, fails]: Call[] = [
      ["poll", {}, 1],
      ["poll", {}, 1, "failed"],
    ];
    expect(loopIn([works, fails, other(1), works] as Call[])).toBeNull();
  });

  test("does not count a call without a result", () => {
    const { messages } = stateAfterBeats([A, A]);
    const state = foldAll(stateAfterBeats([A, A]), [EVENT.replied([callPart(A[0], A[1])])]);
    expect(state.messages.length).toBe(messages.length + 1);
    expect(findLoop(state.messages)).toBeNull();
  });

  test("is found within six calls even if the sixth reply made more calls", () => {
    const replies = [
      [A, other(1), other(2)],
      [A, other(3)],
      [other(4), A, other(5)],
    ];
    expect(loopIn(replies)).toBeNull();
  });

  test("starts its count anew after a user message", () => {
    expect(loopIn([A, A, "try it once more", A, A])).toBeNull();
    expect(loopIn([A, A, "try it once more", A, A, A])?.crack).toBe("runaway");
  });

  test("counts equal calls of one reply once", () => {
    expect(loopIn([[A, A, A]])).toBeNull();
    expect(
      loopIn([
        [A, B],
        [A, B],
        [A, B],
      ])?.crack,
    ).toBe("runaway");
  });
});

describe("an oscillation", () => {
  test("is two calls that alternate six times", () => {
    expect(loopIn([A, B, A, B, A, B])).toEqual({
      crack: "oscillation",
      why: "its last 6 calls alternated between search and relax, each with the same arguments and the same result",
    });
    expect(loopIn([other(1), B, A, B, A, B, A])?.crack).toBe("oscillation");
  });

  test("is not taken for a runaway before it is complete", () => {
    expect(loopIn([A, B, A, B, A])).toBeNull();
    expect(loopIn([other(1), A, B, A, B, A])).toBeNull();
  });

  test("is not found when the pattern breaks or one call makes progress", () => {
    expect(loopIn([A, B, A, B, other(1), A])?.crack).toBe("runaway");
    expect(loopIn([A, ["relax", { by: 1 }, 1], A, ["relax", { by: 1 }, 2], other(1), other(2)])).toBeNull();
  });
});

describe("a round of calls that repeats three times", () => {
  const names = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];
  const cycle = (period: number): readonly Call[] => names.slice(0, period).map((name): Call => [name, {}, name]);
  const times = <T>(count: number, entries: readonly T[]): readonly T[] =>
    Array.from({ length: count }, () => entries).flat();

  test.each([3, 4, 5, 6, 7, 8])("is an oscillation: %i calls, one after another", (period) => {
    const all = times(3, cycle(period));
    expect(loopIn(all)).toEqual({
      crack: "oscillation",
      why: `it went 3 times through the same ${period} calls, of ${names.slice(0, period).join(", ")}, with the same results`,
    });
    expect(loopIn([...times(2, cycle(period)), ...cycle(period).slice(0, -1)])).toBeNull();
    // It may begin anywhere in the round, and after other calls.
    expect(loopIn([other(1), ...all.slice(1), ...cycle(period).slice(0, 1)])?.crack).toBe("oscillation");
  });

  test("is none with more than eight calls, or where one result makes progress", () => {
    expect(BOUNDS.loopPeriodMax).toBe(8);
    expect(loopIn(times(3, cycle(9)))).toBeNull();
    const last = cycle(3).with(2, ["c", {}, "other"]);
    expect(loopIn([...times(2, cycle(3)), ...last])).toBeNull();
    expect(loopIn([...cycle(3), ...last, ...cycle(3)])).toBeNull();
  });

  test("starts anew after a user message", () => {
    expect(loopIn([...times(2, cycle(4)), "go on", ...cycle(4)])).toBeNull();
  });

  test("is a runaway where one reply makes all of them, in any order", () => {
    const [a, b, c, d] = cycle(4) as [Call, Call, Call, Call];
    expect(
      loopIn([
        [a, b, c, d],
        [b, a, d, c],
        [d, c, b, a],
      ]),
    ).toEqual({
      crack: "runaway",
      why: "its last 3 replies made the same calls, of d, c, b, a, with the same results",
    });
    const nine = cycle(9);
    expect(loopIn([nine, nine])).toBeNull();
    expect(loopIn([nine, nine, nine])?.crack).toBe("runaway");
    expect(loopIn([nine, nine, nine.slice(1)])).toBeNull();
  });

  test("is none where replies of the same length share one call only", () => {
    const [a, b] = cycle(2) as [Call, Call];
    const replies = Array.from({ length: 6 }, (_, index): Call[] => [index % 2 === 0 ? a : b, other(index)]);
    expect(loopIn(replies)).toBeNull();
  });

  test("names the calls of one round, also where its calls are split into replies in another way each time", () => {
    const [a, b, c] = cycle(3) as [Call, Call, Call];
    expect(loopIn([[other(1), other(2)], [a, b], [c, a], b, [c, a], b, c])?.why).toBe(
      "it went 3 times through the same 3 calls, of a, b, c, with the same results",
    );
    expect(
      loopIn(
        times(3, [
          [a, b],
          [c, other(4)],
        ]),
      )?.why,
    ).toBe("it went 3 times through the same 4 calls, of a, b, c, look, with the same results");
  });

  test("is an oscillation where several replies make them, however many calls each makes", () => {
    const [a, b, c, d] = cycle(4) as [Call, Call, Call, Call];
    expect(
      loopIn(
        times(3, [
          [a, b],
          [c, d],
        ]),
      )?.crack,
    ).toBe("oscillation");
    const one = cycle(9);
    const two = one.map(([tool]): Call => [tool, { second: true }, 1]);
    expect(loopIn(times(3, [one, two]))?.why).toMatch(/^it went 3 times through the same 18 calls/);
    expect(loopIn([...times(2, [one, two]), one])).toBeNull();
  });
});

describe("a tool that fails again and again", () => {
  const fails = (n: number, tool = "ask"): Call => [tool, { n }, `no ${n}`, "failed"];
  const refused = (n: number, tool = "ask"): Call => [tool, { n }, `NotStarted: no ${n}`, "failed"];
  const first = (count: number, made: (n: number) => Call | readonly Call[]) =>
    Array.from({ length: count }, (_, index) => made(index));

  test("is a runaway in eight replies in a row, whatever its arguments are", () => {
    expect(BOUNDS.loopFailures).toBe(8);
    expect(loopIn(first(7, fails))).toBeNull();
    expect(loopIn(first(8, fails))).toEqual({
      crack: "runaway",
      why: "its calls of ask failed or were refused in 8 replies in a row",
    });
    expect(loopIn(first(8, (n) => (n % 2 === 0 ? fails(n) : refused(n))))?.crack).toBe("runaway");
  });

  test("is one in as many replies as the agent says", () => {
    expect(loopIn(first(3, fails), { failures: 3 })?.crack).toBe("runaway");
    expect(loopIn(first(11, fails), { failures: 12 })).toBeNull();
    expect(loopIn(first(100, fails), { failures: 100 })?.crack).toBe("runaway");
  });

  test("counts the calls of one reply once, and two tools apart", () => {
    expect(loopIn(first(7, (n) => [fails(3 * n), fails(3 * n + 1), fails(3 * n + 2)]))).toBeNull();
    expect(loopIn(first(8, (n) => [fails(3 * n), fails(3 * n + 1)]))?.crack).toBe("runaway");
    expect(loopIn(first(14, (n) => fails(n, n % 2 === 0 ? "ask" : "tell")))).toBeNull();
    expect(loopIn(first(16, (n) => fails(n, n % 2 === 0 ? "ask" : "tell")))?.crack).toBe("runaway");
  });

  test("counts all tools that do not exist as one, whatever names the model makes up", () => {
    const made = (n: number): Call => [`ask_${n}`, {}, `UnknownTool: there is no tool ask_${n}`, "failed"];
    expect(loopIn(first(7, made))).toBeNull();
    expect(loopIn(first(8, made))).toEqual({
      crack: "runaway",
      why: "its calls of tools that do not exist failed or were refused in 8 replies in a row",
    });
    expect(loopIn(first(10, (n) => [other(n), made(n)]).flat() as Call[])?.crack).toBe("runaway");
    // A service may say the same of a tool of its own.
    expect(loopIn(first(8, (n) => [`ask_${n}`, {}, `no UnknownTool: ${n}`, "failed"]))).toBeNull();
  });

  test("is none once a call of it succeeds, also in one reply with failures", () => {
    expect(loopIn([...first(7, fails), ["ask", {}, 1], fails(8)])).toBeNull();
    expect(loopIn([...first(7, fails), [fails(8), ["ask", {}, 1]]])).toBeNull();
    expect(loopIn([...first(7, refused), ["ask", {}, 1], refused(8)])).toBeNull();
    expect(loopIn([...first(7, refused), [refused(8), ["ask", {}, 1]]])).toBeNull();
  });

  test("is none where another tool succeeds in between, unless its own calls are refused", () => {
    const mixed = (made: (n: number) => Call) => first(10, (n) => [other(n), made(n)]).flat() as Call[];
    expect(loopIn(mixed(fails))).toBeNull();
    expect(loopIn(mixed(refused))?.crack).toBe("runaway");
    expect(loopIn(mixed((n) => ["ask", { n }, { NotStarted: n }, "failed"]))).toBeNull();
    const taken = (n: number): Call => [
      "ask",
      { n },
      `KeyTaken: the key a of this call is that of call c${n}`,
      "failed",
    ];
    expect(loopIn(mixed(taken))?.crack).toBe("runaway");
  });

  test("counts anew after a user message, and after a human who denied a call", () => {
    expect(loopIn([...first(7, fails), "try Bern", ...first(7, (n) => fails(n + 10))])).toBeNull();
    const denied = (n: number, by = "ann"): Call => ["ask", { n }, `denied by ${by}: too dear`, "failed"];
    expect(
      loopIn(
        first(9, (n) => denied(n)),
        { asksHuman: () => true },
      ),
    ).toBeNull();
    expect(
      loopIn([...first(7, fails), denied(7), ...first(7, (n) => fails(n + 10))], { asksHuman: () => true }),
    ).toBeNull();
    // Only a human can deny a call, and only where one is asked.
    expect(loopIn(first(9, (n) => denied(n)))?.crack).toBe("runaway");
    expect(
      loopIn(
        first(9, (n) => denied(n, "expiry")),
        { asksHuman: () => true },
      )?.crack,
    ).toBe("runaway");
  });

  test("is none after a denial of one of several calls, and counts on beside the success of another", () => {
    const denied = (n: number): Call => ["ask", { more: n }, "denied by ann: too dear", "failed"];
    const both = first(9, (n) => [fails(n), denied(n)]);
    expect(loopIn(both, { asksHuman: () => true })).toBeNull();
    // Each reply makes progress by one of its calls; only refusals count then.
    const mixed = (made: (n: number) => Call) => first(9, (n): Call[] => [other(n), fails(n, "tell"), made(n)]);
    expect(loopIn(mixed((n) => fails(n)))).toBeNull();
    expect(loopIn(mixed((n) => refused(n)))?.why).toMatch(/^its calls of ask failed or were refused/);
    expect(loopIn(first(9, (n): Call[] => [other(n), refused(2 * n), fails(2 * n + 1)]))).toBeNull();
  });

  test("is found by the same rules where an agent says nothing of its own", () => {
    expect(findLoop(stateAfterBeats(first(8, fails)).messages)?.crack).toBe("runaway");
    expect(findLoop(stateAfterBeats([A, A, A]).messages)?.crack).toBe("runaway");
    const denied = (n: number): Call => ["ask", { n }, "denied by ann: too dear", "failed"];
    expect(findLoop(stateAfterBeats(first(8, denied)).messages)?.crack).toBe("runaway");
  });

  test("is none where its tool says that errors are expected, and neither is an equal call of it", () => {
    const isExpected = (tool: string) => tool === "ask";
    expect(loopIn(first(9, fails), { isExpected })).toBeNull();
    expect(
      loopIn(
        first(9, () => fails(1)),
        { isExpected },
      ),
    ).toBeNull();
    // It hides no loop of another tool.
    expect(loopIn([A, fails(1), A, fails(1), A, fails(1)], { isExpected })?.crack).toBe("runaway");
    expect(
      loopIn(
        first(8, (n) => [["ask", { n }, n], fails(n, "tell")] as Call[]),
        { isExpected },
      )?.crack,
    ).toBe("runaway");
  });
});

describe("the newest calls", () => {
  const calls = (beats: Beats) =>
    newestCalls(stateAfterBeats(beats).messages).map(({ tool, args }) => ({ tool, args }));
  const named = (n: number) => ({ tool: "look", args: { kind: "inline", json: { n } } });

  test("are those since the last user message, six at most, in the order of the model", () => {
    expect(calls([other(1), "and now?", other(2), [other(3), other(4)]])).toEqual([2, 3, 4].map(named));
    expect(calls([1, 2, 3, 4, 5, 6, 7, 8].map(other))).toEqual([3, 4, 5, 6, 7, 8].map(named));
    expect(calls([[1, 2, 3, 4].map(other), [5, 6, 7, 8].map(other)])).toEqual([3, 4, 5, 6, 7, 8].map(named));
  });

  test("end at a message that the caller names", () => {
    const { messages } = stateAfterBeats([other(1), other(2)]);
    const last = messages.findLast(({ role }) => role === "assistant");
    expect(newestCalls(messages, ({ id }) => id === last?.id)).toEqual([]);
    expect(newestCalls(messages, ({ id }) => id === messages[0]?.id)).toHaveLength(2);
  });
});

describe("two values are equal", () => {
  test.each<readonly [Json, Json]>([
    [1, {}],
    [{}, 1],
    [null, {}],
    [{}, null],
    [[], {}],
    [["a"], { 0: "a" }],
    [{ a: null }, { b: null }],
  ])("not when one is %j and the other %j", (one, other) => {
    expect(sameJson(one, other)).toBe(false);
  });

  test("when their bytes are equal, also outside of the transcript", () => {
    const blob = (sha256: string) => ({ kind: "blob", sha256, bytes: 9, head: "", tail: "" }) as const;
    expect(sameValue(blob("a"), blob("a"))).toBe(true);
    expect(sameValue(blob("a"), blob("b"))).toBe(false);
    expect(sameValue(blob("a"), { kind: "inline", json: "a" })).toBe(false);
    expect(sameValue({ kind: "inline", json: "a" }, blob("a"))).toBe(false);
  });
});
