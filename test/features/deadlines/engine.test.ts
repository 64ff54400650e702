/** The deadline of an agent: a run that is not done in time expires, whatever it waits for, and may compensate first. */
import { expect, test } from "vitest";
import type { Agent, DeadlinePolicy, Undo } from "../../../src/ports/agent.ts";
import { check } from "../../../src/index.ts";
import { ledger, show } from "../../../src/operations/views.ts";
import { sendRequest } from "../../../src/engine/loop/request.ts";
import { type PaymentOrder, replyWithCalls, sideEffectAgent } from "../../support/agents/side-effect-agent.ts";
import { stateOf } from "../../support/agents/approval-agent.ts";
import { beginRun, drive, runnerOf } from "../../support/harness/drive.ts";
import { type Harness, createHarness } from "../../support/harness/harness.ts";

const HOUR = 3_600_000;
const PAYS = replyWithCalls([["pay", "ada", 5]], [["pay", "bob", 7]], [["mail", "ada", 1]]);
const UNDO: DeadlinePolicy = { afterMs: HOUR, withinMs: 60_000, onExpiry: "undo" };

const payloadOf = (harness: Harness, run: string) => {
  const { born, chain, epoch, agent } = harness.row(run);
  return { run, born, chain, epoch, agent };
};

/** Drives the run until it ends. The clock moves to each time at which the run wakes by itself. */
async function driven(harness: Harness, agent: Agent, run: string): Promise<void> {
  for (let count = 0; count < 30 && !harness.row(run).endNotified; count += 1) {
    harness.clock.moveTo(Math.max(harness.clock.now(), harness.row(run).wakeAt ?? 0));
    await harness.advanceUntilSettled(drive(runnerOf(harness.world, agent), payloadOf(harness, run)));
  }
}

/** Two payments, and a mail that waits for an approval that never comes. */
async function waitingRun(deadline: DeadlinePolicy, undo?: Undo<PaymentOrder>, saga = {}) {
  const harness = createHarness();
  const made = sideEffectAgent({
    reply: PAYS,
    done: [check("never", () => "it never is")],
    ...(undo === undefined ? {} : { pay: { undo } }),
    mail: { approval: "always" },
    saga,
  });
  const agent: Agent = { ...made.agent, deadline };
  const { run } = await beginRun(harness.world, agent, {});
  const from = harness.clock.now();
  return { harness, agent, run, from };
}

test("a run that waits for an approval expires at its deadline, and its effects stay unless its agent asks", async () => {
  const undone: string[] = [];
  const undo: Undo<PaymentOrder> = { effect: "keyed", run: ({ input }) => undone.push(input.to) };
  const { harness, agent, run, from } = await waitingRun({ ...UNDO, onExpiry: "leave" }, undo);
  await driven(harness, agent, run);
  const shown = await show(harness.world, run);
  expect(shown).toMatchObject({ status: "failed", failure: { code: "DeadlineExpired" }, redrivable: false });
  expect(shown?.failure?.message).toContain("its deadline passed before it was done");
  expect({ undone, passedMs: harness.clock.now() - from }).toEqual({ undone: [], passedMs: HOUR });
});

test("an expired run undoes its effects first if its agent asks, and never restarts", async () => {
  const undone: string[] = [];
  const undo: Undo<PaymentOrder> = { effect: "keyed", run: ({ input }) => undone.push(input.to) };
  const { harness, agent, run } = await waitingRun(UNDO, undo, { onFailure: "leave", restarts: 3 });
  await driven(harness, agent, run);
  expect(undone).toEqual(["bob", "ada"]);
  const shown = await show(harness.world, run);
  expect(shown).toMatchObject({ status: "failed", attempt: 1, failure: { code: "DeadlineExpired" } });
  expect(shown?.failure?.message).toContain("its effects were undone");
  expect(await ledger(harness.world, run)).toMatchObject([{}, {}, {}, { call: "undo-c2" }, { call: "undo-c1" }]);
});

test("a run that ends in time is not touched by its deadline", async () => {
  const { harness, agent: late } = await waitingRun(UNDO);
  const { mail } = late.tools;
  const agent: Agent = {
    ...late,
    done: [],
    tools: { ...late.tools, ...(mail === undefined ? {} : { mail: { ...mail, approval: "never" } }) },
  };
  const { run } = await beginRun(harness.world, agent, {});
  await driven(harness, agent, run);
  expect(await show(harness.world, run)).toMatchObject({ status: "completed", failure: null });
});

test("a paused run expires too, and compensates in spite of the pause", async () => {
  const undone: string[] = [];
  const undo: Undo<PaymentOrder> = { effect: "keyed", run: ({ input }) => undone.push(input.to) };
  const { harness, agent, run } = await waitingRun(UNDO, undo);
  await harness.advanceUntilSettled(drive(runnerOf(harness.world, agent), payloadOf(harness, run)));
  await sendRequest(harness.world, { run, want: "pause" });
  await driven(harness, agent, run);
  expect({ undone, status: harness.row(run).status }).toEqual({ undone: ["bob", "ada"], status: "failed" });
});

test("a compensation that an operator would have to reconcile ends after its time, and names what stays", async () => {
  const undo: Undo<PaymentOrder> = {
    effect: "unsafe",
    run: () => {
      throw new Error("out of order");
    },
  };
  const { harness, agent, run, from } = await waitingRun(UNDO, undo);
  await driven(harness, agent, run);
  const shown = await show(harness.world, run);
  expect(shown?.failure).toMatchObject({ code: "DeadlineExpired" });
  expect(shown?.failure?.message).toMatch(/these were not undone in time: c1(, c2)?$/);
  expect(harness.clock.now() - from).toBeGreaterThanOrEqual(HOUR + UNDO.withinMs);
  expect(harness.clock.now() - from).toBeLessThan(HOUR + UNDO.withinMs + 10_000);
});

test("the state keeps the deadline as a time, from the start of the run", async () => {
  const { harness, agent, run, from } = await waitingRun(UNDO);
  await harness.advanceUntilSettled(drive(runnerOf(harness.world, agent), payloadOf(harness, run)));
  const { deadline } = await stateOf(harness.world, run);
  expect(deadline).toEqual({ at: from + HOUR, endBy: from + HOUR + 60_000, onExpiry: "undo" });
});
