/** The deadline of a run is a time in its state: whatever dies or is deployed, no process sets another one. */
import { expect, test } from "vitest";
import { type Entry, RETRY_GROUP } from "../../src/protocol/entry.ts";
import type { Agent, DeadlinePolicy, Undo } from "../../src/ports/agent.ts";
import { check } from "../../src/index.ts";
import { ledger, show } from "../../src/operations/views.ts";
import { type PaymentOrder, replyWithCalls, sideEffectAgent } from "../support/agents/side-effect-agent.ts";
import { attemptBeat, beginRun, drive, killableWorld, runnerOf } from "../support/harness/drive.ts";
import { type Harness, createHarness, neverSettles, flushPromises } from "../support/harness/harness.ts";

const HOUR = 3_600_000;
const DEADLINE: DeadlinePolicy = { afterMs: HOUR, withinMs: 60_000, onExpiry: "undo" };

const payloadOf = (harness: Harness, run: string) => {
  const { born, chain, epoch, agent } = harness.row(run);
  return { run, born, chain, epoch, agent };
};

const beats = (harness: Harness, agent: Agent, run: string) =>
  harness.advanceUntilSettled(drive(runnerOf(harness.world, agent), payloadOf(harness, run)));

/** Drives the run until it ends. The clock moves to each time at which the run wakes by itself. */
async function driven(harness: Harness, agent: Agent, run: string): Promise<void> {
  for (let count = 0; count < 30 && !harness.row(run).endNotified; count += 1) {
    harness.clock.moveTo(Math.max(harness.clock.now(), harness.row(run).wakeAt ?? 0));
    await beats(harness, agent, run);
  }
}

const triesIn = ({ retry }: Entry): number => Math.floor(retry / RETRY_GROUP);

/** One attempt, whose process is killed as soon as nothing goes on any more. */
async function killed(harness: Harness, agent: Agent, run: string): Promise<void> {
  const { world, kill } = killableWorld(harness.world);
  const { owner, entry } = harness.row(run);
  const payload = payloadOf(harness, run);
  const next = owner === null || entry === null ? null : entry;
  const [from, tries] = next === null ? [payload, 0] : [{ ...payload, epoch: next.epoch }, triesIn(next) + 1];
  attemptBeat(runnerOf(world, agent), from, tries).catch(() => undefined);
  await flushPromises();
  kill();
}

/** Two payments, and a mail that waits for an approval. */
function paying(undo: Undo<PaymentOrder>["run"]): Agent {
  const { agent } = sideEffectAgent({
    reply: replyWithCalls([["pay", "ada", 5]], [["pay", "bob", 7]], [["mail", "ada", 1]]),
    done: [check("never", () => "it never is")],
    pay: { undo: { effect: "keyed", run: undo } },
    mail: { approval: "always" },
  });
  return { ...agent, deadline: DEADLINE };
}

test("schedule 134: a process resumes a run, and its version of the agent allows more time; the deadline of the start counts", async () => {
  const harness = createHarness();
  const undone: string[] = [];
  const agent = paying(({ input }) => undone.push(input.to));
  const { run } = await beginRun(harness.world, agent, {});
  const from = harness.clock.now();
  await beats(harness, agent, run);
  harness.clock.moveTo(from + HOUR / 2);
  const later: Agent = { ...agent, version: "2", deadline: { ...DEADLINE, afterMs: 10 * HOUR } };
  await driven(harness, later, run);
  expect(await show(harness.world, run)).toMatchObject({ status: "failed", failure: { code: "DeadlineExpired" } });
  expect({ undone, now: harness.clock.now() }).toEqual({ undone: ["bob", "ada"], now: from + HOUR });
});

test("schedule 135: a process dies in the compensation of an expired run; its successor gets what is left of the time, and no more", async () => {
  const ends = async (lateMs: number) => {
    const harness = createHarness();
    const keys: string[] = [];
    let isDead = false;
    const agent = paying(({ key }) => {
      keys.push(key);
      return isDead ? "cancelled" : neverSettles();
    });
    const { run } = await beginRun(harness.world, agent, {});
    const from = harness.clock.now();
    await beats(harness, agent, run);
    harness.clock.moveTo(from + HOUR);
    for (let count = 0; count < 10 && keys.length === 0; count += 1) await killed(harness, agent, run);
    isDead = true;
    harness.clock.moveTo(from + HOUR + lateMs);
    await killed(harness, agent, run);
    await driven(harness, agent, run);
    return { keys, shown: await show(harness.world, run), ledger: await ledger(harness.world, run) };
  };
  const inTime = await ends(10_000);
  expect(inTime.shown?.failure?.message).toContain("its effects were undone");
  // The undo that died ran again with its key, then the other one.
  expect(inTime.keys).toHaveLength(3);
  expect(new Set(inTime.keys).size).toBe(2);
  const late = await ends(DEADLINE.withinMs);
  expect(late.shown?.failure?.message).toMatch(/these were not undone in time: c1, c2$/);
  expect(late.keys).toHaveLength(1);
  expect(late.ledger?.at(-1)).toMatchObject({ call: "undo-c2", status: "unknown" });
});
