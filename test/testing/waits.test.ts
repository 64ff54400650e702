/** The testing kit with calls that wait: answers and events are given, sleeps take no time, and no kill changes a run. */
import { z } from "zod";
import { expect, test } from "vitest";
import { askHuman, defineAgent, scriptedModel, sleep, tool, waitFor } from "../../src/index.ts";
import { exportRun } from "../../src/features/archive/export.ts";
import { everyFaultPoint, expectPinned, fakeService, recordedRun, runAgent } from "../../src/testing/kit/index.ts";
import { LIMIT_MS, answerCall, callsOnce, signalEvent, waitingAgent } from "../support/agents/waiting-agent.ts";
import { startKeyedRun } from "../support/harness/chain-steps.ts";
import { createChainHarness } from "../support/harness/harness.ts";

const bookkeeper = defineAgent({
  ...{ name: "bookkeeper", version: "1", instructions: "", task: z.object({ invoice: z.string() }) },
  model: scriptedModel({
    name: "script",
    reply: ({ calls }) => {
      if (calls.length === 0) {
        return {
          calls: [
            { tool: "askAccountant", args: { question: "Which account?" } },
            { tool: "nap", args: { seconds: 86_400 } },
          ],
        };
      }
      if (calls.length === 2) return { calls: [{ tool: "paid", args: {} }] };
      if (calls.length === 3) return { calls: [{ tool: "book", args: { account: "4711" } }] };
      return { text: "booked" };
    },
  }),
  tools: {
    askAccountant: askHuman({ answer: z.object({ account: z.string().regex(/^[0-9]{4}$/) }), timeLimit: "2d" }),
    nap: sleep(),
    paid: waitFor({ event: "paid", detail: z.object({ euros: z.number() }), timeLimit: "7d", atLimit: "fail" }),
    book: tool({ input: z.object({ account: z.string() }), effect: "keyed", run: () => null }),
  },
  result: ({ calls }) => calls.map(({ tool: name, outcome }) => `${name} ${outcome}`),
});

const given = ({ tool: name }: { readonly tool: string }) =>
  name === "askAccountant" ? { account: "4711" } : { euros: 12 };

const options = () => ({
  input: { invoice: "42" },
  tools: {
    book: fakeService({ name: "books", subject: ({ account }: { account: string }) => account, reply: () => null }),
  },
});

test("an answer, a sleep and an event are given, and a day takes no time", async () => {
  const run = await runAgent(bookkeeper, { ...options(), answer: given });
  expect(run.status).toBe("completed");
  expect(run.result).toEqual(["askAccountant succeeded", "nap succeeded", "paid succeeded", "book succeeded"]);
  expect(run.decided).toEqual(["answered", "answered"]);
  const slept = run.timeline.findLast(({ kind }) => kind === "ToolResultRecorded")?.at ?? 0;
  expect(slept - (run.timeline[0]?.at ?? 0)).toBeGreaterThanOrEqual(86_400_000);
});

test("nothing comes: the limit passes, the model is told, and a wait that must not miss fails the run", async () => {
  const run = await runAgent(bookkeeper, options());
  expect(run.calls.map(({ tool: name, status }) => `${name} ${status}`)).toEqual([
    "askAccountant failed",
    "nap succeeded",
    "paid failed",
  ]);
  expect(run).toMatchObject({ status: "failed", failure: { code: "NoEvent" } });
});

test("an answer that does not fit is refused with its path", async () => {
  const wrong = runAgent(bookkeeper, { ...options(), answer: () => ({ account: "no" }) });
  await expect(wrong).rejects.toThrow(/askAccountant \(c1\) does not fit: account: Invalid string/);
});

test("no kill at any fault point changes a run that waits", async () => {
  const { points } = await everyFaultPoint(bookkeeper, { ...options(), answer: given });
  expect(points.length).toBeGreaterThan(20);
});

test("a wait without a limit and without an answer is an error that says what to pass", async () => {
  const asking = defineAgent({
    ...{ name: "asking", version: "1", instructions: "", task: z.object({}) },
    model: scriptedModel({ name: "script", reply: () => ({ calls: [{ tool: "ask", args: { question: "?" } }] }) }),
    tools: { ask: askHuman({ answer: z.string() }) },
  });
  await expect(runAgent(asking, { input: {} })).rejects.toThrow(
    /waits for a human's answer without a limit: pass answer/,
  );
});

test("a recorded run is repeated with the answers and events of then, and without those that never came", async () => {
  const waiter = waitingAgent({ reply: callsOnce("ask", "askFor", "paid"), atLimit: { take: { yes: false } } });
  const agent = { ...waiter, result: ({ calls }) => calls.map(({ outcome }) => outcome) } satisfies typeof waiter;
  const harness = createChainHarness();
  const { run } = await startKeyedRun(harness.world, { agent, key: "k" });
  await harness.runUntilIdle(agent);
  await answerCall(harness.world, run, { result: { yes: true } });
  await signalEvent(harness.world, run);
  await harness.runUntilIdle(agent);
  harness.clock.moveTo(harness.clock.now() + LIMIT_MS);
  await harness.runUntilIdle(agent);
  const lines: string[] = [];
  await exportRun(harness.world, { run, write: (text) => void lines.push(text) });
  const { options: then, pinned } = recordedRun(Buffer.from(lines.join("")));
  expect(pinned.calls.map(({ status }) => status)).toEqual(["succeeded", "succeeded", "succeeded"]);
  const again = await runAgent(agent, then);
  expect(again.decided).toEqual(["answered", "answered"]);
  expectPinned(again, pinned);
});
