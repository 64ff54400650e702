/** What the loop detector takes for a loop, and what it does not. */
import { describe, expect, test } from "vitest";
import { BOUNDS } from "../../src/core/limits.ts";
import type { Event } from "../../src/core/event.ts";
import type { Json } from "../../src/core/json.ts";
import { findLoop, sameJson, sameValue } from "../../src/core/policy/loops.ts";
import { foldAll } from "../../src/core/transition.ts";
import {
  AT,
  stateAfter,
  callPart,
  messageReceived,
  intended,
  invoked,
  replied,
  startedEvent,
} from "../support/states/states-and-events.ts";

type Call = readonly [tool: string, args: Json, result: Json, outcome?: "failed"];

/** Beats, each of one call or of several at once, or what a person says in between. */
function stateAfterBeats(beats: readonly (Call | readonly Call[] | string)[]) {
  let state = stateAfter(startedEvent);
  for (const [index, beat] of beats.entries()) {
    if (typeof beat === "string") {
      state = foldAll(state, [messageReceived(beat, String(index))]);
      continue;
    }
    const made = (typeof beat[0] === "string" ? [beat] : beat) as readonly Call[];
    const first = state.calls + 1;
    const settled = made.flatMap(([, , result, outcome], at): Event[] => {
      const call = `c${first + at}`;
      const value = { kind: "inline", json: result } as const;
      const told = { outcome: outcome ?? "succeeded", value, externalId: null, evidence: "test" } as const;
      return [intended(call), invoked(call), { kind: "ToolResultRecorded", at: AT, call, ...told }];
    });
    state = foldAll(state, [replied(made.map(([tool, args]) => callPart(tool, args))), ...settled]);
  }
  return state;
}

const loopIn = (beats: Parameters<typeof stateAfterBeats>[0]) => findLoop(stateAfterBeats(beats).messages);

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
    const state = foldAll(stateAfterBeats([A, A]), [replied([callPart(A[0], A[1])])]);
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
