/** Jobs of asynchronous models: processes that die or freeze around the start, and news that comes while a job is out. */
import { APICallError } from "@ai-sdk/provider";
import { expect, test } from "vitest";
import { sendRequest } from "../../src/engine/loop/request.ts";
import { send } from "../../src/operations/steer.ts";
import { timeline, transcript } from "../../src/operations/views.ts";
import type { AsynchronousCalls } from "../../src/ports/asynchronous-model.ts";
import type { Agent } from "../../src/ports/agent.ts";
import type { Json } from "../../src/core/json.ts";
import { StoreUnreachable, type World } from "../../src/ports/world.ts";
import { type AsynchronousAgent, asynchronousAgent } from "../support/agents/asynchronous-agent.ts";
import { startKeyedRun } from "../support/harness/chain-steps.ts";
import {
  createChainHarness,
  neverSettles,
  flushPromises,
  beatReply,
  scriptedAgent,
  MS,
} from "../support/harness/harness.ts";
import { attemptDuringOutage } from "../support/faults/store-outages.ts";

/** The agent in a process whose request to start a job goes through `submit`. */
function withSubmit(
  { agent, model }: AsynchronousAgent,
  submit: (send: AsynchronousCalls["submit"]) => AsynchronousCalls["submit"],
): Agent {
  return {
    ...agent,
    model: Object.assign({}, model, { detached: { ...model.detached, submit: submit(model.detached.submit) } }),
  };
}

const endsIn = async (world: Parameters<typeof timeline>[0], run: string): Promise<readonly Json[]> =>
  ((await timeline(world, { run, after: 0 })) ?? []).flatMap((entry) =>
    entry.kind === "DetachedCallSubmitted" ? [`${entry.reference}${entry.adopted === true ? " adopted" : ""}`] : [],
  );

test("schedule 194: a process dies after its provider has accepted a job and before its reference is committed", async () => {
  for (const beatsPerInvocation of [1, 4]) {
    const harness = createChainHarness({ beatsPerInvocation });
    const detached = asynchronousAgent();
    const { run } = await startKeyedRun(harness.world, { agent: detached.agent, key: "a" });
    const dying = withSubmit(detached, (submit) => async (...asked) => {
      await submit(...asked);
      return neverSettles();
    });
    const out = harness.startAttempt();
    out.perform({ world: harness.world, agent: dying }).catch(() => undefined);
    await flushPromises();
    expect(detached.model.started()).toHaveLength(1);
    out.end(null);
    await harness.runUntilIdle(detached.agent);
    expect(harness.row(run)).toMatchObject({ status: "completed", takeovers: 1 });
    expect(await endsIn(harness.world, run)).toEqual(["job-1 adopted", "job-2"]);
    // The reply of the first job was read, and nothing was paid twice.
    expect(harness.row(run).spent).toMatchObject({ tokensIn: 100, tokensOut: 10 });
  }
});

test("schedule 195: a process freezes before its request leaves, another one looks for the job, and the request arrives then", async () => {
  const harness = createChainHarness();
  const detached = asynchronousAgent();
  const { run } = await startKeyedRun(harness.world, { agent: detached.agent, key: "a" });
  const frozen = Promise.withResolvers<void>();
  const late = withSubmit(detached, (submit) => async (...asked) => {
    await frozen.promise;
    return submit(...asked);
  });
  const out = harness.startAttempt();
  out.perform({ world: harness.world, agent: late }).catch(() => undefined);
  await flushPromises();
  const leaseUntil = harness.row(run).leaseUntil ?? 0;
  out.end(null);
  // The provider has no job under the key yet, and the other process may not conclude that it never will.
  await beatReply(harness.runAttempt(detached.agent));
  expect(harness.row(run).wakeAt).toBe(leaseUntil + MS.settle);
  frozen.resolve();
  await flushPromises();
  await harness.runUntilIdle(detached.agent);
  expect(harness.row(run).status).toBe("completed");
  expect(await endsIn(harness.world, run)).toEqual(["job-1 adopted", "job-2"]);
  expect(detached.model.started()).toHaveLength(2);
});

test("schedule 196: a user writes while a job is out that knows nothing of it, and the job says that all is done", async () => {
  const harness = createChainHarness();
  const { agent } = asynchronousAgent({ reply: ({ messages }) => ({ text: `I read ${messages.length}.` }) });
  const { run } = await startKeyedRun(harness.world, { agent, key: "a" });
  await harness.runAttempt(agent);
  await send(harness.world, { run, text: "And the rest?", by: "ada", id: "u1" });
  await harness.runUntilIdle(agent);
  expect(harness.row(run).status).toBe("completed");
  const said = (await transcript(harness.world, run))?.map(({ source, parts }) => [source, parts]);
  expect(said?.slice(1)).toMatchObject([
    ["model:scripted:slow", [{ text: "I read 1." }]],
    ["user:ada", [{ text: "And the rest?" }]],
    ["model:scripted:slow", [{ text: "I read 3." }]],
  ]);
});

test("schedule 197: an operator cancels a run whose job is out, and its provider would work on it for a day", async () => {
  const harness = createChainHarness();
  const { agent, model } = asynchronousAgent({ pending: 1_000 });
  const { run } = await startKeyedRun(harness.world, { agent, key: "a" });
  await harness.runAttempt(agent);
  await sendRequest(harness.world, { run, want: "cancel" });
  await harness.runUntilIdle(agent);
  expect(harness.row(run)).toMatchObject({ status: "cancelled", spent: { tokensOut: 500, beats: 0 } });
  expect(model.started()).toMatchObject([{ state: "cancelled" }]);
});

