/** When chaos kills: at which moments of a task, and how far into a call. */
import { describe, expect, it } from "vitest";
import type { Agent } from "../../src/ports/agent.ts";
import {
  type Kill,
  type KillMoment,
  canJudge,
  chanceFrom,
  numbered,
  randomKill,
  killWords,
} from "../../src/chaos/kills.ts";

const around = (name: KillMoment["name"], at = ""): KillMoment[] => [
  { when: "before", name, at },
  ...(name === "claim" || name === "put" ? [] : [{ when: "during", name, at } as const]),
  { when: "after", name, at },
];
const MOMENTS = [
  ...around("claim"),
  ...around("model"),
  ...around("effect", "mail"),
  ...around("put"),
  ...around("model"),
  ...around("effect", "pay"),
  ...around("undo", "mail"),
  ...around("model"),
];

const ANY = { tookMs: () => 100, canJudge: () => true };

describe("the choice of fault points to kill at", () => {
  it("numbers each fault point within its kind", () => {
    const edges = numbered(MOMENTS).map(killWords);
    expect(edges).toHaveLength(MOMENTS.length);
    expect(new Set(edges).size).toBe(MOMENTS.length);
    expect(edges).toContain("after effect 2 (pay)");
    expect(edges).toContain("before model 3");
  });

  it("draws from the fault points that every strategy has, and times from all of them", () => {
    const chance = chanceFrom("any");
    const drawn = new Set(Array.from({ length: 400 }, () => killWords(randomKill(MOMENTS, chance, ANY) as Kill)));
    const shared = numbered(MOMENTS).filter(({ name }) => name === "model" || name === "effect");
    expect([...drawn].toSorted()).toEqual(shared.map(killWords).toSorted());
  });

  it("draws beats with equal probability, however much happens in them", () => {
    const busy = [...around("model"), ...Array.from({ length: 20 }, () => around("effect", "mail")).flat()];
    const chance = chanceFrom("any");
    const drawn = Array.from({ length: 1_000 }, () => randomKill([...busy, ...around("model")], chance, ANY));
    const last = drawn.filter((kill) => kill?.name === "model" && kill.nth === 2).length;
    expect(last).toBeGreaterThan(400);
    expect(last).toBeLessThan(600);
  });

  it("is determined by the seed", () => {
    const draw = (seed: string) => Array.from({ length: 20 }, chanceFrom(seed));
    expect(draw("1/7")).toEqual(draw("1/7"));
    expect(draw("1/7")).not.toEqual(draw("1/8"));
    expect(draw("1/7").every((number) => number >= 0 && number < 1)).toBe(true);
  });

  it("is empty when no model was called", () => {
    expect(randomKill(around("claim"), chanceFrom("1"), ANY)).toBeNull();
  });

  it("kills during a call at any time of it, and at no other moment so late", () => {
    const chance = chanceFrom("any");
    const drawn = Array.from({ length: 400 }, () => randomKill(MOMENTS, chance, ANY));
    const during = drawn.flatMap((kill) => (kill?.when === "during" ? [kill.afterMs ?? -1] : []));
    expect(Math.min(...during)).toBeLessThan(10);
    expect(Math.max(...during)).toBeGreaterThan(90);
    expect(Math.max(...during)).toBeLessThan(100);
    expect(drawn.filter((kill) => kill?.when !== "during" && kill?.afterMs !== undefined)).toEqual([]);
  });

  it.each<[says: string, at: string, isCounted: boolean, expected: boolean]>([
    ["a keyed call, if the service counts", "pay", true, true],
    ["no unsafe call, because a human would have to find out", "mail", true, false],
    ["no tool call, if only calls are counted", "pay", false, false],
  ])("kills during %s", (_, at, isCounted, expected) => {
    const agent = { tools: { pay: { effect: "keyed" }, mail: { effect: "unsafe" } } } as unknown as Agent;
    const judges = canJudge(agent, isCounted);
    expect(judges({ when: "during", name: "effect", at })).toBe(expected);
    expect(judges({ when: "after", name: "effect", at })).toBe(true);
    expect(judges({ when: "during", name: "model", at: "" })).toBe(true);
  });
});
