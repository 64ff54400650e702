/** Starts of model jobs whose answers were lost: when they are looked for, what a refusal means, and what a cancel does. */
import { APICallError } from "@ai-sdk/provider";
import { expect, test } from "vitest";
import { sendRequest } from "../../../src/engine/loop/request.ts";
import { runTask } from "../../../src/maintenance/chain-tasks.ts";
import { timeline } from "../../../src/operations/views.ts";
import type { Agent } from "../../../src/ports/agent.ts";
import type { AsynchronousCalls } from "../../../src/ports/asynchronous-model.ts";
import type { TelemetryRecord } from "../../../src/ports/world.ts";
import { type AsynchronousAgent, asynchronousAgent } from "../../support/agents/asynchronous-agent.ts";
import { assertNoViolations } from "../../support/gate/safety.ts";
import { startKeyedRun } from "../../support/harness/chain-steps.ts";
import { runnerOf } from "../../support/harness/drive.ts";
import { type Harness, createChainHarness, neverSettles, flushPromises, MS } from "../../support/harness/harness.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** How long after the begin of its job a request may arrive. */
const ARRIVES_MS = MS.beat + MS.skew + MS.settle;

const refused = (statusCode: number): Error =>
  new APICallError({ message: `refused: ${statusCode}`, url: "http://provider", requestBodyValues: {}, statusCode });

const withCalls = ({ agent, model }: AsynchronousAgent, calls: Partial<AsynchronousCalls>): Agent => ({
  ...agent,
  model: Object.assign({}, model, { detached: { ...model.detached, ...calls } }),
});

/** The first request arrives, and its answer is lost. The others go as `then` says. */
function losingFirst({ model }: AsynchronousAgent, then: AsynchronousCalls["submit"]): AsynchronousCalls["submit"] {
  let starts = 0;
  return async (...asked) => {
    starts += 1;
    if (starts > 1) return then(...asked);
    await model.detached.submit(...asked);
    throw new Error("the connection broke");
  };
}

/** The first request arrives so long after it was sent. */
const arrivingLate =
  ({ model }: AsynchronousAgent, harness: Harness, afterMs: number): AsynchronousCalls["submit"] =>
  async (...asked) => {
    if (model.started().length > 0) return model.detached.submit(...asked);
    harness.clock.after(afterMs, () => void model.detached.submit(...asked));
    throw new Error("the connection broke");
  };

const endsOf = async ({ world }: Harness, run: string) =>
  ((await timeline(world, { run, after: 0 })) ?? []).filter(({ kind }) => kind === "DetachedCallEnded");

/** Each job that the provider has is in a debit: it was read, or its estimate was debited. */
function assertPaid(harness: Harness, run: string, of: { readonly estimates: number; readonly repliesOut: number }) {
  const { tokensOut } = harness.row(run).spent;
  const due = 500 * of.estimates + of.repliesOut;
  assertNoViolations(tokensOut === due ? [] : [`${tokensOut} output tokens are debited, and ${due} are paid for`]);
}

test("a start whose provider refuses what it contains is repeated for an hour; then its estimate is debited, and the run goes on", async () => {
  const harness = createChainHarness();
  const detached = asynchronousAgent({ lostStart: "key" });
  const { submit } = detached.model.detached;
  const keys = new Set<string>();
  const agent = withCalls(detached, {
    submit: losingFirst(detached, async (...asked) => {
      keys.add(asked[1]);
      // As a provider that accepts one key with one content only, after the agent has changed.
      if (keys.size === 1) throw refused(422);
      return submit(...asked);
    }),
  });
  const { run } = await startKeyedRun(harness.world, { agent, key: "a" });
  await harness.runAttempt(agent);
  const begunAt = harness.clock.now();
  while ((harness.world.chain.next() ?? Infinity) <= begunAt + HOUR) await harness.runAttempt(agent);
  expect(await endsOf(harness, run)).toEqual([]);
  await harness.runUntilIdle(agent);
  expect(harness.row(run).status).toBe("completed");
  expect(harness.clock.now()).toBeLessThan(begunAt + 3 * HOUR);
  expect(await endsOf(harness, run)).toMatchObject([
    { how: "lost", why: expect.stringContaining("refused: 422") as string },
  ]);
  assertPaid(harness, run, { estimates: 1, repliesOut: 10 });
});

