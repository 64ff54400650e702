/** Names: their shape, their length, and that no choice of the parts makes two of them equal. */
import { describe, expect, test } from "vitest";
import { BOUNDS } from "../../src/core/limits.ts";
import { isName, isRunId, isTenant } from "../../src/core/ids.ts";
import { bornFrom, childRunId, executionName, gateId, intentKey, timeIn, timeText } from "../../src/protocol/ids.ts";
import { wrongWithKey } from "../../src/core/ids.ts";
import { reconcileId, runId } from "../../src/protocol/ids.ts";
import { SIZES } from "../../src/codec/limits.ts";
import { hash } from "../support/states/states-and-events.ts";

const run = (tenant: string, agent: string, idempotencyKey: string) => runId(hash, { tenant, agent, idempotencyKey });

const INTENT = { run: run("local", "travel", "k"), born: "abc", attempt: 1, call: "c1", tool: "book", args: "{}" };

test("a time sorts as its text does, and is read from the beginning of one", () => {
  const times = [0, 9, 10.5, 1_700_000_000_000];
  const texts = times.map(timeText);
  expect(texts.toSorted()).toEqual(texts);
  expect(texts.map((each) => timeIn(`${each}-more`))).toEqual([0, 9, 10, 1_700_000_000_000]);
  expect(timeText(-5)).toBe(timeText(0));
});

test("the id of a child names its parent's incarnation, restart, call and try", () => {
  const child = { tenant: "local", run: "r1", born: "b1", attempt: 1, call: "c1", try: 1 };
  const changes = [{}, { run: "r2" }, { born: "b2" }, { attempt: 2 }, { call: "c2" }, { try: 2 }];
  const ids = changes.map((change) => childRunId(hash, { ...child, ...change }));
  expect(ids.every((id) => isRunId(id))).toBe(true);
  expect(new Set(ids).size).toBe(changes.length);
  expect(childRunId(hash, child)).toBe(ids[0]);
});

describe("a run's id", () => {
  test("is the tenant and 26 characters without information", () => {
    expect(run("local", "travel", "trip-42")).toMatch(/^local-[a-z2-7]{26}$/);
    expect(isRunId(run("a".repeat(24), "travel", "x"))).toBe(true);
  });

  test("is equal for the same key of the same agent, and different for any other", () => {
    expect(run("local", "travel", "k")).toBe(run("local", "travel", "k"));
    const others = [
      run("local", "travel", "k"),
      run("other", "travel", "k"),
      run("local", "agent", "k"),
      run("local", "travel", "K"),
    ];
    expect(new Set(others.map((id) => id.split("-")[1])).size).toBe(others.length);
  });

  test.each(["", ",", '","', "-", "#", "/", " ", "\u0000", "\\"])(
    "differs when %j moves from one part to the next",
    (between) => {
      expect(run("local", `a${between}b`, "c")).not.toBe(run("local", "a", `b${between}c`));
    },
  );

  test.each([
    "",
    "local",
    "local-abc",
    `Local-${"a".repeat(26)}`,
    `local-${"a".repeat(25)}1`,
    `local-${"a".repeat(27)}`,
  ])("refused: %s", (id) => {
    expect(isRunId(id)).toBe(false);
  });

  test("matches a prefix only at its start", () => {
    const id = run("local", "travel", "k");
    expect(isRunId(`../${id}`)).toBe(false);
    expect(isRunId(`${id}/x`)).toBe(false);
    expect(isRunId(`${id}\n`)).toBe(false);
  });
});

describe("the name of an execution", () => {
  test("has at most 80 characters, whatever the tenant and the count", () => {
    const longest = executionName(run("a".repeat(SIZES.tenantCharactersMax), "travel", "k"), bornFrom(hash("x")), 1e9);
    expect(longest.length).toBeLessThanOrEqual(80);
    expect(longest).toMatch(/^[a-z0-9-]+$/);
  });

  test("differs by run, incarnation and chain", () => {
    const names = [
      executionName("r-a", "b", 1),
      executionName("r-a", "b", 2),
      executionName("r-a", "c", 1),
      executionName("r-b", "b", 1),
    ];
    expect(new Set(names).size).toBe(4);
  });
});

