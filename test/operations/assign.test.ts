/** Who is to look at a run: said once, kept, and never by two at once. */
import { expect, test } from "vitest";
import { assign } from "../../src/operations/assign.ts";
import { show, timeline } from "../../src/operations/views.ts";
import { sendRequest } from "../../src/engine/loop/request.ts";
import { runUntilGate, decideGate } from "../support/agents/approval-agent.ts";
import { drive } from "../support/harness/drive.ts";
import { createHarness } from "../support/harness/harness.ts";

const to = (run: string, name: string) => ({ run, to: name, by: "ann" });

test("a run is assigned, shown at once, and stored with the operator's name", async () => {
  const harness = createHarness();
  const { run, runner, payload } = await runUntilGate(harness);
  expect((await show(harness.world, run))?.assigned).toBeNull();
  expect(await assign(harness.world, to(run, "bob"))).toEqual({ kind: "accepted", to: "bob" });
  const assigned = { to: "bob", by: "ann" };
  expect(await show(harness.world, run)).toMatchObject({ assigned, status: "waiting" });
  await drive(runner, payload);
  expect(await show(harness.world, run)).toMatchObject({ assigned, status: "waiting", beats: 1 });
  const events = (await timeline(harness.world, { run, after: 0 })) ?? [];
  expect(events.filter(({ kind }) => kind === "MessageAbsorbed")).toMatchObject([
    { stage: "taken", body: { kind: "assign", number: 1, to: "bob", by: "ann" } },
  ]);
});

test("an equal assignment changes nothing, before and after it is absorbed; another one counts, and so does the way back", async () => {
  const harness = createHarness();
  const { run, runner, payload } = await runUntilGate(harness);
  await assign(harness.world, to(run, "bob"));
  const before = harness.row(run);
  expect(await assign(harness.world, to(run, "bob"))).toEqual({ kind: "same", to: "bob" });
  expect(harness.row(run)).toEqual(before);
  await drive(runner, payload);
  expect(await assign(harness.world, to(run, "bob"))).toEqual({ kind: "same", to: "bob" });
  for (const name of ["cy", "bob", "dee"]) {
    expect(await assign(harness.world, to(run, name))).toEqual({ kind: "accepted", to: name });
  }
  expect((await show(harness.world, run))?.assigned).toEqual({ to: "dee", by: "ann" });
});

test("a paused run absorbs nothing, and can be assigned and reassigned nevertheless", async () => {
  const harness = createHarness();
  const { run, runner, payload } = await runUntilGate(harness);
  await sendRequest(harness.world, { run, want: "pause" });
  const paused = await drive(runner, payload);
  await assign(harness.world, to(run, "bob"));
  const still = await drive(runner, paused);
  expect((await show(harness.world, run))?.assigned).toEqual({ to: "bob", by: "ann" });
  expect(await assign(harness.world, to(run, "cy"))).toEqual({ kind: "accepted", to: "cy" });
  await sendRequest(harness.world, { run, want: "resume" });
  await drive(runner, still);
  expect(await show(harness.world, run)).toMatchObject({ assigned: { to: "cy" }, status: "waiting" });
});

test("the first of two assignments in one moment counts, and the other sender gets it as the response", async () => {
  const harness = createHarness();
  const { run } = await runUntilGate(harness);
  const deliver: typeof harness.world.inbox.deliver = async (of) => {
    await assign(harness.world, to(run, "bob"));
    return harness.world.inbox.deliver(of);
  };
  const world = { ...harness.world, inbox: { ...harness.world.inbox, deliver } };
  expect(await assign(world, to(run, "cy"))).toEqual({ kind: "crossed", to: "bob" });
  expect((await show(harness.world, run))?.assigned?.to).toBe("bob");
});

test("an ended run and a missing one cannot be assigned", async () => {
  const harness = createHarness();
  const { run, runner, payload } = await runUntilGate(harness);
  await decideGate(harness.world, { run, as: "approve" });
  await drive(runner, payload);
  expect(await assign(harness.world, to(run, "bob"))).toEqual({ kind: "late" });
  expect(await assign(harness.world, to(`local-${"a".repeat(26)}`, "bob"))).toEqual({ kind: "missing" });
});
