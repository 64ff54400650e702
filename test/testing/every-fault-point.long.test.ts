import { AssertionError } from "node:assert";
import { z } from "zod";
import { describe, expect, test } from "vitest";
import { childTool, defineAgent, tool } from "../../src/index.ts";
import {
  EffectsNotReplaced,
  everyFaultPoint,
  fakeService,
  killAt,
  scriptedModel,
} from "../../src/testing/kit/index.ts";
import { INPUT, lettersAgent } from "./letters.ts";

describe.each(["keyed", "probed", "unsafe"] as const)("an agent with a tool of class %s", (effect) => {
  test("does the same with a kill at each fault point", async () => {
    const { clerk, post } = lettersAgent({ effect, service: { honoursKeys: effect === "keyed" } });
    const { points, uninterrupted } = await everyFaultPoint(clerk, { input: INPUT, services: [post] });
    expect(uninterrupted.killed).toEqual([]);
    expect(new Set(points).size).toBe(points.length);
    expect(new Set(points.map((point) => point.split("#")[0]))).toEqual(
      new Set(
        ["claim", "model", "intent", "effect:send", "put", "release"].flatMap((name) => [
          `before:${name}`,
          `after:${name}`,
        ]),
      ),
    );
  });
});

test("finds each point at which a service that ignores its keys acts twice", async () => {
  const { clerk, post } = lettersAgent({ letters: 2, service: { honoursKeys: false } });
  const found = everyFaultPoint(clerk, { input: INPUT, services: [post] });
  await expect(found).rejects.toThrow(AssertionError);
  await expect(everyFaultPoint(clerk, { input: INPUT, services: [post] })).rejects.toThrow(
    /^\d of \d+ kills changed the run\n {2}after:effect:send#1: post: \{"number":1\} happened 2 times, by keys/,
  );
});

test("finds another result, unless the test normalises it", async () => {
  const { clerk, post } = lettersAgent({ letters: 1 });
  let replies = 0;
  const model = scriptedModel({
    name: "counting",
    reply: ({ calls }) =>
      calls.length === 0 ? { calls: [{ tool: "send", args: { number: 1 } }] } : { text: `reply ${(replies += 1)}` },
  });
  const options = { input: INPUT, services: [post], model };
  await expect(everyFaultPoint(clerk, options)).rejects.toThrow(/its result is "reply 2" instead of "reply 1"/);
  await everyFaultPoint(clerk, { ...options, normalise: () => null });
});

test("refuses to judge effects that no service records", async () => {
  const { clerk, post } = lettersAgent();
  await expect(everyFaultPoint(clerk, { input: INPUT })).rejects.toThrow(EffectsNotReplaced);
  expect(post.requests).toEqual([]);
});

test("says which points a run passes if it does not pass the named one", async () => {
  const { clerk, post } = lettersAgent({ letters: 1 });
  const run = killAt(clerk, "after:effect:send#2", { input: INPUT, services: [post] });
  await expect(run).rejects.toThrow(/the run never reached after:effect:send#2; it passed before:claim#1, /);
});

test("kills an agent while it undoes what it did", async () => {
  const hotel = fakeService({ name: "hotel", reply: ({ room }: { room: number }) => ({ room }) });
  const book = tool({
    ...{ input: z.object({ room: z.int() }), effect: "keyed", run: hotel.call },
    undo: { effect: "keyed", run: hotel.undo },
  });
  const trip = defineAgent({
    name: "trip",
    version: "1",
    instructions: "",
    task: z.object({}),
    model: scriptedModel({
      name: "trip-model",
      reply: ({ turn }) =>
        turn < 2
          ? { calls: [{ tool: "book", args: { room: turn } }] }
          : { calls: [{ tool: "book", args: { room: 9 } }] },
    }),
    tools: { book },
    budget: { beats: 2 },
    saga: { onFailure: "undo" },
  });
  const { uninterrupted, points } = await everyFaultPoint(trip, { input: {}, tools: { book: hotel } });
  expect(uninterrupted.status).toBe("failed");
  expect(uninterrupted.effects.map(({ undone }) => undone)).toEqual([true, true]);
  expect(points).toContain("after:undo:book#2");
});

test("kills a parent and its child run", async () => {
  const { clerk, post } = lettersAgent({ letters: 1 });
  const office = defineAgent({
    name: "office",
    version: "1",
    instructions: "",
    task: z.object({}),
    model: scriptedModel({
      name: "office-model",
      reply: ({ turn }) => (turn === 0 ? { calls: [{ tool: "clerk", args: INPUT }] } : { text: "over" }),
    }),
    tools: {
      clerk: childTool({
        ...{
          agent: "clerk",
          description: "Sends a letter.",
          input: z.object({ to: z.string() }),
          budget: { beats: 10 },
        },
      }),
    },
    budget: { beats: 30 },
  });
  const { points } = await everyFaultPoint(office, { input: {}, agents: [clerk], services: [post] });
  expect(points).toContain("after:effect:send#1");
});
