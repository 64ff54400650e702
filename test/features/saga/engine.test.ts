/** Sagas where something else happens at the same moment: deaths, cancels, answers, and too little time. */
import { expect, test } from "vitest";
import { type Entry, RETRY_GROUP } from "../../../src/protocol/entry.ts";
import type { Agent, Tool, Undo } from "../../../src/ports/agent.ts";
import { decodeJournal } from "../../../src/codec/journal.ts";
import { OutcomeUnknown, check } from "../../../src/index.ts";
import { requestCompensation } from "../../../src/operations/compensate.ts";
import { deliver } from "../../../src/engine/context/inbox.ts";
import { ledger, show } from "../../../src/operations/views.ts";
import { reconcile } from "../../../src/operations/reconcile.ts";
import { toolResultsOf, stateOf } from "../../support/agents/approval-agent.ts";
import { type PaymentOrder, replyWithCalls, sideEffectAgent } from "../../support/agents/side-effect-agent.ts";
import { attemptBeat, beginRun, drive, killableWorld, runnerOf } from "../../support/harness/drive.ts";
import { type Harness, neverSettles, createHarness, flushPromises } from "../../support/harness/harness.ts";
import { wrapTableCall, withTakeovers, beforeCall } from "../../support/harness/chain-steps.ts";
import type { z } from "zod";

const NEVER = [check("never", () => "it never is")];
const ONE = replyWithCalls([["pay", "ada", 5]]);

const payloadOf = (harness: Harness, run: string) => {
  const { born, chain, epoch, agent } = harness.row(run);
  return { run, born, chain, epoch, agent };
};

/** As a chain drives it to its end or to a person, from wherever it is. */
async function driven(harness: Harness, of: { readonly agent: Agent; readonly run: string }): Promise<string> {
  for (let count = 0; count < 20; count += 1) {
    harness.clock.moveTo(Math.max(harness.clock.now(), harness.row(of.run).wakeAt ?? 0));
    const { route } = await harness.advanceUntilSettled(
      drive(runnerOf(harness.world, of.agent), payloadOf(harness, of.run)),
    );
    if (route !== "wait") return route;
  }
  throw new Error("it waits for ever");
}

const triesIn = ({ retry }: Entry): number => Math.floor(retry / RETRY_GROUP);

/** One attempt, whose process is killed as soon as nothing goes on any more. */
async function killed(harness: Harness, of: { readonly agent: Agent; readonly run: string }): Promise<void> {
  const { world, kill } = killableWorld(harness.world);
  const { owner, entry } = harness.row(of.run);
  const payload = payloadOf(harness, of.run);
  // The next try of the entry whose process was killed, or a first one.
  const next = owner === null || entry === null ? null : entry;
  const [from, tries] = next === null ? [payload, 0] : [{ ...payload, epoch: next.epoch }, triesIn(next) + 1];
  attemptBeat(runnerOf(world, of.agent), from, tries).catch(() => undefined);
  await flushPromises();
  kill();
}

test("an undo that kills its process each time ends with its run, which reports the remaining effects", async () => {
  const harness = createHarness();
  const undo: Undo<PaymentOrder> = { effect: "keyed", run: neverSettles };
  const made = sideEffectAgent({ reply: ONE, done: NEVER, pay: { undo } });
  const agent = withTakeovers(made.agent, 3);
  const { run } = await beginRun(harness.world, agent, {});
  for (let count = 0; count < 12 && harness.row(run).status === "running"; count += 1)
    await killed(harness, { agent, run });
  for (let count = 0; count < 12; count += 1) await killed(harness, { agent, run });
  harness.clock.moveTo(harness.row(run).effectsSettleAt);
  await killed(harness, { agent, run });
  expect(await show(harness.world, run)).toMatchObject({ status: "failed", failure: { code: "CrashLoop" } });
  expect(await ledger(harness.world, run)).toMatchObject([
    { call: "c1", status: "succeeded" },
    { call: "undo-c1", status: "unknown" },
  ]);
});

test("an undo that is released while an operator cancels with compensation is not forgotten", async () => {
  const harness = createHarness();
  const undone: string[] = [];
  const undo: Undo<PaymentOrder> = { effect: "keyed", run: ({ input }) => undone.push(input.to) };
  const { agent } = sideEffectAgent({
    reply: replyWithCalls([["pay", "ada", 5]], [["pay", "bob", 7]]),
    done: NEVER,
    pay: { undo },
  });
  const { run } = await beginRun(harness.world, agent, {});
  const isRelease = ({ journal }: { readonly journal: Uint8Array | null }): boolean =>
    decodeJournal(journal).some(({ events }) =>
      events.some((event) => event.kind === "ToolInvoked" && event.call === "undo-c2"),
    );
  const act = () => requestCompensation(harness.world, { run, next: "cancel", by: "ann" });
  const world = beforeCall(harness.world, "commit", act, isRelease);
  await harness.advanceUntilSettled(drive(runnerOf(world, agent), payloadOf(harness, run)));
  await driven(harness, { agent, run });
  expect({ status: harness.row(run).status, undone }).toEqual({ status: "cancelled", undone: ["bob", "ada"] });
});

