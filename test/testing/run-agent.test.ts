import { AssertionError } from "node:assert";
import { stat } from "node:fs/promises";
import { z } from "zod";
import { describe, expect, test } from "vitest";
import { defineAgent, tool } from "../../src/index.ts";
import {
  type AgentRun,
  everyFaultPoint,
  expectEffectsOnce,
  fakeService,
  runAgent,
  scriptedModel,
} from "../../src/testing/kit/index.ts";
import { INPUT, lettersAgent } from "./letters.ts";

test("runs an agent to its end and returns its result, ledger and effects", async () => {
  const { clerk, post } = lettersAgent();
  const run = await runAgent(clerk, { input: INPUT, services: [post] });
  expect(run).toMatchObject({
    agent: "clerk",
    status: "completed",
    result: "All are sent.",
    failure: null,
    killed: [],
  });
  expect(run.calls.map(({ tool: name, status, attempts }) => ({ name, status, attempts }))).toEqual(
    Array.from({ length: 3 }, () => ({ name: "send", status: "succeeded", attempts: 1 })),
  );
  expect(run.effects.map(({ input }) => input)).toEqual([{ number: 1 }, { number: 2 }, { number: 3 }]);
  expect(run.effects.map(({ key }) => key)).toEqual(run.calls.map(({ key }) => key));
  expectEffectsOnce(run);
});

test("goes on in a new process after a kill, and a keyed service makes no second effect", async () => {
  const { clerk, post } = lettersAgent();
  const run = await runAgent(clerk, { input: INPUT, services: [post], killAt: "after:effect:send#2" });
  expect(run).toMatchObject({ status: "completed", killed: ["after:effect:send#2"] });
  expect(post.requests).toHaveLength(4);
  expectEffectsOnce(run);
});

test("shows the second effect of a service that ignores its keys", async () => {
  const { clerk, post } = lettersAgent({ service: { honoursKeys: false } });
  const run = await runAgent(clerk, { input: INPUT, services: [post], killAt: "after:effect:send" });
  expect(run.status).toBe("completed");
  expect(() => expectEffectsOnce(run)).toThrow(AssertionError);
  expect(() => expectEffectsOnce(run)).toThrow(/^post: \{"number":1\} happened 2 times, by keys \S+, \S+$/);
});

test("dies several times in one run", async () => {
  const { clerk, post } = lettersAgent();
  const killAt = ["before:claim", "after:intent#2", "before:put#3", "after:release#2"] as const;
  const run = await runAgent(clerk, { input: INPUT, services: [post], killAt });
  expect(run.status).toBe("completed");
  expect(run.killed.toSorted()).toEqual(["after:intent#2", "after:release#2", "before:claim#1", "before:put#3"]);
  expectEffectsOnce(run);
});

describe("the operator", () => {
  test("says what the service knows about an unsafe call that a kill left open", async () => {
    const { clerk, post } = lettersAgent({ effect: "unsafe", service: { honoursKeys: false } });
    const [before, after] = await Promise.all(
      (["before:effect:send", "after:effect:send"] as const).map((killAt) =>
        runAgent(clerk, { input: INPUT, killAt, tools: { send: lettersAgent().post } }),
      ),
    );
    expect({ before: before?.decided, after: after?.decided }).toEqual({ before: ["repeated"], after: ["confirmed"] });
    for (const run of [before, after] as AgentRun[]) expectEffectsOnce(run);
    expect(post.requests).toEqual([]);
  });

  test("is missing where no service and no option knows the outcome", async () => {
    const { clerk, post } = lettersAgent({ effect: "unsafe" });
    const options = { input: INPUT, services: [post], killAt: "after:effect:send" } as const;
    const run = runAgent(clerk, { ...options, reconcile: () => null });
    await expect(run).rejects.toThrow(/the outcome of call c1 of send is unknown.+pass the service/);
    for (const wrong of [true, { kind: "yes" }, undefined])
      await expect(runAgent(clerk, { ...options, reconcile: () => wrong as never })).rejects.toThrow(
        /^reconcile returned .+ for a call of send: return \{ kind: "happened", result \}, \{ kind: "absent" \} or null/,
      );
    const said = { kind: "happened", result: "by hand" } as const;
    const told = await runAgent(clerk, { ...options, reconcile: () => said });
    expect(told).toMatchObject({ status: "completed", decided: ["confirmed"] });
  });

  test("approves calls, unless the test denies them", async () => {
    const { clerk, post } = lettersAgent({ approval: "always", letters: 1 });
    const approved = await runAgent(clerk, { input: INPUT, services: [post] });
    expect(approved).toMatchObject({ status: "completed", decided: ["approved"] });
    const denied = await runAgent(clerk, {
      ...{ input: INPUT, services: [post], decide: () => "deny" as const },
      model: scriptedModel({
        name: "once",
        reply: ({ turn }) => (turn === 0 ? { calls: [{ tool: "send", args: { number: 1 } }] } : { text: "Denied." }),
      }),
    });
    expect(denied).toMatchObject({ result: "Denied.", decided: ["denied"], effects: [] });
  });
});

