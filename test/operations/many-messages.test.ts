/** Two thousand messages at once: each is absorbed once, in bounded commits, and costs no more than one message would. */
import { describe, expect, test } from "vitest";
import { canonical } from "../../src/codec/canonical.ts";
import { decodeSnapshot } from "../../src/codec/snapshot.ts";
import { SIZES } from "../../src/codec/limits.ts";
import type { Conversation } from "../../src/index.ts";
import type { SnapshotPointer } from "../../src/protocol/row.ts";
import { type TimelineEntry, timeline, transcript } from "../../src/operations/views.ts";
import { sendRequest } from "../../src/engine/loop/request.ts";
import { send } from "../../src/operations/steer.ts";
import { begin } from "../support/drive.ts";
import { type Room, isTold, room, supervise } from "../support/supervise.ts";
import { OVER, actor, beforeCommit, rowOf } from "../support/stage.ts";

const MANY = 2_000;
const TEXT = "a kilobyte of words ".repeat(50);

async function flood(on: Room, run: string, count = MANY): Promise<void> {
  for (let index = 0; index < count; index += 1) {
    const id = String(index).padStart(4, "0");
    expect(await send(on.world, { run, text: `${id} ${TEXT}`, by: "ann", id })).toEqual({ kind: "delivered" });
    on.clock.moveTo(on.clock.now() + 1);
  }
}

/** How often the model was asked, and how many words of the flood it saw each time. */
function listening() {
  const heard: number[] = [];
  const reply = ({ messages }: Conversation) => {
    heard.push(messages.filter(({ text }) => text.includes(TEXT)).length);
    return OVER;
  };
  return { heard, reply };
}

const takenOf = (events: readonly TimelineEntry[]): readonly string[] =>
  events.flatMap((event) => (event.kind === "MessageAbsorbed" && event.stage === "taken" ? [event.message] : []));

/** What the run and all of its snapshots come to. */
async function mustBeWhole(on: Room, run: string, count = MANY): Promise<void> {
  const events = (await timeline(on.world, { run, after: 0 })) ?? [];
  const ids = Array.from({ length: count }, (_, index) => `user#${String(index).padStart(4, "0")}`);
  expect(takenOf(events)).toEqual(ids);
  const heard = ((await transcript(on.world, run)) ?? []).filter(({ source }) => source === "user:ann");
  expect(heard).toHaveLength(count);
  // A commit for each batch, the batch that is cleared with it, and what the run did besides.
  expect(rowOf(on, run).version).toBeLessThanOrEqual(Math.ceil(count / SIZES.absorbMax) + 10);
  const perCommit = Map.groupBy(
    events.filter((event) => event.kind === "MessageAbsorbed" && event.stage === "taken"),
    ({ version }) => version,
  );
  expect(Math.max(...[...perCommit.values()].map((each) => each.length))).toBeLessThan(2 * SIZES.absorbMax);
  expect(Math.max(...stateSizes(on, run))).toBeLessThan(SIZES.stateBytesMax);
}

/** The state of every snapshot that was committed, back to the first one. */
function stateSizes(on: Room, run: string): readonly number[] {
  const sizes: number[] = [];
  for (let pointer: SnapshotPointer | null = rowOf(on, run).snapshot; pointer !== null;) {
    const { state, previous } = decodeSnapshot(pointer, on.world.store.objects.get(pointer.key) as Uint8Array);
    sizes.push(Buffer.byteLength(canonical(state), "utf8"));
    pointer = previous;
  }
  return sizes;
}

test("to a queued run are all read before its model is asked, once", async () => {
  const on = room();
  const { heard, reply } = listening();
  const agent = actor({ reply });
  const { run } = await begin(on.world, agent, {});
  await flood(on, run);
  expect(await supervise(on, { agent, run, until: isTold })).toMatchObject({ status: "completed", takeovers: 0 });
  expect(heard).toEqual([MANY]);
  expect(rowOf(on, run).spent.beats).toBe(1);
  await mustBeWhole(on, run);
});

