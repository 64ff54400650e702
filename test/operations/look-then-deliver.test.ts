/** What is said to a run that is not there any more when the message arrives: each operation tells the same two apart. */
import { describe, expect, test } from "vitest";
import type { RunTable } from "../../src/ports/run-table.ts";
import { checkThenDeliver } from "../../src/operations/look-then-deliver.ts";
import { asked } from "../support/asking.ts";
import { stage } from "../support/stage.ts";

type Delivery = Awaited<ReturnType<RunTable["deliver"]>>;

const never = (): never => {
  throw new Error("it was not delivered");
};

const say = (on: ReturnType<typeof stage>, run: string) =>
  checkThenDeliver<{ readonly kind: "said" }>(on.world, run, async () => ({
    ...{ kind: "send", id: "assign#1", body: { kind: "assign", asked: 1, to: "bob", by: "ann" } },
    ...{ onDelivered: never, onDuplicate: never },
  }));

describe("a message whose run was there at the look", () => {
  test.each(["late", "missing"] as const)("is %s when its delivery is", async (kind) => {
    const on = stage();
    const { run } = await asked(on);
    const deliver = async (): Promise<Delivery> => ({ kind }) as Delivery;
    const world = { ...on.world, table: { ...on.world.table, deliver } };
    expect(await say({ ...on, world }, run)).toEqual({ kind });
  });
});

test("a message to no run is missing before anything is judged", async () => {
  expect(await say(stage(), "local-aaaaaaaaaaaaaaaaaaaaaaaaaa")).toEqual({ kind: "missing" });
});

test("a refusal is told, and nothing is delivered", async () => {
  const on = stage();
  const { run } = await asked(on);
  const world = { ...on.world, table: { ...on.world.table, deliver: never } };
  const refusal = { kind: "refused", why: "too little" } as const;
  expect(await checkThenDeliver<typeof refusal>(world, run, async () => refusal)).toEqual(refusal);
});
