/** What a model call writes to the delta log: only for a reader, at most once a second, and never at the run's cost. */
import { openDeltaStream } from "../../../src/features/live-text/delta-stream.ts";
import { describe, expect, test } from "vitest";
import { DELTAS, type Delta, type DeltaLog } from "../../../src/ports/delta-log.ts";
import { StoreUnreachable, type World } from "../../../src/ports/world.ts";
import { AT } from "../../support/states/states-and-events.ts";
import { neverSettles, flushPromises } from "../../support/harness/harness.ts";
import { ShownText, createStreamedRun } from "../../support/runs/streamed-run.ts";

/** The world with a delta log that the test observes or bends. */
function bent(world: World, bend: Partial<DeltaLog> = {}) {
  const calls: { readonly name: string; readonly at: number; readonly delta?: Delta }[] = [];
  const log: DeltaLog = { ...world.deltas, ...bend };
  const deltas: DeltaLog = {
    ...log,
    attachedUntil: (of) => {
      calls.push({ name: "attachedUntil", at: world.clock.now() });
      return log.attachedUntil(of);
    },
    append: (of, delta) => {
      calls.push({ name: "append", at: world.clock.now(), delta });
      return log.append(of, delta);
    },
  };
  const appends = () => calls.filter(({ name }) => name === "append");
  return { world: { ...world, deltas }, calls, appends };
}

const away = (): Promise<never> => Promise.reject(new StoreUnreachable("the log is away"));

describe("a run without a reader", () => {
  test("reads one marker for each model call, writes nothing, and asks its model for whole replies", async () => {
    const it = await createStreamedRun({ isRead: false });
    const { world, calls } = bent(it.harness.world);
    await { ...it.harness, world: { ...it.harness.world, deltas: world.deltas } }.runUntilIdle(it.agent);
    expect(it.harness.row(it.run)).toMatchObject({ status: "completed" });
    expect(calls).toEqual([{ name: "attachedUntil", at: AT }]);
    expect(it.counts).toEqual({ streamed: 0, whole: 1 });
  });
});

describe("a run with a reader", () => {
  test("writes at most once a second, what has come since the last write", async () => {
    const it = await createStreamedRun();
    const { world, appends } = bent(it.harness.world);
    const { call, end } = await it.begin(world);
    const { clock } = it.harness;
    for (let tenth = 1; tenth <= 100; tenth += 1) {
      call.say(`${tenth} `);
      await flushPromises();
      clock.moveTo(AT + tenth * 100);
      await flushPromises();
    }
    expect(appends().map(({ at }) => at - AT)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map((second) => second * 1_000));
    expect(appends()[0]?.delta).toEqual({
      ...{ epoch: 1, version: 0, seq: 1, at: AT + 1_000 },
      parts: [{ kind: "text", index: 0, text: "1 2 3 4 5 6 7 8 9 10 " }],
    });
    call.finish();
    await end();
    await it.second(5);
    expect(appends()).toHaveLength(10);
  });

  test("writes nothing for a call that is over within a second, and nothing while nothing is said", async () => {
    const it = await createStreamedRun();
    const { world, appends } = bent(it.harness.world);
    const { call, end } = await it.begin(world);
    await it.second(5);
    call.say("quick words ");
    call.finish();
    await end();
    await it.second(5);
    expect(appends()).toEqual([]);
    expect(it.counts).toEqual({ streamed: 1, whole: 0 });
  });

  test("stops to write once its reader is gone, and goes on while the reader comes again", async () => {
    const it = await createStreamedRun();
    const { world, appends } = bent(it.harness.world);
    const { call, end } = await it.begin(world);
    const shown = new ShownText();
    for (let second = 1; second <= 100; second += 1) {
      call.say(`${second} `);
      await it.second();
      if (second === 20) await it.read(shown);
    }
    // The reader came once more, after 20 seconds, for 30 seconds.
    expect(appends()).toHaveLength(49);
    call.finish();
    await end();
  });

  test("streams the first part of a long reply, says that it is cut, and gives the rest with the reply", async () => {
    const it = await createStreamedRun();
    const { world, appends } = bent(it.harness.world);
    const { call, end } = await it.begin(world);
    const shown = new ShownText();
    for (let piece = 0; piece < 100; piece += 1) call.say("a word ".repeat(200));
    await it.second(3);
    await it.read(shown);
    expect(appends().map(({ delta }) => delta?.isCut)).toEqual([true]);
    expect(shown.open.length).toBeGreaterThan(DELTAS.stepCharactersMax - 10);
    expect(shown.open.length).toBeLessThanOrEqual(DELTAS.stepCharactersMax);
    call.finish();
    await end();
    await it.read(shown);
    expect(shown.replies[0]).toHaveLength(7 * 200 * 100);
  });

  test("gives a reader that reconnects what it lacks, and nothing twice", async () => {
    const it = await createStreamedRun();
    const { call, end } = await it.begin();
    const [always, again] = [new ShownText(), new ShownText()];
    for (let second = 1; second <= 9; second += 1) {
      call.say(`${second} `);
      await it.second();
      await it.read(always);
      if (second % 4 === 0) await it.read(again);
    }
    await it.read(again);
    expect(again).toMatchObject({ open: "1 2 3 4 5 6 7 8 9 ", deltas: 9 });
    expect(again).toEqual(always);
    call.finish();
    await end();
    for (const reader of [again, always]) await it.read(reader);
    expect(again).toEqual(always);
    expect(again).toMatchObject({ open: "", replies: ["1 2 3 4 5 6 7 8 9 "], resets: [] });
  });

  test("wakes a reader that waits, when the model says more", async () => {
    const it = await createStreamedRun();
    const { call, end } = await it.begin();
    const shown = new ShownText();
    call.say("hello ");
    const page = it.read(shown, 20);
    await it.second(2);
    expect((await page).live?.deltas).toHaveLength(1);
    call.finish();
    await end();
  });
});