test("a start whose provider cannot be asked is repeated for as long as any job is waited for, and an operator is told", async () => {
  for (const hours of [3, Infinity]) {
    const records: TelemetryRecord[] = [];
    const chain = createChainHarness();
    const telemetry = { record: (each: TelemetryRecord) => void records.push(each) };
    const harness = { ...chain, world: { ...chain.world, telemetry } };
    const detached = asynchronousAgent({ lostStart: "key" });
    const { submit } = detached.model.detached;
    const begunAt = harness.clock.now();
    const keys = new Set<string>();
    const agent = withCalls(detached, {
      submit: losingFirst(detached, async (...asked) => {
        keys.add(asked[1]);
        if (keys.size === 1 && harness.clock.now() < begunAt + hours * HOUR) throw refused(401);
        return submit(...asked);
      }),
    });
    const { run } = await startKeyedRun(harness.world, { agent, key: "a" });
    await harness.runUntilIdle(agent, 200);
    expect(harness.row(run).status).toBe("completed");
    const alarm = records.find(({ level, what }) => level === "alarm" && what === "ModelUnavailable");
    expect(alarm?.detail["why"]).toMatch(/^the job that scripted:slow may have was begun .*refused: 401/);
    const isLost = hours === Infinity;
    const ends = await endsOf(harness, run);
    expect(ends).toMatchObject(isLost ? [{ how: "lost" }] : []);
    for (const { at } of ends) expect(at - begunAt).toBeGreaterThan(26 * HOUR);
    assertPaid(harness, run, { estimates: ends.length, repliesOut: 10 });
  }
});

test("a job is looked for only once its request can have arrived, as late as the lease and the settle time of its beat allow", async () => {
  const harness = createChainHarness();
  const detached = asynchronousAgent();
  const agent = withCalls(detached, { submit: arrivingLate(detached, harness, ARRIVES_MS - 1) });
  const { run } = await startKeyedRun(harness.world, { agent, key: "a" });
  const begunAt = harness.clock.now();
  await harness.runAttempt(agent);
  expect(harness.row(run).wakeAt).toBe(begunAt + ARRIVES_MS);
  await harness.runUntilIdle(agent);
  expect(harness.row(run).status).toBe("completed");
  expect(await endsOf(harness, run)).toEqual([]);
  expect(detached.model.started()).toHaveLength(2);
  assertPaid(harness, run, { estimates: 0, repliesOut: 10 });
});

/** The run is in the request that starts its job, and its attempt is lost. The request arrives when `arrive` is called. */
async function lostInStart(harness: Harness) {
  const detached = asynchronousAgent();
  const { run } = await startKeyedRun(harness.world, { agent: detached.agent, key: "a" });
  const asked = Promise.withResolvers<Parameters<AsynchronousCalls["submit"]>>();
  const dying = withCalls(detached, {
    submit: (...given) => {
      asked.resolve(given);
      return neverSettles();
    },
  });
  const out = harness.startAttempt();
  out.perform({ world: harness.world, agent: dying }).catch(() => undefined);
  await flushPromises();
  out.end(null);
  const request = await asked.promise;
  return {
    ...detached,
    run,
    begunAt: harness.clock.now(),
    arrive: () => void detached.model.detached.submit(...request),
  };
}

test("a job is looked for no earlier if its run was released without a record of the start", async () => {
  const harness = createChainHarness();
  const { agent, model, run, begunAt, arrive } = await lostInStart(harness);
  // As a release does that no store lets commit an event.
  harness.world.store.rows.set(run, { ...harness.row(run), owner: null, leaseUntil: null, claims: 0 });
  harness.clock.after(ARRIVES_MS - 1, arrive);
  await harness.runAttempt(agent);
  expect(harness.row(run).wakeAt).toBe(begunAt + ARRIVES_MS);
  await harness.runUntilIdle(agent);
  expect(await endsOf(harness, run)).toEqual([]);
  expect(model.started()).toHaveLength(2);
  assertPaid(harness, run, { estimates: 0, repliesOut: 10 });
});

test("a job is looked for no earlier by a process of a deployment with shorter beats", async () => {
  const harness = createChainHarness();
  const { agent, model, run, begunAt, arrive } = await lostInStart(harness);
  const shorter = { ...harness.world, limits: { ...harness.world.limits, beatMs: MS.beat / 2 } };
  harness.clock.after(ARRIVES_MS - 1, arrive);
  await harness.runAttempt(agent, shorter);
  expect(harness.row(run).wakeAt).toBe(begunAt + ARRIVES_MS);
  await harness.runUntilIdle(agent);
  expect(await endsOf(harness, run)).toEqual([]);
  expect(model.started()).toHaveLength(2);
});

