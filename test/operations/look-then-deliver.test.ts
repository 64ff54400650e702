/** What is said to a run that is not there any more when the message arrives: each operation tells the same two apart. */
import { describe, expect, test } from "vitest";
import type { Inbox } from "../../src/ports/inbox.ts";
import { checkThenDeliver } from "../../src/operations/look-then-deliver.ts";
import { runUntilGate } from "../support/agents/approval-agent.ts";
import { createHarness } from "../support/harness/harness.ts";

type Delivery = Awaited<ReturnType<Inbox["deliver"]>>;

const never = (): never => {
  throw new Error("it was not delivered");
};

const reconcileCall = (harness: ReturnType<typeof createHarness>, run: string) =>
  checkThenDeliver<{ readonly kind: "said" }>(harness.world, run, async () => ({
    ...{ kind: "send", id: "assign#1", body: { kind: "assign", number: 1, to: "bob", by: "ann" } },
    ...{ onDelivered: never, onDuplicate: never },
  }));

describe("a message whose run existed at the read", () => {
  test.each(["late", "missing"] as const)("is %s when its delivery is", async (kind) => {
    const harness = createHarness();
    const { run } = await runUntilGate(harness);
    const deliver = async (): Promise<Delivery> => ({ kind }) as Delivery;
    const world = { ...harness.world, inbox: { ...harness.world.inbox, deliver } };
    expect(await reconcileCall({ ...harness, world }, run)).toEqual({ kind });
  });
});

test("a message to no run is reported as missing before any other check", async () => {
  expect(await reconcileCall(createHarness(), "local-aaaaaaaaaaaaaaaaaaaaaaaaaa")).toEqual({ kind: "missing" });
});

test("a refusal is returned, and nothing is delivered", async () => {
  const harness = createHarness();
  const { run } = await runUntilGate(harness);
  const world = { ...harness.world, inbox: { ...harness.world.inbox, deliver: never } };
  const refusal = { kind: "refused", why: "too little" } as const;
  expect(await checkThenDeliver<typeof refusal>(world, run, async () => refusal)).toEqual(refusal);
});
