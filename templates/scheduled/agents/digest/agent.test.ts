import assert from "node:assert/strict";
import { test } from "node:test";
import { everyFaultPoint, expectEffectsOnce, fakeService, killAt, runAgent } from "cairn-run/testing";
import { digest } from "./agent.ts";

const desk = fakeService({ name: "desk", reply: ({ ticket }: { ticket: number }) => ({ to: `head, for ${ticket}` }) });
const channel = fakeService({ name: "channel", reply: () => ({ posted: "once" }) });
const options = { input: { team: "support" }, tools: { reassign: desk, post: channel } };

test("wherever its process dies, the agent posts one digest and hands the ticket over once", async () => {
  const { uninterrupted, points } = await everyFaultPoint(digest, options);
  assert.equal(uninterrupted.result, "2 tickets wait for more than two days.");
  assert.ok(points.includes("after:effect:post#1"));
});

test("a process that dies after the post asks the channel again with the same key", async () => {
  const run = await killAt(digest, "after:effect:post", options);
  assert.equal(channel.requests.length, 2);
  assert.equal(channel.effects.length, 1);
  expectEffectsOnce(run);
});

test("a ticket stays where it is if the human denies the hand-over", async () => {
  const denied = await runAgent(digest, { ...options, decide: () => "deny" });
  assert.deepEqual(denied.decided, ["denied"]);
  assert.equal(desk.effects.length, 0);
  assert.equal(channel.effects.length, 1);
});
