import assert from "node:assert/strict";
import { test } from "node:test";
import { everyFaultPoint, expectEffectsOnce, fakeService, killAt, runAgent } from "cairn-run/testing";
import { refunds } from "./agent.ts";

const bank = fakeService({ name: "bank", reply: ({ order }: { order: string }) => ({ refund: `R-${order}` }) });
const post = fakeService({ name: "post", reply: () => ({ mail: "sent" }) });
const small = { input: { order: "A-1", complaint: "It never arrived." }, tools: { refund: bank, writeTo: post } };
const large = { ...small, input: { order: "A-2", complaint: "There was no lamp." } };

test("wherever its process dies, the agent refunds once and writes once", async () => {
  const { uninterrupted, points } = await everyFaultPoint(refunds, small);
  assert.equal(uninterrupted.result, "12 euros are refunded.");
  assert.ok(points.includes("after:effect:refund#1"));
});

test("a process that dies after the refund asks the bank again with the same key", async () => {
  const run = await killAt(refunds, "after:effect:refund", small);
  assert.equal(bank.requests.length, 2);
  assert.equal(bank.effects.length, 1);
  expectEffectsOnce(run);
});

test("a large refund waits for a human, and is not made if the human denies it", async () => {
  const approved = await runAgent(refunds, large);
  assert.deepEqual(approved.decided, ["approved"]);
  assert.equal(approved.result, "120 euros are refunded.");
  const denied = await runAgent(refunds, { ...large, decide: () => "deny" });
  assert.deepEqual(denied.decided, ["denied"]);
  assert.equal(denied.result, "Nothing was refunded.");
  assert.equal(bank.effects.length, 0);
});