describe("an incarnation ID", () => {
  test("consists of ten random characters", () => {
    expect(bornFrom(hash("one"))).toMatch(/^[a-z2-7]{10}$/);
    const many = new Set(Array.from({ length: 5_000 }, (_, index) => bornFrom(hash(String(index)))));
    expect(many.size).toBe(5_000);
  });

  test("uses all of its alphabet evenly", () => {
    const counts = new Map<string, number>();
    for (let index = 0; index < 2_000; index += 1) {
      for (const letter of bornFrom(hash(String(index)))) counts.set(letter, (counts.get(letter) ?? 0) + 1);
    }
    expect(counts.size).toBe(32);
    for (const count of counts.values()) expect(Math.abs(count - 625)).toBeLessThan(150);
  });
});

describe("the key of a call", () => {
  test("contains tool and call for people, and the intent for machines", () => {
    expect(intentKey(hash, INTENT)).toMatch(/^book-c1-[a-z2-7]{26}$/);
    expect(intentKey(hash, INTENT)).toBe(intentKey(hash, { ...INTENT }));
  });

  test.each([
    ["run", { run: run("local", "travel", "k2") }],
    ["incarnation", { born: "abd" }],
    ["attempt (schedule 21: a restart gets a fresh key)", { attempt: 2 }],
    ["call", { call: "c2" }],
    ["tool", { tool: "look" }],
    ["arguments", { args: '{"seat":3}' }],
  ])("differs for another %s", (_, change) => {
    const secret = (key: string) => key.split("-").at(-1);
    expect(secret(intentKey(hash, { ...INTENT, ...change }))).not.toBe(secret(intentKey(hash, INTENT)));
  });

  test.each(["", ",", '","', "-", "#"])("differs when %j moves from one part to the next", (between) => {
    const key = (tool: string, args: string) =>
      intentKey(hash, { ...INTENT, tool, args })
        .split("-")
        .at(-1);
    expect(key(`a${between}b`, "c")).not.toBe(key("a", `b${between}c`));
  });
});

describe("a name", () => {
  test.each(["travel", "book_flight", "a-1", "A".repeat(64)])("%s is valid for an agent or a tool", (name) => {
    expect(isName(name)).toBe(true);
  });

  test.each(["", "1a", "-a", "a b", "a.b", "ä", "a".repeat(65), "a\n"])("%j is invalid", (name) => {
    expect(isName(name)).toBe(false);
  });

  test("of a tenant is short and lower case, so that it can start a run ID", () => {
    expect(["local", "a", "t0"].every(isTenant)).toBe(true);
    expect(["", "A", "a-b", "a".repeat(25), "a\n"].some(isTenant)).toBe(false);
  });
});

test("an idempotency key is refused when it is empty or too long, with the reason", () => {
  expect(wrongWithKey("trip 42 / ä")).toBeNull();
  expect(wrongWithKey("x".repeat(BOUNDS.idempotencyKeyCharactersMax))).toBeNull();
  expect(wrongWithKey("")).toBe("it is empty");
  expect(wrongWithKey("x".repeat(257))).toBe("it has 257 characters, 256 are allowed");
});

test("the ID of an answer contains the call and the question, so the first answer to each counts", () => {
  expect(reconcileId("c1", 1)).toBe("reconcile#c1#1");
  expect(new Set([reconcileId("c1", 1), reconcileId("c1", 2), reconcileId("c11", 1)]).size).toBe(3);
});

test("a gate has another ID each time that its call opens one, and the first has no number", () => {
  const of = { attempt: 1, call: "c1", planHash: "p", argsHash: "a" };
  const ids = [undefined, 1, 2].map((again) => gateId(hash, { ...of, again }));
  expect(new Set(ids).size).toBe(3);
  expect(gateId(hash, of)).toBe(ids[0]);
  // A gate that a run waits at keeps its id across versions.
  expect(ids[0]).toBe("c1-lmwtmzjg7mwau5jjddipa36b3n");
});
