/** A stage of a pipeline is discarded while the run goes on: what dies, freezes or is decided around its undo. */
import { expect, test } from "vitest";
import { OutcomeUnknown } from "../../src/index.ts";
import { sendRequest } from "../../src/engine/loop/request.ts";
import { requestCompensation } from "../../src/operations/compensate.ts";
import { forkRun } from "../../src/operations/fork.ts";
import { show } from "../../src/operations/views.ts";
import { assertSafety } from "../support/gate/safety.ts";
import { Desk, ONE, type Rules, answer, booking, goOn, undoBy } from "../support/runs/booking-run.ts";
import { playRun } from "../support/runs/topology-run.ts";
import { rowIn } from "../support/runs/run-to-fork.ts";
import { MS } from "../support/harness/harness.ts";

const WHOLE = ["book LH0", "book LH1", "book LH2", "cancel LH2", "cancel LH1", "book LH1", "book LH2"];

test("schedule 257: a process dies between two undos of a roll-back; the rest is undone newest first, and nothing twice", async () => {
  let deaths = 0;
  for (let at = 2; ; at += 5) {
    const desk = new Desk();
    const { lives, shown } = await playRun(booking(desk, { rules: undoBy(desk) }), { crash: { at, when: "after" } });
    expect(shown).toMatchObject({ status: "completed", standing: [] });
    assertSafety("each effect is undone once, newest first", () => expect(desk.log).toEqual(WHOLE));
    if (lives) break;
    deaths += 1;
  }
  expect(deaths).toBeGreaterThan(5);
});

test("schedule 258: the request of an undo comes late, after the stage has booked again; it cancels the first booking alone", async () => {
  const desk = new Desk();
  const late: (() => void)[] = [];
  const undo: Rules["undo"] = {
    effect: "keyed",
    run: ({ of }) => {
      late.push(() => desk.cancel(of.key));
      if (late.length === 1) throw new OutcomeUnknown("the line went dead");
      desk.cancel(of.key);
    },
  };
  const key = ({ flight }: { readonly flight: string }): string => `trip-${flight}`;
  const { shown } = await playRun(booking(desk, { rules: { undo, key }, flights: ONE }));
  expect(shown).toMatchObject({ status: "completed" });
  for (const lands of late) lands();
  expect(late).toHaveLength(2);
  assertSafety("the booking of the last run of the stage stands", () => expect(desk.standing).toEqual(["LH0", "LH1"]));
});

test("schedule 259: a stage books again under the agent's own key after an undo; the service does not answer with the cancelled booking", async () => {
  const desk = new Desk();
  const key = ({ flight }: { readonly flight: string }): string => `trip-${flight}`;
  const { shown } = await playRun(booking(desk, { rules: { ...undoBy(desk), key }, flights: ONE }));
  expect(shown).toMatchObject({ status: "completed" });
  assertSafety("the booking of the last run of the stage stands", () => expect(desk.standing).toEqual(["LH0", "LH1"]));
  expect([...desk.bookings.keys()]).toEqual(["trip-LH0", "trip-LH1", "trip-LH1~2"]);
});

test("schedule 264: a human undid a booking of a discarded stage, and the run restarts; the service does not answer with it", async () => {
  const desk = new Desk();
  const key = ({ flight }: { readonly flight: string }): string => `trip-${flight}`;
  const agent = booking(desk, { rules: { key }, flights: ONE });
  const asked = await playRun(agent);
  expect(asked.shown).toMatchObject({ status: "blocked", unknown: [{ call: "undo-c2", byHand: true }] });
  desk.cancel("trip-LH1");
  await answer(asked, "undo-c2", "succeeded");
  const want = { run: asked.run, next: "restart", by: "ann" } as const;
  expect(await requestCompensation(asked.harness.world, want)).toBe("accepted");
  expect(await goOn(asked, agent)).toMatchObject({ attempt: 2 });
  assertSafety("what the model takes for booked is booked", () => expect(desk.standing).toEqual(["LH0", "LH1"]));
  expect([...desk.bookings.keys()]).toEqual(["trip-LH0", "trip-LH1", "trip-LH1~2"]);
});

test("schedule 260: a stage that runs again makes a call that is equal to one whose effect stands; a human is asked", async () => {
  const desk = new Desk();
  const { shown } = await playRun(booking(desk, { flights: ONE, onRollBack: "keep" }));
  expect(shown).toMatchObject({ status: "waiting", gates: [{ call: "c3", tool: "book" }] });
  assertSafety("nothing is made twice in silence", () => expect(desk.log).toEqual(["book LH0", "book LH1"]));
});

test("schedule 261: a run ends while its roll-back asks a human; the end does not wait for the answer", async () => {
  const desk = new Desk();
  const agent = booking(desk, { rules: undoBy(desk), flights: ONE, second: "mail" });
  const asked = await playRun(agent);
  expect(asked.shown).toMatchObject({ status: "blocked", unknown: [{ call: "undo-c2" }] });
  const want = { run: asked.run, next: "cancel", by: "ann" } as const;
  expect(await requestCompensation(asked.harness.world, want)).toBe("accepted");
  expect(await goOn(asked, agent)).toMatchObject({ status: "cancelled", standing: ["mail (c2)"] });
  expect(desk.log).toEqual(["book LH0", "book LH1", "cancel LH0"]);
  const other = await playRun(booking(new Desk(), { flights: ONE }));
  await sendRequest(other.harness.world, { run: other.run, want: "cancel" });
  expect(await goOn(other, agent)).toMatchObject({ status: "cancelled", standing: ["book (c2)"] });
});

test("schedule 262: a fork discards a stage that its original ran; it takes back nothing of what the original did", async () => {
  const desk = new Desk();
  // The original has booked, and waits for its model.
  const agent = booking(desk, { rules: undoBy(desk), flights: ONE });
  const { harness, run, events } = await playRun(agent);
  const booked = events.find((event) => event.kind === "ToolResultRecorded" && event.call === "c2");
  const before = desk.log.length;
  const at = booked?.version ?? 0;
  const forked = rowIn(await forkRun(harness.world, { run, at, agent, key: null, by: "ann", confirmed: true }));
  await harness.runForTime([agent], MS.hour);
  const shown = await show(harness.world, forked.run);
  expect(shown).toMatchObject({ status: "waiting", gates: [{ tool: "book" }], standing: ["book (c2)"] });
  assertSafety("the fork undoes nothing", () => expect(desk.log).toHaveLength(before));
});