test.each(["find", "key"] as const)(
  "a cancel cancels the job whose start was not answered, with a provider that knows lost starts by %s",
  async (lostStart) => {
    for (const want of ["cancel", "pause"] as const) {
      const harness = createChainHarness();
      const detached = asynchronousAgent({ lostStart });
      const agent = withCalls(detached, { submit: losingFirst(detached, detached.model.detached.submit) });
      const { run } = await startKeyedRun(harness.world, { agent, key: "a" });
      await harness.runAttempt(agent);
      await sendRequest(harness.world, { run, want });
      await harness.runUntilIdle(agent);
      expect(harness.row(run).status).toBe(want === "cancel" ? "cancelled" : "paused");
      expect(detached.model.started()).toMatchObject([{ state: "cancelled" }]);
      assertPaid(harness, run, { estimates: 1, repliesOut: 0 });
    }
  },
);

test("a cancel debits a job once whose provider refuses to repeat the start, and ends", async () => {
  const harness = createChainHarness();
  const detached = asynchronousAgent({ lostStart: "key" });
  const agent = withCalls(detached, { submit: losingFirst(detached, () => Promise.reject(refused(429))) });
  const { run } = await startKeyedRun(harness.world, { agent, key: "a" });
  await harness.runAttempt(agent);
  await sendRequest(harness.world, { run, want: "cancel" });
  await harness.runUntilIdle(agent);
  expect(harness.row(run).status).toBe("cancelled");
  assertPaid(harness, run, { estimates: 1, repliesOut: 0 });
});

test("a cancel waits until the request of a start has arrived, and cancels its job then", async () => {
  for (const isDead of [false, true]) {
    const harness = createChainHarness();
    const lost = isDead ? await lostInStart(harness) : null;
    const detached = lost ?? asynchronousAgent();
    const agent = withCalls(detached, { submit: arrivingLate(detached, harness, ARRIVES_MS - 1) });
    const run = lost?.run ?? (await startKeyedRun(harness.world, { agent, key: "a" })).run;
    if (lost === null) await harness.runAttempt(agent);
    else harness.clock.after(ARRIVES_MS - 1, lost.arrive);
    await sendRequest(harness.world, { run, want: "cancel" });
    await harness.runUntilIdle(agent);
    expect(harness.row(run).status).toBe("cancelled");
    expect(detached.model.started()).toMatchObject([{ state: "cancelled" }]);
    assertPaid(harness, run, { estimates: 1, repliesOut: 0 });
  }
});

test.each(["find", "cancel"] as const)(
  "a process that has to end while it asks for a job (%s) leaves its cancel to the next one",
  async (method) => {
    const harness = createChainHarness();
    const detached = asynchronousAgent();
    const { find, cancel } = detached.model.detached;
    const drain = new AbortController();
    let asks = 0;
    const broken =
      <A extends readonly unknown[], R>(ask: ((...asked: A) => Promise<R>) | undefined, name: string) =>
      async (...asked: A): Promise<R> => {
        if (name === method) asks += 1;
        if (name !== method || asks > 1) return ask?.(...asked) as Promise<R>;
        drain.abort();
        throw new DOMException("the process ends", "AbortError");
      };
    const agent = withCalls(detached, {
      submit: losingFirst(detached, detached.model.detached.submit),
      find: broken(find, "find"),
      cancel: broken(cancel, "cancel"),
    });
    const { run } = await startKeyedRun(harness.world, { agent, key: "a" });
    await harness.runAttempt(agent);
    await sendRequest(harness.world, { run, want: "cancel" });
    // After the time until which the request may arrive, only the drain keeps the job.
    harness.clock.moveTo(harness.clock.now() + ARRIVES_MS);
    const out = harness.startAttempt();
    const invocation = { deadline: harness.clock.now() + MS.beat, drain: drain.signal };
    const result = await harness.advanceUntilSettled(runTask(runnerOf(harness.world, agent))(out.task, invocation));
    out.end(result);
    expect(await endsOf(harness, run)).toEqual([]);
    await harness.runUntilIdle(agent);
    expect(asks).toBe(2);
    expect(harness.row(run).status).toBe("cancelled");
    expect(detached.model.started()).toMatchObject([{ state: "cancelled" }]);
    assertPaid(harness, run, { estimates: 1, repliesOut: 0 });
  },
);
