/**
 * Processes of a supervisor are stopped (SIGSTOP) for longer than a beat, or than a tool may take, and go on: schedules 230
 * and 231 with real processes. Nobody who has answered is judged as silent.
 */
import { REPLACED } from "../../src/workers/worker-process.ts";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { type Server, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { rememberAgentFile } from "../../src/adapters/local/store/agent-files.ts";
import { isAlive, identityOf } from "../../src/adapters/local/process-identity.ts";
import { ledger } from "../../src/operations/views.ts";
import { startRun } from "../../src/operations/start.ts";
import type { Agent } from "../../src/ports/agent.ts";
import { LIMITS } from "../support/gate/limits.ts";
import { assertSafety, waitUntil } from "../support/gate/safety.ts";
import { externalServiceOf, startEffectsRun } from "../support/processes/effects-runs.ts";
import {
  type ProcessHarness,
  type SupervisorProcess,
  createProcessHarness,
  startSupervisorProcess,
  waitForStatus,
} from "../support/processes/supervisor-process.ts";
import { LETTER_TIMEOUT_MS, letterAgent } from "./fixtures/letter-agent.ts";

const BEAT_MS = LIMITS.shortBeatMs;

/** A step takes three times as long. Long beats have slower steps, so that a run has no more than its agent may take. */
const PACE_MS = Math.round(Math.min(600, Math.max(150, BEAT_MS / 60)));
/** They take longer than a beat. */
const STEPS = Math.min(40, Math.ceil(BEAT_MS / (3 * PACE_MS)) + 8);

const rowOf = ({ world }: ProcessHarness, run: string) => world.table.read(run, Date.now());

/** Why attempts failed and workers ended, besides an idle one that made room, such as that of a sweep. */
const endsOf = ({ events }: SupervisorProcess): readonly string[] =>
  events
    .filter(({ kind, how }) => kind === "attemptFailed" || (kind === "workerGone" && how !== REPLACED.how))
    .map(({ kind, how }) => `${kind}: ${how}`);

/** The process that has begun an attempt last. Its supervisor's line may come after what the process did. */
const workerOf = ({ events }: SupervisorProcess): Promise<number> =>
  waitUntil(() => {
    const pid = events.findLast(({ kind }) => kind === "attemptStarted")?.pid;
    if (pid === undefined) throw new Error("no attempt has begun");
    return pid;
  });

/** Waits until so much time has passed, by the clock that every process has. */
async function untilPassed(ms: number): Promise<void> {
  const until = performance.now() + ms;
  await waitUntil(() => expect(performance.now()).toBeGreaterThan(until));
}

/** A client that is stopped while it holds the write lock of the store; the returned function lets it go on and end. */
async function stoppedClient({
  dir,
  atEnd,
}: ProcessHarness): Promise<{ readonly pid: number; readonly goOn: () => void }> {
  const file = join(import.meta.dirname, "fixtures", "holding-client.ts");
  const child: ChildProcess = spawn(process.execPath, [file, dir], { stdio: ["pipe", "pipe", "inherit"] });
  atEnd(() => void child.kill("SIGKILL"));
  await once(child.stdout ?? child, "data");
  child.kill("SIGSTOP");
  const goOn = (): void => {
    child.kill("SIGCONT");
    child.stdin?.end();
  };
  return { pid: child.pid ?? 0, goOn };
}

/** Stops these processes for so long, whatever happens. */
async function stopped(pids: readonly number[], ms: number): Promise<void> {
  for (const pid of pids) process.kill(pid, "SIGSTOP");
  try {
    await untilPassed(ms);
  } finally {
    for (const pid of pids) process.kill(pid, "SIGCONT");
  }
}

test("a supervisor that was stopped for two beats ends none of its workers, which go on meanwhile", async () => {
  const harness = createProcessHarness({ CAIRN_BEAT_SECONDS: String(BEAT_MS / 1_000) });
  const side = externalServiceOf(harness);
  const steps = Array.from({ length: STEPS }, () => "mail" as const);
  const runs = ["a", "b", "c"].map((of) => startEffectsRun(harness, { of, steps, paceMs: PACE_MS }));
  const started = await Promise.all(runs);
  const supervisor = startSupervisorProcess(harness, { workers: 2 });
  await waitUntil(() => expect(side.effects().length).toBeGreaterThanOrEqual(started.length));
  const before = side.effects().length;
  await stopped([supervisor.child.pid ?? 0], 2 * BEAT_MS);
  // The workers did not stop with it.
  expect(side.effects().length).toBeGreaterThan(before);
  for (const { run } of started) await waitForStatus(harness, run, "completed");
  assertSafety("no healthy worker was ended, and no run was taken over", () => {
    expect(endsOf(supervisor)).toEqual([]);
    expect(side.effects()).toHaveLength(started.length * STEPS);
  });
  for (const { run } of started) {
    const row = await rowOf(harness, run);
    assertSafety("nobody took the run over", () => expect(row).toMatchObject({ takeovers: 0 }));
  }
});

test("a supervisor and its worker that were stopped for two beats go on with the run, and no effect happens twice", async () => {
  const harness = createProcessHarness({ CAIRN_BEAT_SECONDS: String(BEAT_MS / 1_000) });
  const side = externalServiceOf(harness);
  const steps = Array.from({ length: 6 }, () => "book" as const);
  const { run } = await startEffectsRun(harness, { of: "a", steps, paceMs: PACE_MS });
  const supervisor = startSupervisorProcess(harness, { workers: 1 });
  await waitUntil(() => expect(side.requests().length).toBeGreaterThan(0));
  const worker = identityOf(await workerOf(supervisor));
  if (worker === null) throw new Error("no worker is at work");
  await stopped([supervisor.child.pid ?? 0, worker.pid], 2 * BEAT_MS);
  await waitUntil(() => expect(isAlive(worker)).toBe(false));
  await waitForStatus(harness, run, "completed");
  const keys = side.effects().map(({ key }) => key);
  assertSafety("each step has one effect", () =>
    expect({ keys: keys.length, differentKeys: new Set(keys).size }).toEqual({ keys: 6, differentKeys: 6 }),
  );
});

/** A server that answers a letter when the test says so, and knows which letters came. */
async function postOffice() {
  const letters: string[] = [];
  const waiting: (() => void)[] = [];
  const server: Server = createServer((request, response) => {
    letters.push(request.url ?? "");
    waiting.push(() => void response.end("delivered"));
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const answer = (): void => waiting.splice(0).forEach((each) => each());
  return { url: `http://127.0.0.1:${port}`, letters, answer };
}

test("a worker that was stopped finds the answer to its unsafe call, whose time is over, in its socket", async () => {
  const harness = createProcessHarness({ CAIRN_BEAT_SECONDS: String(LIMITS.longBeatMs / 1_000) });
  const { store, world } = harness;
  const office = await postOffice();
  const file = join(import.meta.dirname, "fixtures", "letter-agent.ts");
  rememberAgentFile(store, { agent: letterAgent.name, file, keepOther: false });
  const started = await startRun(world, {
    ...{ agent: letterAgent as Agent, input: { url: office.url, letters: 1 } },
    ...{ tenant: "local", idempotencyKey: null },
  });
  if (started.kind !== "started") throw new Error(`not started: ${JSON.stringify(started)}`);
  const { run } = started.row;
  const supervisor = startSupervisorProcess(harness, { workers: 1 });
  await waitUntil(() => expect(office.letters).toHaveLength(1));
  const frozen = stopped([await workerOf(supervisor)], 2.5 * LETTER_TIMEOUT_MS);
  office.answer();
  await frozen;
  await waitForStatus(harness, run, "completed");
  const calls = await ledger(world, run);
  assertSafety("the call that was answered succeeded, in its only attempt", () => {
    expect(calls).toMatchObject([{ tool: "send", status: "succeeded", attempts: 1 }]);
    expect(office.letters).toHaveLength(1);
  });
});

test("a client that is stopped in its commit costs no run a death, a reply or the result of a call that returned", async () => {
  const harness = createProcessHarness({ CAIRN_BEAT_SECONDS: String(BEAT_MS / 1_000) });
  const side = externalServiceOf(harness);
  const steps = Array.from({ length: 6 }, () => "mail" as const);
  const started = await Promise.all(
    ["a", "b", "c", "d"].map((of) => startEffectsRun(harness, { of, steps, paceMs: PACE_MS })),
  );
  const supervisor = startSupervisorProcess(harness, { workers: 2 });
  await waitUntil(() => expect(side.effects().length).toBeGreaterThanOrEqual(started.length));
  const client = await stoppedClient(harness);
  await untilPassed(2.5 * BEAT_MS);
  client.goOn();
  for (const { run } of started) await waitForStatus(harness, run, "completed");
  assertSafety("no attempt failed, and no call was repeated or lost", () => {
    expect(endsOf(supervisor)).toEqual([]);
    expect(side.requests()).toHaveLength(started.length * steps.length);
    expect(side.effects()).toHaveLength(started.length * steps.length);
  });
  const told = supervisor.events.filter(({ kind }) => kind === "waitingForStore").map(({ why }) => why);
  expect(told.join("\n")).toMatch(
    new RegExp(`process ${client.pid} \\(.+\\) is stopped and holds it.*kill -CONT ${client.pid}`),
  );
});