test("schedule 198: quick retries are used up, the answer to a job's start is lost, and its request arrives later", async () => {
  for (const arrives of [true, false]) {
    const harness = createChainHarness();
    const detached = asynchronousAgent();
    let starts = 0;
    const broken = withSubmit(detached, (submit) => async (...asked) => {
      starts += 1;
      if (starts === 1) throw Object.assign(new Error("no connection"), { code: "ECONNREFUSED" });
      if (starts > 3) return submit(...asked);
      if (starts === 3 && arrives) harness.clock.after(MS.settle - 1, () => void submit(...asked));
      throw new Error("the connection broke");
    });
    let asks = 0;
    const { model } = scriptedAgent({
      reply: () => {
        asks += 1;
        return { text: "over" };
      },
    });
    const fallback = { model, price: { inUsd: 1, outUsd: 10 }, priceFrom: { kind: "none" } } as const;
    const agent = { ...broken, fallbacks: [fallback] };
    const { run } = await startKeyedRun(harness.world, { agent, key: "a" });
    await harness.runUntilIdle(agent);
    expect(harness.row(run).status).toBe("completed");
    // The job is looked for once it can be there. Only if it is not, the next model is asked, and that at once.
    expect(await endsIn(harness.world, run)).toEqual(arrives ? ["job-1 adopted", "job-2"] : []);
    expect({ started: detached.model.started().length, asks }).toEqual(
      arrives ? { started: 2, asks: 0 } : { started: 0, asks: 1 },
    );
  }
});

/** Its objects can be read, and none can be written. */
const withoutPuts = ({ objects, ...world }: World): World => {
  const put = (): Promise<never> =>
    Promise.reject(new StoreUnreachable("no object can be put", { store: "the objects" }));
  return { ...world, objects: { ...objects, put } };
};

test("schedule 199: no store accepts what a job's reply or its end decides, attempt after attempt", async () => {
  const large = { look: "x".repeat(20_000) };
  const cases = [
    { reply: { text: "over" }, cancels: false, tokensOut: 6 },
    { reply: { calls: [{ tool: "look", args: large }] }, cancels: false, tokensOut: 12 },
    { reply: { text: "over" }, cancels: true, tokensOut: 500 },
  ];
  for (const { reply, cancels, tokensOut } of cases) {
    const harness = createChainHarness();
    const { agent, model } = asynchronousAgent({
      pending: 0,
      reply: ({ calls }) => ({ ...(calls.length === 0 ? reply : { text: "over" }), tokensIn: 60, tokensOut: 6 }),
    });
    const { run } = await startKeyedRun(harness.world, { agent, key: "a" });
    await harness.runAttempt(agent);
    if (cancels) await sendRequest(harness.world, { run, want: "cancel" });
    const away = withoutPuts(harness.world);
    for (let attempts = 0; attempts < 3; attempts += 1) await attemptDuringOutage(harness, agent, away);
    expect(harness.row(run)).toMatchObject({ status: "running", owner: null, spent: { tokensOut: 0 } });
    await harness.runUntilIdle(agent);
    expect(harness.row(run)).toMatchObject({ status: cancels ? "cancelled" : "completed", spent: { tokensOut } });
    expect(model.started()).toHaveLength(tokensOut === 12 ? 2 : 1);
  }
});

const refused = (statusCode: number): Error =>
  new APICallError({ message: `refused: ${statusCode}`, url: "http://provider", requestBodyValues: {}, statusCode });

test("schedule 226: the answer to a start is lost, the start is refused when it is repeated, and the first one made a job", async () => {
  const unconnected = Object.assign(new Error("no connection"), { code: "ECONNREFUSED" });
  for (const refusal of [refused(400), refused(401), refused(409), refused(422), refused(429), unconnected]) {
    for (const dies of [false, true]) {
      const harness = createChainHarness();
      const detached = asynchronousAgent({ lostStart: "key" });
      const starts: string[] = [];
      const agent = withSubmit(detached, (submit) => async (...asked) => {
        starts.push(asked[1]);
        if (starts.length === 1) {
          await submit(...asked);
          throw new Error("the connection broke");
        }
        if (starts.length === 2 && dies) return neverSettles();
        if (starts.length < 5) throw refusal;
        return submit(...asked);
      });
      const { run } = await startKeyedRun(harness.world, { agent, key: "a" });
      if (dies) {
        await harness.runAttempt(agent);
        const out = harness.startAttempt();
        out.perform({ world: harness.world, agent }).catch(() => undefined);
        await flushPromises();
        expect(starts).toHaveLength(2);
        out.end(null);
      }
      await harness.runUntilIdle(agent);
      // The first job was found, its reply was read, and nothing was paid twice or not at all.
      expect(detached.model.started()).toMatchObject([{ state: "done" }, { state: "done" }]);
      expect(await endsIn(harness.world, run)).toEqual(["job-1", "job-2"]);
      expect(harness.row(run)).toMatchObject({
        status: "completed",
        takeovers: dies ? 1 : 0,
        spent: { tokensIn: 100, tokensOut: 10 },
      });
    }
  }
});
