/** Texts of users that come while a model job is out, and are more than the state of the run may hold. */
import { expect, test } from "vitest";
import { sendRequest } from "../../../src/engine/loop/request.ts";
import { requestCompensation } from "../../../src/operations/compensate.ts";
import { send } from "../../../src/operations/steer.ts";
import { timeline, transcript } from "../../../src/operations/views.ts";
import { asynchronousAgent } from "../../support/agents/asynchronous-agent.ts";
import { type Harness, createChainHarness } from "../../support/harness/harness.ts";
import { startKeyedRun } from "../../support/harness/chain-steps.ts";

const KB = 1024;

/** A run whose job is pending. `read`: what each of its model calls has read of its users, as the first letters. */
async function waitingRun({ pending = 2 } = {}) {
  const harness = createChainHarness();
  const read: string[] = [];
  const { agent, model } = asynchronousAgent({
    pending,
    reply: ({ messages, resultOf }) => {
      const texts = messages.flatMap(({ role, text }) => (role === "user" ? [text] : [])).join("\n");
      read.push(Array.from(texts.matchAll(/(\w)\1{50,}/g), ([, letter]) => letter).join(""));
      return resultOf("look") === undefined ? { calls: [{ tool: "look", args: {} }] } : { text: "over" };
    },
  });
  const { run } = await startKeyedRun(harness.world, { agent, key: "a" });
  await harness.runAttempt(agent);
  return { harness, agent, model, run, read };
}

/** Sends a text of one letter, in the order of the letters. */
async function say({ harness, run }: { harness: Harness; run: string }, letter: string, bytes: number): Promise<void> {
  const text = letter.repeat(bytes);
  expect(await send(harness.world, { run, text, by: "ada", id: letter })).toMatchObject({ kind: "delivered" });
}

/** The letters of the texts in the transcript, in order. */
const saidIn = async ({ harness, run }: { harness: Harness; run: string }): Promise<string> =>
  ((await transcript(harness.world, run)) ?? [])
    .filter(({ source }) => source === "user:ada")
    .flatMap(({ parts }) => parts.map((part) => (part.kind === "text" ? part.text[0] : "?")))
    .join("");

test.each([
  ["two of 64 KB", "ab", 64 * KB],
  ["five of 45 KB", "abcde", 45 * KB],
  ["more than one commit absorbs", "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLM", 20 * KB],
])("texts that a job's run cannot hold follow its reply in their order: %s", async (_, letters, bytes) => {
  const waiting = await waitingRun();
  const { harness, agent, run, read, model } = waiting;
  harness.clock.moveTo(harness.clock.now() + 1);
  for (const letter of letters) {
    await say(waiting, letter, bytes);
    harness.clock.moveTo(harness.clock.now() + 1);
  }
  for (let looks = 0; looks < 2; looks += 1) await harness.runAttempt(agent);
  // The run waits for its job without a process, and does not look at it again and again.
  expect(harness.row(run)).toMatchObject({ owner: null, phase: "AwaitingLLM" });
  expect(harness.row(run).wakeCountSeen).toBe(harness.row(run).wakeCount);
  await harness.runUntilIdle(agent);
  expect(harness.row(run).status).toBe("completed");
  expect(read).toEqual(["", letters]);
  expect(await saidIn(waiting)).toBe(letters);
  expect(model.started().map(({ polls }) => polls)).toEqual([3, 3]);
});

test("a short text does not overtake a long one that waits in the inbox", async () => {
  const waiting = await waitingRun({ pending: 4 });
  const { harness, agent } = waiting;
  for (const [letter, bytes] of [
    ["a", 100],
    ["b", 40 * KB],
    ["c", 100],
  ] as const) {
    harness.clock.moveTo(harness.clock.now() + 1);
    await say(waiting, letter, bytes);
    await harness.runAttempt(agent);
  }
  await harness.runUntilIdle(agent);
  expect(waiting.read).toEqual(["", "abc"]);
});

test("texts that wait in the inbox are in the next request when their job failed", async () => {
  const waiting = await waitingRun();
  const { harness, agent, run, read, model } = waiting;
  await say(waiting, "a", 64 * KB);
  await harness.runAttempt(agent);
  const forgets = { ...model.detached, poll: async () => ({ kind: "failed" as const, error: { message: "gone" } }) };
  await harness.runAttempt({ ...agent, model: Object.assign({}, model, { detached: forgets }) });
  expect(harness.row(run).phase).toBe("RetryingLLM");
  expect(await saidIn(waiting)).toBe("a");
  await harness.runUntilIdle(agent);
  expect(read).toEqual(["", "a", "a"]);
});

test.each([
  ["cancel", "cancelled"],
  ["pause", "paused"],
] as const)("a %s behind texts that wait in the inbox acts at once", async (want, status) => {
  const waiting = await waitingRun({ pending: 1_000 });
  const { harness, agent, run, model } = waiting;
  for (const letter of "ab") await say(waiting, letter, 64 * KB);
  await sendRequest(harness.world, { run, want });
  await harness.runUntilIdle(agent);
  expect(harness.row(run).status).toBe(status);
  expect(model.started()).toMatchObject([{ state: "cancelled" }]);
});

test("an operator's restart is absorbed behind more texts than one reading of the inbox lists", async () => {
  const waiting = await waitingRun({ pending: 1_000 });
  const { harness, agent, run, model } = waiting;
  for (const letter of "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLM") await say(waiting, letter, 33 * KB);
  await harness.runAttempt(agent);
  expect(model.started()).toMatchObject([{ state: "working" }]);
  harness.clock.moveTo(harness.clock.now() + 1);
  await requestCompensation(harness.world, { run, next: "restart", by: "bob" });
  await harness.runAttempt(agent);
  expect(model.started()[0]).toMatchObject({ state: "cancelled" });
  const entries = (await timeline(harness.world, { run, after: 0 })) ?? [];
  expect(entries.filter(({ kind }) => kind === "DetachedCallEnded")).toHaveLength(1);
});
