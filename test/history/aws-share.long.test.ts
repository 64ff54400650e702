/** What a run took of AWS, derived from its log, beside the requests of the very run that were counted. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { travel } from "../../agents/travel/agent.ts";
import { newRunner, performBeats } from "../../bench/perform-beats.ts";
import { workload } from "../../bench/workload.ts";
import { nothing, priced } from "../../scripts/cost-counts.ts";
import { transitionsOf } from "../../scripts/cost-run.ts";
import { inMemory } from "../../scripts/cost-worlds.ts";
import type { CommitRecord, Event } from "../../src/core/event.ts";
import type { Json } from "../../src/core/json.ts";
import { awsCounts, awsShareOf } from "../../src/history/aws-share.ts";
import { commitsAfter } from "../../src/history/reader.ts";
import { startRun } from "../../src/operations/start.ts";
import type { Agent } from "../../src/ports/agent.ts";

const services = mkdtempSync(join(tmpdir(), "cairn-aws-share-"));
beforeAll(() => {
  vi.stubEnv("TRAVEL_SERVICES", services);
  vi.stubEnv("TRAVEL_PACE", "0");
});
afterAll(() => {
  vi.unstubAllEnvs();
  rmSync(services, { recursive: true });
});

/** The counted requests of a run, and its log. */
async function counted(agent: Agent, input: Json, beatsPerInvocation: number) {
  const counts = nothing();
  const world = inMemory()({ beatsPerInvocation, counts });
  const runner = newRunner(world, agent);
  const started = await startRun(world, { agent, input, tenant: "cost", idempotencyKey: null });
  if (started.kind !== "started") throw new Error(started.kind);
  for await (const route of performBeats(started.row, () => runner)) {
    counts.invocations += 1;
    counts.transitions += transitionsOf(route);
  }
  const taken = { ...counts };
  const row = await world.table.read(started.row.run, Date.now());
  if (row === null) throw new Error("the run is gone");
  return { counts: taken, commits: await commitsAfter({ objects: world.objects, row }, 0) };
}

const long = (beats: number): [Agent, Json] => [workload(beats - 1).agent as Agent, { beats }];
const trip: [Agent, Json] = [travel as Agent, { from: "Berlin", to: "Lisbon", trip: "42" }];

for (const [name, [agent, input], beatsPerInvocation] of [
  ["a short run", long(10), 1],
  ["a longer run", long(60), 1],
  ["a longer run of few invocations", long(60), 10],
  ["a long run of few invocations", long(150), 50],
  ["the travel example", trip, 1],
  ["the travel example in one invocation", trip, 10],
] as const)
  test(`${name} costs what its log implies, within 10 %`, async () => {
    const { counts, commits } = await counted(agent, input, beatsPerInvocation);
    const derived = awsCounts(commits);
    expect(derived.invocations).toBe(counts.invocations);
    expect(derived.transitions).toBe(counts.transitions);
    const within = (one: number, other: number, share: number): void =>
      expect(Math.abs(one - other), `${one} beside ${other}`).toBeLessThanOrEqual(Math.max(1, other * share));
    within(derived.writes, counts.writes, 0.05);
    within(derived.writeUnits, counts.writeUnits, 0.1);
    within(derived.puts, counts.puts, 0.25);
    const withoutModel = commits.map((commit) => ({ ...commit, events: commit.events.map(atOnce) }));
    const usd = Number(priced(counts, 1 / 1e6)["sum $"]) / 1e6;
    expect(Math.abs(awsShareOf(withoutModel).usd - usd) / usd).toBeLessThan(0.1);
  });

/** The figures beside which this is compared leave out the time of the model. */
const atOnce = (event: Event): Event => (event.kind === "ModelCallCompleted" ? { ...event, tookMs: 0 } : event);

const commit = (version: number, epoch: number, ...events: readonly Event[]): CommitRecord => ({
  version,
  epoch,
  events,
});
const asks: Event = {
  kind: "WaitBegun",
  at: 1,
  call: "c1",
  epoch: 1,
  wait: { for: "answer", until: null, atLimit: { kind: "tell" } },
};

test("a wait ends an execution and hands the run over to the next one", () => {
  const without = awsCounts([commit(1, 1), commit(2, 3)]);
  const waits = awsCounts([commit(1, 1, asks), commit(2, 3)]);
  expect(waits.transitions - without.transitions).toBe(1);
  expect(waits.writes - without.writes).toBe(2);
  // The same question in the middle of an invocation is no wait of its own.
  expect(awsCounts([commit(1, 1, asks), commit(2, 1)]).transitions).toBe(1);
});

test("the time that a function waits for its model is paid by its memory", () => {
  const reply: Event = {
    kind: "ModelCallCompleted",
    at: 1,
    model: "m",
    parts: [],
    finish: "stop",
    tokensIn: 1,
    tokensOut: 1,
    tookMs: 60_000,
  };
  const seconds = (events: readonly Event[]) =>
    awsShareOf([commit(1, 1, ...events)]).lines.find(({ item }) => item === "Lambda: GB-seconds")?.count ?? 0;
  expect(seconds([reply]) - seconds([])).toBeCloseTo(30);
});

test("a run that has not begun has its start only", () => {
  expect(awsCounts([])).toMatchObject({ invocations: 0, transitions: 0, writes: 1 });
});