test("the key of an earlier attempt whose effect was undone is refused to the next attempt", async () => {
  const undo: Undo<PaymentOrder> = { effect: "keyed", run: () => "cancelled" };
  const ended = async (key: Tool<z.ZodType<PaymentOrder>>["key"]) => {
    const harness = createHarness();
    const { agent, done } = sideEffectAgent({
      reply: (conversation) => (conversation.calls.length === 0 ? ONE({ ...conversation, turn: 0 }) : { text: "over" }),
      done: NEVER,
      pay: { undo, key },
      saga: { restarts: 1 },
    });
    const { run } = await beginRun(harness.world, agent, {});
    expect(await driven(harness, { agent, run })).toBe("failed");
    return { keys: done.map((each) => each.key), results: await toolResultsOf(harness, run) };
  };
  const { keys, results } = await ended(({ to }) => `order-${to}`);
  expect(keys).toEqual(["order-ada"]);
  expect(results).toMatchObject([{ outcome: "succeeded" }, { call: "c2", outcome: "failed" }]);
  expect(JSON.stringify(results[1]?.value)).toContain("KeyUsed: call c1 of an earlier attempt used the key order-ada");
  const named = await ended(({ to }, { restart }) => `order-${to}-${restart}`);
  expect(named.keys).toEqual(["order-ada-1", "order-ada-2"]);
});

/** One payment, of which nobody knows what became. */
async function blocked() {
  const harness = createHarness();
  const undone: string[] = [];
  const undo: Undo<PaymentOrder> = { effect: "keyed", run: ({ input }) => undone.push(input.to) };
  const run = (): never => {
    throw new OutcomeUnknown("the line went dead");
  };
  const { agent } = sideEffectAgent({ reply: ONE, pay: { effect: "unsafe", undo }, run });
  const payload = await beginRun(harness.world, agent, {});
  expect(await driven(harness, { agent, run: payload.run })).toBe("park");
  return { harness, agent, undone, run: payload.run };
}

test("a cancel with compensation before a restart request wins", async () => {
  const { harness, agent, undone, run } = await blocked();
  expect(await requestCompensation(harness.world, { run, next: "cancel", by: "ann" })).toBe("accepted");
  // Both looked before either of them wrote.
  const body = { kind: "compensate", next: "restart", by: "bob" } as const;
  const message = { id: "restart#1", sentAt: harness.clock.now() + 1, body };
  expect(await deliver(harness.world, { run, born: harness.row(run).born, message })).toBe("delivered");
  await driven(harness, { agent, run });
  expect({ status: harness.row(run).status, undone }).toEqual({ status: "cancelled", undone: ["ada"] });
  expect(await stateOf(harness.world, run)).toMatchObject({ restart: 1 });
});

test("an answer that is applied before its sender polls again was not too late", async () => {
  const { harness, agent, run } = await blocked();
  const world = wrapTableCall(harness.world, "deliver", (made) => async (asked) => {
    const outcome = await made(asked);
    await harness.advanceUntilSettled(drive(runnerOf(harness.world, agent), payloadOf(harness, run)));
    return outcome;
  });
  const said = { run, call: "c1", as: "compensate", result: null, by: "ann", note: null } as const;
  expect(await reconcile(world, said)).toEqual({ kind: "accepted" });
});

test("an undo without time left is released again, and does not count as left in place", async () => {
  const harness = createHarness();
  let runs = 0;
  const undo: Undo<PaymentOrder> = {
    effect: "probed",
    timeoutMs: 2_000,
    probe: () => {
      harness.clock.moveTo(harness.clock.now() + 1_900);
      return { kind: "absent" };
    },
    run: () => {
      runs += 1;
      return runs === 1 ? neverSettles() : "cancelled";
    },
  };
  const { agent } = sideEffectAgent({ reply: ONE, done: NEVER, pay: { undo } });
  const { run } = await beginRun(harness.world, agent, {});
  for (let count = 0; count < 8 && runs === 0; count += 1) await killed(harness, { agent, run });
  expect(runs).toBe(1);
  expect(await driven(harness, { agent, run })).toBe("failed");
  expect(runs).toBe(2);
  expect(await ledger(harness.world, run)).toMatchObject([{ status: "compensated" }, { status: "succeeded" }]);
});
