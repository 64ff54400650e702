/** A process that was started before its supervisor, and what becomes of it. */
import { type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { virtualClock } from "../../src/adapters/memory/clock.ts";
import { spawnWorker, startAhead } from "../../src/workers/spawn-worker.ts";
import { NOW, temporaryDir } from "../process/fixtures/store.ts";
import { watchStarted } from "../support/processes/started.ts";

/** The processes that `run` starts before it returns. */
function startedDuring(run: () => void): readonly ChildProcess[] {
  const all: ChildProcess[] = [];
  const stop = watchStarted((child) => all.push(child));
  try {
    run();
  } finally {
    stop();
  }
  return all;
}

/** A worker that says what it was given, in words or as its first message. */
const ECHO = `
  const say = (args) => process.send({ said: args });
  if (process.argv.length > 2) say(process.argv.slice(2));
  else process.once("message", say);
  process.on("message", () => {});
`;

/** How a supervisor starts a worker, with a process that was started ahead. */
function launching() {
  const module = join(temporaryDir(), "worker.mjs");
  writeFileSync(module, ECHO);
  const launch = { module, execArgv: [], env: process.env };
  let ahead: ReturnType<typeof startAhead> = null;
  const [first] = startedDuring(() => (ahead = startAhead(launch)));
  const spawn = (): ChildProcess => {
    const clock = virtualClock(NOW);
    const { child } = spawnWorker({
      worker: { ...launch, args: ["its settings"], ...(ahead !== null && { ahead }) },
      ...{ beatMs: 1_000, clock, counted: () => clock.now() },
      ...{ onSpawned: () => {}, onGone: () => {}, onRoom: () => {}, onHeld: () => {} },
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    return child;
  };
  if (first === undefined) throw new Error("no process was started");
  return { first, spawn };
}

test("schedule 284: a process that was killed before it became a worker becomes none; the next one does", async () => {
  const alive = launching();
  const worker = alive.spawn();
  expect(worker).toBe(alive.first);
  expect(await once(worker, "message")).toEqual([{ said: ["its settings"] }, undefined]);
  // A second worker is another process.
  expect(alive.spawn()).not.toBe(worker);

  const killed = launching();
  killed.first.kill("SIGKILL");
  await once(killed.first, "close");
  const next = killed.spawn();
  expect(next).not.toBe(killed.first);
  expect(await once(next, "message")).toEqual([{ said: ["its settings"] }, undefined]);
});
