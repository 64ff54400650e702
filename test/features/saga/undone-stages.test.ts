/** A stage of a pipeline is discarded: what its ledger, its forks and a kept stage see of the undo. */
import { expect, test } from "vitest";
import { repeatsOf } from "../../../src/core/calls/repeats.ts";
import { forkRefusal } from "../../../src/features/fork/core.ts";
import { requestCompensation } from "../../../src/operations/compensate.ts";
import { forkRun } from "../../../src/operations/fork.ts";
import { ledger } from "../../../src/operations/views.ts";
import { assertSafety } from "../../support/gate/safety.ts";
import { Desk, ONE, booking, goOn, undoBy } from "../../support/runs/booking-run.ts";
import { playRun } from "../../support/runs/topology-run.ts";
import { rowIn } from "../../support/runs/run-to-fork.ts";
import { stateAfter, EVENT } from "../../support/states/states-and-events.ts";

test("no fork begins between two undos of a roll-back, and the answer says that calls are under way", async () => {
  const desk = new Desk();
  const agent = booking(desk, { rules: undoBy(desk) });
  const { harness, run, events } = await playRun(agent);
  const at = events.find((event) => event.kind === "ToolCompensated" && event.call === "undo-c3")?.version ?? 0;
  const forked = await forkRun(harness.world, { run, at, agent, key: null, by: "ann", confirmed: true });
  expect(forked).toMatchObject({
    kind: "notForkable",
    why: expect.stringContaining("calls or child runs are under way"),
  });
});

test("no fork begins where no call is open and an undo is still owed", () => {
  const state = stateAfter(EVENT.started);
  expect(forkRefusal(state)).toBeNull();
  expect(forkRefusal({ ...state, repeats: { ...repeatsOf(state), due: ["c1"] } })).toBe("CallsOpen");
});

test("a fork after a roll-back needs no word about effects that its transcript knows to be undone", async () => {
  const desk = new Desk();
  const agent = booking(desk, { rules: undoBy(desk) });
  const { harness, run, events } = await playRun(agent);
  const version = (kind: string, call: string): number =>
    events.find((event) => event.kind === kind && "call" in event && event.call === call)?.version ?? 0;
  const forkAt = (at: number) => forkRun(harness.world, { run, at, agent, key: null, by: "ann", confirmed: false });
  const before = await forkAt(version("ToolResultRecorded", "c3"));
  expect(before).toMatchObject({ kind: "notConfirmed", effects: { undone: ["book (c2)", "book (c3)"] } });
  expect(rowIn(await forkAt(version("ToolResultRecorded", "c5")))).toMatchObject({ agent: agent.name });
});

test("a stage that is discarded takes back nothing of a kept stage that made the same call under the same key", async () => {
  const desk = new Desk();
  const key = ({ flight }: { readonly flight: string }): string => `trip-${flight}`;
  const flights = () => [{ flight: "LH0" }];
  const { shown } = await playRun(booking(desk, { rules: { ...undoBy(desk), key }, flights }));
  expect(shown).toMatchObject({ status: "completed", standing: [] });
  assertSafety("the booking of the kept stage stands, once", () => expect(desk.log).toEqual(["book LH0"]));
});

test("a ledger shows no open undo after an end that did not wait for a human to undo", async () => {
  const desk = new Desk();
  const agent = booking(desk, { rules: undoBy(desk), flights: ONE, second: "mail" });
  const asked = await playRun(agent);
  await requestCompensation(asked.harness.world, { run: asked.run, next: "cancel", by: "ann" });
  expect(await goOn(asked, agent)).toMatchObject({ status: "cancelled" });
  const entries = (await ledger(asked.harness.world, asked.run)) ?? [];
  expect(entries.map(({ call, status, settledAt }) => ({ call, status, isSettled: settledAt !== null }))).toEqual([
    { call: "c1", status: "compensated", isSettled: true },
    { call: "c2", status: "succeeded", isSettled: true },
    { call: "undo-c2", status: "failed", isSettled: true },
    { call: "undo-c1", status: "succeeded", isSettled: true },
  ]);
});
