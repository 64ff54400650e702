import { describe, expect, test } from "vitest";
import { z } from "zod";
import { type SqsSendOptions, sqsSend } from "../../src/effects/index.ts";
import { tool } from "../../src/index.ts";
import { everyFaultPoint, expectEffectsOnce, killAt, runAgent } from "../../src/testing/kit/index.ts";
import { type Queue, startQueue } from "../support/services/queue.ts";
import { duplicatesIn } from "../support/services/service-view.ts";
import { callContext } from "../support/agents/call-context.ts";
import { callingAgent } from "./calling-agent.ts";

const input = z.object({ order: z.string() });
const TWO = [{ order: "a" }, { order: "b" }];
const one = { input: { order: "a" } };

const sendTo = ({ client, url: queueUrl }: Queue, options: Partial<SqsSendOptions<typeof input>> = {}) =>
  sqsSend({ input, client, queueUrl, message: ({ input }) => ({ body: input, group: input.order }), ...options });

const optionsFor = ({ service }: Queue) => ({ input: {}, services: [service] });

/** A clock that jumps by that many minutes as soon as the queue has its first message. */
function jumping(minutes: number) {
  let passed = 0;
  return { now: () => passed * 60_000, onAccepted: () => (passed = minutes) };
}

describe("a message to a FIFO queue", () => {
  test("is queued once, with a kill at each fault point", async () => {
    const queue = await startQueue({});
    const agent = callingAgent({ act: sendTo(queue), args: TWO });
    const { points, uninterrupted } = await everyFaultPoint(agent, optionsFor(queue));
    expect(points).toContain("after:effect:act#2");
    expect(uninterrupted.effects).toHaveLength(2);
    expect(uninterrupted.calls.map(({ effect }) => effect)).toEqual(["probed", "probed"]);
  });

  test("is sent again after a kill, and 0 messages are duplicates", async () => {
    const queue = await startQueue({});
    const run = await killAt(callingAgent({ act: sendTo(queue), args: TWO }), "after:effect:act", optionsFor(queue));
    const ids = queue.requests.map(({ MessageDeduplicationId }) => MessageDeduplicationId);
    expect(ids).toEqual([run.calls[0]?.key, run.calls[0]?.key, run.calls[1]?.key]);
    expectEffectsOnce(run);
    expect(duplicatesIn(run.effects)).toBe(0);
  });

  test.each([1, 3])("whose answer is lost is queued once by a client with %i attempts", async (maxAttempts) => {
    const queue = await startQueue({ fault: ({ nth }) => (nth === 1 ? "answerLost" : "none"), maxAttempts });
    const run = await runAgent(callingAgent({ act: sendTo(queue), args: TWO }), optionsFor(queue));
    expect(run.status).toBe("completed");
    expect(queue.requests).toHaveLength(3);
    expectEffectsOnce(run);
  });

  test("is not sent again when the queue may have forgotten it: an operator is asked", async () => {
    const clock = jumping(3);
    const queue = await startQueue(clock);
    const act = sendTo(queue, { now: clock.now });
    const run = await killAt(callingAgent({ act, args: TWO }), "after:effect:act", optionsFor(queue));
    expect(run.decided).toEqual(["confirmed"]);
    expect(queue.requests).toHaveLength(2);
    expect(duplicatesIn(run.effects)).toBe(0);
  });

  test("would be doubled by a tool that trusts the key for longer than the queue remembers it", async () => {
    const clock = jumping(6);
    const queue = await startQueue(clock);
    const { run: send } = sendTo(queue, { now: clock.now });
    const trusting = tool({ input, effect: "keyed", run: send });
    const run = await killAt(callingAgent({ act: trusting, args: TWO }), "after:effect:act", optionsFor(queue));
    expect(duplicatesIn(run.effects)).toBe(1);
  });

  test("that is refused has failed at first, and is an unknown outcome after an earlier attempt", async () => {
    const act = sendTo(await startQueue({ fault: () => "denied" }));
    await expect(act.run(callContext(one))).rejects.toMatchObject({ name: "AccessDeniedException" });
    await expect(act.run(callContext({ ...one, attempt: 2 }))).rejects.toMatchObject({ name: "OutcomeUnknown" });
    const mute = sendTo(await startQueue({}), { message: () => Promise.reject(new Error("no text")) });
    await expect(mute.run(callContext({ ...one, attempt: 2 }))).rejects.toMatchObject({ name: "OutcomeUnknown" });
  });

  test("that is refused when the client repeats it by itself is an unknown outcome", async () => {
    const queue = await startQueue({ fault: ({ nth }) => (nth === 1 ? "answerLost" : "denied"), maxAttempts: 2 });
    await expect(sendTo(queue).run(callContext(one))).rejects.toMatchObject({ name: "OutcomeUnknown" });
    expect(queue.service.effects).toHaveLength(1);
  });

  test("names its call, its run and its epoch, by which a consumer drops stale senders", async () => {
    const queue = await startQueue({});
    await sendTo(queue, { message: () => ({ body: "text", group: "g", attributes: { kind: "order" } }) }).run(
      callContext({ ...one, epoch: 3 }),
    );
    const [sent] = queue.requests;
    expect(sent?.MessageBody).toBe("text");
    expect(
      Object.fromEntries(Object.entries(sent?.MessageAttributes ?? {}).map(([name, of]) => [name, of.StringValue])),
    ).toEqual({
      ...{ kind: "order", cairnKey: "act-c1-key", cairnRun: "local-a", cairnEpoch: "3" },
    });
  });

  test("needs a group", async () => {
    const act = sendTo(await startQueue({}), { message: () => ({ body: "text" }) });
    await expect(act.run(callContext(one))).rejects.toThrow("message must return a group");
  });
});

describe("a message to a standard queue", () => {
  const plain = { message: () => ({ body: "text" }) };

  test("is unsafe: an operator says what a kill left open, and 0 messages are duplicates", async () => {
    const queue = await startQueue({ name: "orders" });
    const agent = callingAgent({ act: sendTo(queue), args: TWO });
    await everyFaultPoint(agent, optionsFor(queue));
    const run = await killAt(agent, "after:effect:act", optionsFor(queue));
    expect(run.decided).toEqual(["confirmed"]);
    expect(run.calls.map(({ effect }) => effect)).toEqual(["unsafe", "unsafe"]);
    expect(duplicatesIn(run.effects)).toBe(0);
  });

  test("is probed where its user can ask the consumer", async () => {
    const queue = await startQueue({ name: "orders" });
    const agent = callingAgent({ act: sendTo(queue, { probe: queue.service.probe }), args: TWO });
    const { points } = await everyFaultPoint(agent, optionsFor(queue));
    expect(points).toContain("after:effect:act#2");
    const run = await killAt(agent, "after:effect:act", optionsFor(queue));
    expect(run.decided).toEqual([]);
    expect(duplicatesIn(run.effects)).toBe(0);
  });

  test("is refused before it leaves when the client would send it again by itself", async () => {
    const queue = await startQueue({ name: "orders", maxAttempts: 3 });
    await expect(sendTo(queue, plain).run(callContext(one))).rejects.toThrow(
      "the client of a standard queue repeats a lost request up to 3 times, and each of them may act: " +
        "create it with maxAttempts: 1",
    );
    expect(queue.requests).toEqual([]);
  });
});
