import assert from "node:assert/strict";
import { test } from "node:test";
import { everyFaultPoint, expectEffectsOnce, fakeService, killAt, runAgent } from "cairn-run/testing";
import { support } from "./agent.ts";

const bank = fakeService({ name: "bank", reply: ({ order }: { order: string }) => ({ refund: `R-${order}` }) });
const small = { input: "The cup of A-1 never came: refund it, please.", tools: { refund: bank } };
const large = { ...small, input: "There was no lamp in A-2. I want my money back." };

// No second message comes, so each of these conversations ends when its time is over. Here time is virtual.

test("wherever its process dies, the agent refunds once and gives the same answer", async () => {
  const { uninterrupted, points } = await everyFaultPoint(support, small);
  assert.equal(uninterrupted.status, "completed");
  assert.equal(uninterrupted.result, "12 euros for a cup of order A-1 are refunded.");
  assert.ok(points.includes("after:effect:refund#1"));
});

test("a process that dies after the refund asks the bank again with the same key", async () => {
  const run = await killAt(support, "after:effect:refund", small);
  assert.equal(bank.requests.length, 2);
  assert.equal(bank.effects.length, 1);
  expectEffectsOnce(run);
});

test("a large refund waits for a human, and is not made if the human denies it", async () => {
  const approved = await runAgent(support, large);
  assert.deepEqual(approved.decided, ["approved"]);
  assert.equal(approved.result, "120 euros for a lamp of order A-2 are refunded.");
  const denied = await runAgent(support, { ...large, decide: () => "deny" });
  assert.deepEqual(denied.decided, ["denied"]);
  assert.equal(denied.result, "I may not refund a lamp. A colleague will write to you.");
  assert.equal(bank.effects.length, 0);
});