test.each([
  ["true", () => true, /^decide returned true for a call of send: return "approve" or "deny", at once$/],
  ["a promise", async () => "approve", /^decide returned \(an object of Promise\) for a call of send/],
  ["nothing", () => undefined, /^decide returned undefined for a call of send/],
])("a decision that is %s is refused with what to return", async (_, decide, says) => {
  const { clerk, post } = lettersAgent({ approval: "always", letters: 1 });
  const run = runAgent(clerk, { input: INPUT, services: [post], decide: decide as never });
  await expect(run).rejects.toMatchObject({ code: "DecisionInvalid", message: expect.stringMatching(says) });
});

test("retries a call whose answer was lost, and takes a failure as no effect", async () => {
  const { clerk, post } = lettersAgent({
    service: { fault: ({ nth }) => (nth === 1 ? "answerLost" : nth === 3 ? "fails" : "none") },
  });
  const run = await runAgent(clerk, { input: INPUT, services: [post] });
  expect(run.status).toBe("completed");
  expect(run.calls.map(({ status, attempts }) => ({ status, attempts }))).toEqual([
    { status: "succeeded", attempts: 1 },
    { status: "failed", attempts: 1 },
    { status: "succeeded", attempts: 1 },
    { status: "succeeded", attempts: 1 },
  ]);
  expect(post.requests).toHaveLength(5);
  expectEffectsOnce(run);
});

test("replaces what a tool does, and finds a call that succeeded without an effect", async () => {
  const { clerk } = lettersAgent({ letters: 1 });
  const other = fakeService({ name: "other post", reply: () => "sent" });
  const run = await runAgent(clerk, { input: INPUT, tools: { send: other } });
  expect(run.effects).toMatchObject([{ service: "other post", key: run.calls[0]?.key, result: "sent" }]);
  expectEffectsOnce(run);
  expect(() => expectEffectsOnce({ ...run, effects: [] })).toThrow(/call c1 of send succeeded, and other post has no/);
  await expect(runAgent(clerk, { input: INPUT, tools: { mail: other } })).rejects.toThrow(
    /has no tool mail to replace/,
  );
});

test("finds a call of the agent's own tool that succeeded and reached no given service", async () => {
  const { clerk, post } = lettersAgent({ letters: 1 });
  const silent = { ...clerk, tools: { send: { ...clerk.tools["send"], run: () => "sent" } } } as typeof clerk;
  const run = await runAgent(silent, { input: INPUT, services: [post] });
  expect(run.calls).toMatchObject([{ status: "succeeded" }]);
  const [{ key } = { key: null }] = run.calls;
  expect(() => expectEffectsOnce(run)).toThrow(
    `call c1 of send succeeded, and no given service (post) has an effect of its key ${key}: let send call a fake ` +
      "service with the key of its context, or pass tools: { send: fakeService(...) }",
  );
  const other = fakeService({ name: "other", reply: () => "sent" });
  await expect(everyFaultPoint(silent, { input: INPUT, services: [post, other] })).rejects.toThrow(
    /^without a kill: call c1 of send succeeded, and no given service \(post and other\) has an effect/,
  );
  expectEffectsOnce(await runAgent(clerk, { input: INPUT, services: [other, post] }));
});

