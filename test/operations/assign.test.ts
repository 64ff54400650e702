/** Who is to look at a run: said once, kept, and never by two at once. */
import { expect, test } from "vitest";
import { assign } from "../../src/operations/assign.ts";
import { show, timeline } from "../../src/operations/views.ts";
import { sendRequest } from "../../src/engine/loop/request.ts";
import { asked, say } from "../support/asking.ts";
import { drive } from "../support/drive.ts";
import { rowOf, stage } from "../support/stage.ts";

const to = (run: string, name: string) => ({ run, to: name, by: "ann" });

test("a run is assigned, shown at once, and it is kept with who said so", async () => {
  const on = stage();
  const { run, runner, payload } = await asked(on);
  expect((await show(on.world, run))?.assigned).toBeNull();
  expect(await assign(on.world, to(run, "bob"))).toEqual({ kind: "accepted", to: "bob" });
  const assigned = { to: "bob", by: "ann" };
  expect(await show(on.world, run)).toMatchObject({ assigned, status: "waiting" });
  await drive(runner, payload);
  expect(await show(on.world, run)).toMatchObject({ assigned, status: "waiting", beats: 1 });
  const events = (await timeline(on.world, { run, after: 0 })) ?? [];
  expect(events.filter(({ kind }) => kind === "MessageAbsorbed")).toMatchObject([
    { stage: "taken", body: { kind: "assign", asked: 1, to: "bob", by: "ann" } },
  ]);
});

test("the same again changes nothing, before and after it was taken in; another one counts, and back again", async () => {
  const on = stage();
  const { run, runner, payload } = await asked(on);
  await assign(on.world, to(run, "bob"));
  const before = rowOf(on, run);
  expect(await assign(on.world, to(run, "bob"))).toEqual({ kind: "same", to: "bob" });
  expect(rowOf(on, run)).toEqual(before);
  await drive(runner, payload);
  expect(await assign(on.world, to(run, "bob"))).toEqual({ kind: "same", to: "bob" });
  for (const name of ["cy", "bob", "dee"]) {
    expect(await assign(on.world, to(run, name))).toEqual({ kind: "accepted", to: name });
  }
  expect((await show(on.world, run))?.assigned).toEqual({ to: "dee", by: "ann" });
});

test("a paused run takes in nothing, and is assigned and assigned again all the same", async () => {
  const on = stage();
  const { run, runner, payload } = await asked(on);
  await sendRequest(on.world, { run, want: "pause" });
  const paused = await drive(runner, payload);
  await assign(on.world, to(run, "bob"));
  const still = await drive(runner, paused);
  expect((await show(on.world, run))?.assigned).toEqual({ to: "bob", by: "ann" });
  expect(await assign(on.world, to(run, "cy"))).toEqual({ kind: "accepted", to: "cy" });
  await sendRequest(on.world, { run, want: "resume" });
  await drive(runner, still);
  expect(await show(on.world, run)).toMatchObject({ assigned: { to: "cy" }, status: "waiting" });
});

test("of two that are said in one moment the first one counts, and the other is told", async () => {
  const on = stage();
  const { run } = await asked(on);
  const deliver: typeof on.world.table.deliver = async (of) => {
    await assign(on.world, to(run, "bob"));
    return on.world.table.deliver(of);
  };
  const world = { ...on.world, table: { ...on.world.table, deliver } };
  expect(await assign(world, to(run, "cy"))).toEqual({ kind: "crossed", to: "bob" });
  expect((await show(on.world, run))?.assigned?.to).toBe("bob");
});

test("an ended run and one that is not there are assigned to nobody", async () => {
  const on = stage();
  const { run, runner, payload } = await asked(on);
  await say(on.world, { run, as: "approve" });
  await drive(runner, payload);
  expect(await assign(on.world, to(run, "bob"))).toEqual({ kind: "late" });
  expect(await assign(on.world, to(`local-${"a".repeat(26)}`, "bob"))).toEqual({ kind: "missing" });
});
