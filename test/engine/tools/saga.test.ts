/** Sagas where something else happens at the same moment: deaths, cancels, answers, and too little time. */
import { expect, test } from "vitest";
import { type Entry, RETRY_GROUP } from "../../../src/protocol/entry.ts";
import type { Agent, Tool, Undo } from "../../../src/ports/agent.ts";
import { decodeJournal } from "../../../src/codec/snapshot.ts";
import { OutcomeUnknown, check } from "../../../src/index.ts";
import { requestCompensation } from "../../../src/operations/compensate.ts";
import { deliver } from "../../../src/engine/context/inbox.ts";
import { ledger, show } from "../../../src/operations/views.ts";
import { reconcile } from "../../../src/operations/reconcile.ts";
import { resultsOf, stateOf } from "../../support/asking.ts";
import { type Order, asks, deeds } from "../../support/deeds.ts";
import { attempt, begin, drive, mortal, runnerOf } from "../../support/drive.ts";
import { type Stage, beforeCommit, never, passing, rowOf, stage } from "../../support/stage.ts";
import { meeting, rest, withTakeovers } from "../../support/steps.ts";
import type { z } from "zod";

const NEVER = [check("never", () => "it never is")];
const ONE = asks([["pay", "ada", 5]]);

const payloadOf = (on: Stage, run: string) => {
  const { born, chain, epoch, agent } = rowOf(on, run);
  return { run, born, chain, epoch, agent };
};

/** As a chain drives it to its end or to a person, from wherever it is. */
async function driven(on: Stage, of: { readonly agent: Agent; readonly run: string }): Promise<string> {
  for (let count = 0; count < 20; count += 1) {
    on.clock.moveTo(Math.max(on.clock.now(), rowOf(on, of.run).wakeAt ?? 0));
    const { route } = await passing(on, drive(runnerOf(on.world, of.agent), payloadOf(on, of.run)));
    if (route !== "wait") return route;
  }
  throw new Error("it waits for ever");
}

const triesIn = ({ retry }: Entry): number => Math.floor(retry / RETRY_GROUP);

/** One attempt, whose process is killed as soon as nothing goes on any more. */
async function killed(on: Stage, of: { readonly agent: Agent; readonly run: string }): Promise<void> {
  const { world, kill } = mortal(on.world);
  const { owner, entry } = rowOf(on, of.run);
  const payload = payloadOf(on, of.run);
  // The next try of the entry whose process was killed, or a first one.
  const next = owner === null || entry === null ? null : entry;
  const [from, tries] = next === null ? [payload, 0] : [{ ...payload, epoch: next.epoch }, triesIn(next) + 1];
  attempt(runnerOf(world, of.agent), from, tries).catch(() => undefined);
  await rest();
  kill();
}

test("an undo that kills its process each time ends with its run, which says what stands", async () => {
  const on = stage();
  const undo: Undo<Order> = { effect: "keyed", run: never };
  const made = deeds({ reply: ONE, done: NEVER, pay: { undo } });
  const agent = withTakeovers(made.agent, 3);
  const { run } = await begin(on.world, agent, {});
  for (let count = 0; count < 12 && rowOf(on, run).status === "running"; count += 1) await killed(on, { agent, run });
  for (let count = 0; count < 12; count += 1) await killed(on, { agent, run });
  on.clock.moveTo(rowOf(on, run).effectsSettleAt);
  await killed(on, { agent, run });
  expect(await show(on.world, run)).toMatchObject({ status: "failed", failure: { code: "CrashLoop" } });
  expect(await ledger(on.world, run)).toMatchObject([
    { call: "c1", status: "succeeded" },
    { call: "undo-c1", status: "unknown" },
  ]);
});

test("an undo that is released when somebody cancels with compensation is not forgotten", async () => {
  const on = stage();
  const undone: string[] = [];
  const undo: Undo<Order> = { effect: "keyed", run: ({ input }) => undone.push(input.to) };
  const { agent } = deeds({ reply: asks([["pay", "ada", 5]], [["pay", "bob", 7]]), done: NEVER, pay: { undo } });
  const { run } = await begin(on.world, agent, {});
  const isRelease = ({ journal }: { readonly journal: Uint8Array | null }): boolean =>
    decodeJournal(journal).some(({ events }) =>
      events.some((event) => event.kind === "ToolInvoked" && event.call === "undo-c2"),
    );
  const act = () => requestCompensation(on.world, { run, next: "cancel", by: "ann" });
  const world = beforeCommit(on, { when: isRelease, act });
  await passing(on, drive(runnerOf(world, agent), payloadOf(on, run)));
  await driven(on, { agent, run });
  expect([rowOf(on, run).status, undone]).toEqual(["cancelled", ["bob", "ada"]]);
});