describe("a delta log that fails changes nothing of the run:", () => {
  const thrown = (): never => {
    throw new Error("the adapter has a bug");
  };
  test.each<[what: string, bend: Partial<DeltaLog>, streamed: number]>([
    ["it is away", { attachedUntil: away, append: away }, 0],
    ["it never answers", { attachedUntil: neverSettles, append: neverSettles }, 0],
    ["it is away for writes", { append: away }, 1],
    ["it never answers a write", { append: neverSettles }, 1],
    ["it throws at a write", { append: thrown }, 1],
  ])("%s", async (_, bend, streamed) => {
    const it = await createStreamedRun();
    const { world, appends } = bent(it.harness.world, bend);
    if (streamed === 0) {
      await { ...it.harness, world: { ...it.harness.world, deltas: world.deltas } }.runUntilIdle(it.agent);
    } else {
      const { call, end } = await it.begin(world);
      for (let second = 1; second <= 9; second += 1) {
        call.say(`${second} `);
        await it.second();
      }
      call.finish();
      await end();
      expect(appends().length).toBeLessThanOrEqual(DELTAS.failuresMax);
    }
    expect(it.harness.row(it.run)).toMatchObject({ status: "completed", takeovers: 0 });
    expect(it.counts.streamed).toBe(streamed);
  });

  test("a write that failed is sent again as it was, with its number", async () => {
    const it = await createStreamedRun();
    let count = 0;
    const append: DeltaLog["append"] = (of, delta) => {
      count += 1;
      return count === 2 ? away() : it.harness.world.deltas.append(of, delta);
    };
    const { world, appends } = bent(it.harness.world, { append });
    const { call, end } = await it.begin(world);
    for (const word of ["one ", "two ", "three "]) {
      call.say(word);
      await it.second();
    }
    await it.second();
    const shown = new ShownText();
    await it.read(shown);
    expect(appends().map(({ delta }) => delta?.seq)).toEqual([1, 2, 2, 3]);
    expect(shown.open).toBe("one two three ");
    call.finish();
    await end();
  });
});

test("holds back the end of a part with which the model may go on after a later part has begun", async () => {
  const { harness, run, second } = await createStreamedRun();
  const { world } = harness;
  const row = harness.row(run);
  const stream = await openDeltaStream(world, row);
  stream?.add({ kind: "text", index: 0, text: "the key is sk-proj-ABC" });
  stream?.add({ kind: "call", index: 1, tool: "pay", text: '{"sum":1}' });
  stream?.add({ kind: "call", index: 1, tool: "pay", text: "", isLast: true });
  await second();
  const after = { epoch: 0, version: 0, seq: 0 };
  const [delta] = await world.deltas.read({ run, born: row.born, after, limit: 10, now: world.clock.now() });
  expect(delta?.parts.map(({ text }) => text)).toEqual(["the key is ", '{"sum":1}']);
  stream?.close();
});