test("expects no effect of a tool that changes nothing outside, and none in a service if none is given", async () => {
  const reader = lettersAgent({ letters: 1, effect: "none", service: { subject: () => "read" } });
  const other = fakeService({ name: "other", reply: () => "sent" });
  expectEffectsOnce(await runAgent(reader.clerk, { input: INPUT, services: [other] }));
  const { clerk, post } = lettersAgent({ letters: 1 });
  const watched = await runAgent(clerk, { input: INPUT, services: [post] });
  expectEffectsOnce({ ...watched, effects: [], watched: { ...watched.watched, services: [] } });
  const failing = lettersAgent({ letters: 1, service: { fault: ({ nth }) => (nth === 1 ? "fails" : "none") } });
  const run = await runAgent(failing.clerk, { input: INPUT, services: [failing.post] });
  expect(run.calls.map(({ status }) => status)).toEqual(["failed", "succeeded"]);
  expectEffectsOnce(run);
});

test("does not time out a tool that does real work, and lets waits of minutes take no time", async () => {
  const lived: number[] = [];
  const desk = fakeService({ name: "desk", reply: () => "acted" });
  const slow = defineAgent({
    name: "slow",
    version: "1",
    instructions: "",
    task: z.object({}),
    model: scriptedModel({
      name: "slow-model",
      reply: ({ turn }) => (turn === 0 ? { calls: [{ tool: "act", args: {} }] } : { text: "over" }),
    }),
    tools: {
      act: tool({
        input: z.object({}),
        effect: "keyed",
        retry: { attempts: 3, backoffMs: 8_000 },
        run: async (context) => {
          lived.push(Date.now());
          // Many turns of the event loop: a clock that moved meanwhile would fire the timeout of the tool.
          for (let turn = 0; turn < 50; turn += 1) await stat(import.meta.filename);
          if (lived.length < 3) throw new Error("again");
          return desk.call(context);
        },
      }),
    },
  });
  const run = await runAgent(slow, { input: {}, services: [desk] });
  expect(run.calls).toMatchObject([{ status: "succeeded", attempts: 3 }]);
  expect((lived[2] ?? 0) - (lived[0] ?? 0)).toBeLessThan(8_000);
});

test("refuses an invalid input and an unknown kill point", async () => {
  const { clerk, post } = lettersAgent();
  const services = [post];
  await expect(runAgent(clerk, { input: { to: 3 as unknown as string }, services })).rejects.toThrow(
    /agent clerk was not started: /,
  );
  const killAt = "after:lunch" as "after:claim";
  await expect(runAgent(clerk, { input: INPUT, services, killAt })).rejects.toThrow(
    /after:lunch is not a kill point: write/,
  );
});

test("reaches nothing but the service through a replaced tool, also where it is probed or undone", async () => {
  const reached: string[] = [];
  const outside = (what: string) => (): never => {
    reached.push(what);
    throw new Error("outside");
  };
  const booker = defineAgent({
    name: "booker",
    version: "1",
    instructions: "",
    task: z.object({}),
    model: scriptedModel({
      name: "booker-model",
      reply: () => ({ calls: [{ tool: "book", args: {} }] }),
    }),
    tools: {
      book: tool({
        ...{ input: z.object({}), effect: "probed", settleMs: 10 },
        before: outside("before"),
        run: outside("run"),
        probe: outside("probe"),
        undo: { effect: "probed", run: outside("undo"), probe: outside("undo probe") },
      }),
    },
    ...{ budget: { beats: 1 }, saga: { onFailure: "undo" } },
  });
  const desk = fakeService({ name: "desk", reply: () => "booked" });
  const killAt = ["after:effect:book", "after:undo:book"] as const;
  const run = await runAgent(booker, { input: {}, tools: { book: desk }, killAt });
  expect(run.killed).toEqual(["after:effect:book#1", "after:undo:book#1"]);
  expect(run.effects).toMatchObject([{ service: "desk", undone: true }]);
  expect(reached).toEqual([]);
});

test("a fake service refuses a request without a key, which no service could recognise again", async () => {
  const post = fakeService({ name: "post", reply: () => ({ sent: true }) });
  await expect(post.call({ input: {} } as never)).rejects.toThrow("post got no key: call it with { input, key }");
  expect({ requests: post.requests, effects: post.effects }).toEqual({ requests: [], effects: [] });
});
