/** What a worker process says to its supervisor. */
import { fork } from "node:child_process";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { FromChild, ToChild } from "../../src/workers/wire.ts";
import { LIMITS } from "../support/gate/limits.ts";

test("a write that outlives its task changes no deadline: the process goes on for other runs", async () => {
  const file = join(import.meta.dirname, "..", "process", "fixtures", "late-holding-worker.ts");
  const child = fork(file, { detached: true, stdio: ["ignore", "inherit", "inherit", "ipc"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const said: FromChild[] = [];
  const give = (secret: string): boolean => {
    const times = { attempt: null, places: 1, deadline: Date.now() + LIMITS.runMs };
    return child.send({ kind: "task", secret, task: { kind: "sweep" }, ...times } satisfies ToChild);
  };
  child.on("message", (message: FromChild) => {
    said.push(message);
    if (message.kind === "ready") give("first");
    if (message.kind === "answered" && message.secret === "first") give("second");
  });
  await expect.poll(() => said.filter(({ kind }) => kind === "answered").length).toBe(2);
  expect(said.map(({ kind }) => kind)).toEqual(["ready", "answered", "answered"]);
});

test("schedule 249: a task that no store answered leaves its process to the others, unless something of it may act", async () => {
  const file = join(import.meta.dirname, "..", "process", "fixtures", "worker-without-store.ts");
  const child = fork(file, { detached: true, stdio: ["ignore", "inherit", "inherit", "ipc"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const said: FromChild[] = [];
  const give = (secret: string, ms: number = LIMITS.runMs): boolean => {
    const times = { attempt: null, places: 4, deadline: Date.now() + ms };
    return child.send({ kind: "task", secret, task: { kind: "sweep" }, ...times } satisfies ToChild);
  };
  const [secondMs, afterMs] = [300, 200];
  const giveThird = (): void => void (child.connected && give("third"));
  child.on("message", (message: FromChild) => {
    said.push(message);
    if (message.kind === "ready")
      for (const [secret, ms] of [["first"], ["second", secondMs]] as const) give(secret, ms);
    // The others outlive its deadline as well.
    if (message.kind === "failed" && message.secret === "second") setTimeout(giveThird, secondMs + afterMs);
    if (message.kind === "answered" && message.secret === "third") give("fourth");
  });
  // It comes after the last message.
  const closed = new Promise<number | null>((resolve) => child.once("close", resolve));
  const ends = () => said.flatMap((each) => (each.kind === "failed" ? [[each.secret, each.isOver]] : []));
  expect(await closed).toBe(1);
  expect(ends()).toEqual([
    ["second", true],
    ["fourth", false],
  ]);
  expect(said.flatMap((each) => (each.kind === "answered" ? [each.secret] : [])).toSorted()).toEqual([
    "first",
    "third",
  ]);
});
