import assert from "node:assert/strict";
import { test } from "node:test";
import { everyFaultPoint, expectEffectsOnce, fakeService, killAt, runAgent } from "cairn-run/testing";
import { orders } from "./agent.ts";

type Order = { readonly order: string };
const stock = fakeService({ name: "stock", reply: ({ order }: Order) => ({ reserved: order }) });
const till = fakeService({ name: "till", reply: (_: Order, { nth }) => ({ payment: nth }), honoursKeys: false });
const queue = fakeService({ name: "queue", reply: ({ order }: Order) => ({ queued: order }), honoursKeys: false });
const small = { input: { order: "A-1" }, tools: { reserve: stock, takePayment: till, sendParcel: queue } };

test("wherever its process dies, an order is reserved, paid and sent once", async () => {
  const { uninterrupted } = await everyFaultPoint(orders, small);
  assert.equal(uninterrupted.result, "Order A-1 is on its way.");
});

test("a process that dies after the payment asks a human, and takes no second one", async () => {
  const run = await killAt(orders, "after:effect:takePayment", small);
  assert.deepEqual(run.decided, ["confirmed"]);
  assert.equal(till.requests.length, 1);
  expectEffectsOnce(run);
});

test("a payment that a human denies releases the reservation", async () => {
  const run = await runAgent(orders, { ...small, input: { order: "A-2" }, decide: () => "deny" });
  assert.equal(run.status, "failed");
  assert.equal(till.effects.length, 0);
  assert.ok(stock.effects.every(({ undone }) => undone));
});