test("to a paused run that is then cancelled are absorbed by its end", async () => {
  const on = room();
  const { heard, reply } = listening();
  const agent = actor({ reply });
  const { run } = await begin(on.world, agent, {});
  await sendRequest(on.world, { run, want: "pause" });
  await supervise(on, { agent, run, until: ({ park }) => park !== null });
  await flood(on, run);
  expect(await supervise(on, { agent, run, until: ({ park }) => park !== null })).toMatchObject({ status: "paused" });
  expect((await transcript(on.world, run))?.length).toBe(1);
  await sendRequest(on.world, { run, want: "cancel" });
  expect(await supervise(on, { agent, run, until: isTold })).toMatchObject({ status: "cancelled", takeovers: 0 });
  expect(heard).toEqual([]);
  await mustBeWhole(on, run);
});

test("to a paused run that is then resumed are all read before its model is asked", async () => {
  const on = room();
  const { heard, reply } = listening();
  const agent = actor({ reply });
  const { run } = await begin(on.world, agent, {});
  await sendRequest(on.world, { run, want: "pause" });
  await supervise(on, { agent, run, until: ({ park }) => park !== null });
  await flood(on, run, 200);
  await sendRequest(on.world, { run, want: "resume" });
  expect(await supervise(on, { agent, run, until: isTold })).toMatchObject({ status: "completed" });
  expect(heard).toEqual([200]);
  await mustBeWhole(on, run, 200);
});

test("to a run that is about to complete are heard first, and cost one more reply", async () => {
  const on = room();
  const { heard, reply } = listening();
  const agent = actor({ reply });
  const { run } = await begin(on.world, agent, {});
  const world = beforeCommit(on, { when: ({ unlessWoken }) => unlessWoken, act: () => flood(on, run) });
  expect(await supervise(on, { agent, run, world, until: isTold })).toMatchObject({ status: "completed" });
  expect(heard).toEqual([0, MANY]);
  expect(rowOf(on, run).spent.beats).toBe(2);
  await mustBeWhole(on, run);
});

describe("that take longer to read than one beat may last", () => {
  /** A store in which every commit takes a while, and where nobody commits who would have been killed by then. */
  const slow = (on: Room) => {
    const commit: typeof on.world.table.commit = (of) => {
      on.clock.moveTo(on.clock.now() + 100);
      expect(on.clock.now()).toBeLessThan(rowOf(on, of.run).leaseUntil ?? 0);
      return on.world.table.commit(of);
    };
    return { ...on.world, table: { ...on.world.table, commit } };
  };

  test("are read by several beats, and the model is asked when there is time for it", async () => {
    const on = room();
    const { heard, reply } = listening();
    const agent = actor({ reply });
    const { run } = await begin(on.world, agent, {});
    await flood(on, run);
    const row = await supervise(on, { agent, run, world: slow(on), until: isTold });
    expect(row).toMatchObject({ status: "completed", takeovers: 0 });
    expect(heard).toEqual([MANY]);
    // About a dozen commits fit into one.
    expect(row.epoch).toBeGreaterThan(3);
    expect(row.epoch).toBeLessThan(20);
  });

  test("are absorbed by an end that several beats work on, none of which outlives its time", async () => {
    const on = room();
    const agent = actor({ reply: () => OVER });
    const { run } = await begin(on.world, agent, {});
    await sendRequest(on.world, { run, want: "pause" });
    await supervise(on, { agent, run, until: ({ park }) => park !== null });
    await flood(on, run);
    await sendRequest(on.world, { run, want: "cancel" });
    const row = await supervise(on, { agent, run, world: slow(on), until: isTold });
    expect(row).toMatchObject({ status: "cancelled", takeovers: 0 });
    expect(row.epoch).toBeGreaterThan(2);
    await mustBeWhole(on, run);
  });
});
