/** Jobs whose provider cannot be asked: what an operator is told, and what is known when such a job is given up. */
import { APICallError } from "@ai-sdk/provider";
import { expect, test } from "vitest";
import { timeline } from "../../../src/operations/views.ts";
import type { AsynchronousCalls } from "../../../src/ports/asynchronous-model.ts";
import type { TelemetryRecord } from "../../../src/ports/world.ts";
import { asynchronousAgent } from "../../support/agents/asynchronous-agent.ts";
import { createChainHarness } from "../../support/harness/harness.ts";
import { startKeyedRun } from "../../support/harness/chain-steps.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const REVOKED = "HTTP 401: the key was revoked";

const revoked = (): Promise<never> =>
  Promise.reject(
    new APICallError({
      ...{ message: "the key was revoked", url: "http://model.test", requestBodyValues: {} },
      ...{ statusCode: 401, isRetryable: false },
    }),
  );

/** A run with a job, whose provider takes these requests from then on. `look` looks at the job so long after its start. */
async function waitingRun(change: Partial<AsynchronousCalls>, start: Partial<AsynchronousCalls> = {}) {
  const records: TelemetryRecord[] = [];
  const harness = createChainHarness();
  const telemetry = { record: (each: TelemetryRecord) => void records.push(each) };
  const watched = { ...harness, world: { ...harness.world, telemetry } };
  const { agent, model } = asynchronousAgent({ pending: 1_000 });
  const withCalls = (calls: Partial<AsynchronousCalls>) => ({
    ...agent,
    model: Object.assign({}, model, { detached: { ...model.detached, ...calls } }),
  });
  const { run } = await startKeyedRun(watched.world, { agent, key: "a" });
  await watched.runAttempt(withCalls(start));
  const begunAt = harness.clock.now();
  const look = async (afterMs: number): Promise<void> => {
    harness.clock.moveTo(begunAt + afterMs);
    const isDue = () => (harness.world.chain.next() ?? Infinity) <= harness.clock.now();
    while (isDue()) await watched.runAttempt(withCalls(change));
  };
  const alarms = () => records.filter(({ level }) => level === "alarm");
  const unasked = () => records.filter(({ what }) => what === "DetachedCallUnasked");
  const events = async () => (await timeline(watched.world, { run, after: 0 })) ?? [];
  return { harness, run, look, alarms, unasked, events };
}

test("a job that cannot be asked for raises the alarm of an outage once it is as old as one, and each look is traced", async () => {
  const { look, alarms, unasked, run, harness } = await waitingRun({ poll: revoked });
  await look(MINUTE);
  expect({ unasked: unasked().length, alarms: alarms().length }).toEqual({ unasked: 1, alarms: 0 });
  expect(unasked()[0]).toMatchObject({
    ...{ run, level: "trace", detail: { model: "scripted:slow", reference: "job-1", why: REVOKED } },
  });
  await look(4 * MINUTE);
  expect({ unasked: unasked().length, alarms: alarms().length }).toEqual({ unasked: 2, alarms: 1 });
  expect(alarms()[0]).toMatchObject({
    what: "ModelUnavailable",
    detail: {
      why: expect.stringMatching(`^job job-1 of scripted:slow was begun 4 minutes ago.*${REVOKED}$`) as string,
    },
  });
  expect(harness.row(run)).toMatchObject({ status: "running", phase: "AwaitingLLM" });
});

test("a job that its provider works on raises no alarm, however old it is", async () => {
  const { look, alarms, unasked } = await waitingRun({});
  for (const hours of [1, 2, 5]) await look(hours * HOUR);
  expect({ unasked: unasked(), alarms: alarms() }).toEqual({ unasked: [], alarms: [] });
});

test("a job that is given up says what the last look at it said", async () => {
  const { look, events } = await waitingRun({ poll: revoked });
  await look(27 * HOUR);
  const last = await events();
  const end = last.find(({ kind }) => kind === "DetachedCallEnded");
  expect(end).toMatchObject({ how: "lost", why: expect.stringContaining(REVOKED) as string });
  const decided = last.find((event) => event.kind === "RecoveryDecided" && event.action.kind === "retry");
  expect(decided).toMatchObject({ why: expect.stringContaining(REVOKED) as string });
});

test("a job whose start was lost and that cannot be looked for raises the alarm too, and says why it is given up", async () => {
  const submit = (): Promise<never> => Promise.reject(new Error("the connection broke"));
  const { look, alarms, unasked, events } = await waitingRun({ find: revoked }, { submit });
  await look(10 * MINUTE);
  expect({ unasked: unasked().length, alarms: alarms().length }).toEqual({ unasked: 1, alarms: 1 });
  expect(alarms()[0]?.detail["why"]).toMatch(/^the job that scripted:slow may have was begun 10 minutes ago/);
  await look(27 * HOUR);
  expect((await events()).find(({ kind }) => kind === "DetachedCallEnded")).toMatchObject({
    ...{ how: "lost", why: expect.stringContaining(REVOKED) as string },
  });
});