test("the key of an earlier attempt, whose deed was undone, is refused to the next one", async () => {
  const undo: Undo<Order> = { effect: "keyed", run: () => "cancelled" };
  const ended = async (key: Tool<z.ZodType<Order>>["key"]) => {
    const on = stage();
    const { agent, done } = deeds({
      reply: (conversation) => (conversation.calls.length === 0 ? ONE({ ...conversation, turn: 0 }) : { text: "over" }),
      done: NEVER,
      pay: { undo, key },
      saga: { restarts: 1 },
    });
    const { run } = await begin(on.world, agent, {});
    expect(await driven(on, { agent, run })).toBe("failed");
    return { keys: done.map((each) => each.key), results: await resultsOf(on, run) };
  };
  const { keys, results } = await ended(({ to }) => `order-${to}`);
  expect(keys).toEqual(["order-ada"]);
  expect(results).toMatchObject([{ outcome: "succeeded" }, { call: "c2", outcome: "failed" }]);
  expect(JSON.stringify(results[1]?.value)).toContain("KeyUsed: call c1 of an earlier attempt used the key order-ada");
  const named = await ended(({ to }, { attempt }) => `order-${to}-${attempt}`);
  expect(named.keys).toEqual(["order-ada-1", "order-ada-2"]);
});

/** One payment, of which nobody knows what became. */
async function blocked() {
  const on = stage();
  const undone: string[] = [];
  const undo: Undo<Order> = { effect: "keyed", run: ({ input }) => undone.push(input.to) };
  const run = (): never => {
    throw new OutcomeUnknown("the line went dead");
  };
  const { agent } = deeds({ reply: ONE, pay: { effect: "unsafe", undo }, run });
  const payload = await begin(on.world, agent, {});
  expect(await driven(on, { agent, run: payload.run })).toBe("park");
  return { on, agent, undone, run: payload.run };
}

test("whoever cancels a run and wants it undone before another wants it to begin again gets that", async () => {
  const { on, agent, undone, run } = await blocked();
  expect(await requestCompensation(on.world, { run, next: "cancel", by: "ann" })).toBe("accepted");
  // Both looked before either of them wrote.
  const body = { kind: "compensate", next: "restart", by: "bob" } as const;
  const message = { id: "restart#1", sentAt: on.clock.now() + 1, body };
  expect(await deliver(on.world, { run, born: rowOf(on, run).born, message })).toBe("delivered");
  await driven(on, { agent, run });
  expect([rowOf(on, run).status, undone]).toEqual(["cancelled", ["ada"]]);
  expect(await stateOf(on.world, run)).toMatchObject({ attempt: 1 });
});

test("an answer that is applied before its sender looks again was not too late", async () => {
  const { on, agent, run } = await blocked();
  const world = meeting(on.world, "deliver", (made) => async (asked) => {
    const outcome = await made(asked);
    await passing(on, drive(runnerOf(on.world, agent), payloadOf(on, run)));
    return outcome;
  });
  const said = { run, call: "c1", as: "compensate", result: null, by: "ann", note: null } as const;
  expect(await reconcile(world, said)).toEqual({ kind: "accepted" });
});

test("an undo for which no time is left is released again, and is not taken for left as it is", async () => {
  const on = stage();
  let runs = 0;
  const undo: Undo<Order> = {
    effect: "probed",
    timeoutMs: 2_000,
    probe: () => {
      on.clock.moveTo(on.clock.now() + 1_900);
      return { kind: "absent" };
    },
    run: () => {
      runs += 1;
      return runs === 1 ? never() : "cancelled";
    },
  };
  const { agent } = deeds({ reply: ONE, done: NEVER, pay: { undo } });
  const { run } = await begin(on.world, agent, {});
  for (let count = 0; count < 8 && runs === 0; count += 1) await killed(on, { agent, run });
  expect(runs).toBe(1);
  expect(await driven(on, { agent, run })).toBe("failed");
  expect(runs).toBe(2);
  expect(await ledger(on.world, run)).toMatchObject([{ status: "compensated" }, { status: "succeeded" }]);
});
