/** Two thousand messages at once: each is absorbed once, in bounded commits, and costs no more than one message would. */
import { describe, expect, test } from "vitest";
import { canonical } from "../../src/codec/canonical.ts";
import { decodeSnapshot } from "../../src/codec/snapshot.ts";
import { SIZES } from "../../src/codec/limits.ts";
import type { Conversation } from "../../src/index.ts";
import type { SnapshotPointer } from "../../src/protocol/row.ts";
import { COMMIT } from "../../src/protocol/row-commit.ts";
import { type TimelineEntry, timeline, transcript } from "../../src/operations/views.ts";
import { sendRequest } from "../../src/engine/loop/request.ts";
import { send } from "../../src/operations/steer.ts";
import { type DecisionCalls, withCalls } from "../../src/testing/decisions.ts";
import { beginRun } from "../support/harness/drive.ts";
import { FINAL_REPLY, scriptedAgent, type Harness, createSupervisedHarness } from "../support/harness/harness.ts";
import { beforeCall } from "../support/harness/chain-steps.ts";

const MANY = 2_000;
const TEXT = "a kilobyte of words ".repeat(50);

async function flood(harness: Harness, run: string, count = MANY): Promise<void> {
  for (let index = 0; index < count; index += 1) {
    const id = String(index).padStart(4, "0");
    expect(await send(harness.world, { run, text: `${id} ${TEXT}`, by: "ann", id })).toEqual({ kind: "delivered" });
    harness.clock.moveTo(harness.clock.now() + 1);
  }
}

/** How often the model was asked, and how many words of the flood it saw each time. */
function listening() {
  const heard: number[] = [];
  const reply = ({ messages }: Conversation) => {
    heard.push(messages.filter(({ text }) => text.includes(TEXT)).length);
    return FINAL_REPLY;
  };
  return { heard, reply };
}

const takenOf = (events: readonly TimelineEntry[]): readonly string[] =>
  events.flatMap((event) => (event.kind === "MessageAbsorbed" && event.stage === "taken" ? [event.message] : []));

/** What the run and all of its snapshots come to. */
async function mustBeWhole(harness: Harness, run: string, count = MANY): Promise<void> {
  const events = (await timeline(harness.world, { run, after: 0 })) ?? [];
  const ids = Array.from({ length: count }, (_, index) => `user#${String(index).padStart(4, "0")}`);
  expect(takenOf(events)).toEqual(ids);
  const heard = ((await transcript(harness.world, run)) ?? []).filter(({ source }) => source === "user:ann");
  expect(heard).toHaveLength(count);
  // A commit for each batch, the batch that is cleared with it, and what the run did besides.
  expect(harness.row(run).version).toBeLessThanOrEqual(Math.ceil(count / SIZES.absorbMax) + 10);
  const perCommit = Map.groupBy(
    events.filter((event) => event.kind === "MessageAbsorbed" && event.stage === "taken"),
    ({ version }) => version,
  );
  expect(Math.max(...[...perCommit.values()].map((each) => each.length))).toBeLessThan(2 * SIZES.absorbMax);
  expect(Math.max(...stateSizes(harness, run))).toBeLessThan(SIZES.stateBytesMax);
}

/** The state of every snapshot that was committed, back to the first one. */
function stateSizes(harness: Harness, run: string): readonly number[] {
  const sizes: number[] = [];
  for (let pointer: SnapshotPointer | null = harness.row(run).snapshot; pointer !== null;) {
    const { state, previous } = decodeSnapshot(pointer, harness.world.store.objects.get(pointer.key) as Uint8Array);
    sizes.push(Buffer.byteLength(canonical(state), "utf8"));
    pointer = previous;
  }
  return sizes;
}

test("messages to a queued run are all read once before its model is called", async () => {
  const harness = createSupervisedHarness();
  const { heard, reply } = listening();
  const agent = scriptedAgent({ reply });
  const { run } = await beginRun(harness.world, agent, {});
  await flood(harness, run);
  expect(await harness.driveUntil({ agent, run, until: ({ endNotified }) => endNotified })).toMatchObject({
    status: "completed",
    takeovers: 0,
  });
  expect(heard).toEqual([MANY]);
  expect(harness.row(run).spent.beats).toBe(1);
  await mustBeWhole(harness, run);
});

test("messages to a paused run that is then cancelled are absorbed by its end", async () => {
  const harness = createSupervisedHarness();
  const { heard, reply } = listening();
  const agent = scriptedAgent({ reply });
  const { run } = await beginRun(harness.world, agent, {});
  await sendRequest(harness.world, { run, want: "pause" });
  await harness.driveUntil({ agent, run, until: ({ park }) => park !== null });
  await flood(harness, run);
  expect(await harness.driveUntil({ agent, run, until: ({ park }) => park !== null })).toMatchObject({
    status: "paused",
  });
  expect((await transcript(harness.world, run))?.length).toBe(1);
  await sendRequest(harness.world, { run, want: "cancel" });
  expect(await harness.driveUntil({ agent, run, until: ({ endNotified }) => endNotified })).toMatchObject({
    status: "cancelled",
    takeovers: 0,
  });
  expect(heard).toEqual([]);
  await mustBeWhole(harness, run);
});

test("messages to a paused run that is then resumed are all read before its model is called", async () => {
  const harness = createSupervisedHarness();
  const { heard, reply } = listening();
  const agent = scriptedAgent({ reply });
  const { run } = await beginRun(harness.world, agent, {});
  await sendRequest(harness.world, { run, want: "pause" });
  await harness.driveUntil({ agent, run, until: ({ park }) => park !== null });
  await flood(harness, run, 200);
  await sendRequest(harness.world, { run, want: "resume" });
  expect(await harness.driveUntil({ agent, run, until: ({ endNotified }) => endNotified })).toMatchObject({
    status: "completed",
  });
  expect(heard).toEqual([200]);
  await mustBeWhole(harness, run, 200);
});

test("messages to a run that is about to complete are read first, and cost one more reply", async () => {
  const harness = createSupervisedHarness();
  const { heard, reply } = listening();
  const agent = scriptedAgent({ reply });
  const { run } = await beginRun(harness.world, agent, {});
  const world = beforeCall(
    harness.world,
    "commit",
    () => flood(harness, run),
    ({ unlessWoken }) => unlessWoken,
  );
  expect(await harness.driveUntil({ agent, run, world, until: ({ endNotified }) => endNotified })).toMatchObject({
    status: "completed",
  });
  expect(heard).toEqual([0, MANY]);
  expect(harness.row(run).spent.beats).toBe(2);
  await mustBeWhole(harness, run);
});

describe("messages that take longer to read than a beat may last", () => {
  /** A store in which every commit takes a while, and where nobody commits who would have been killed by then. */
  const slow = (harness: Harness) => {
    const commit: DecisionCalls["commit"] = (of) => {
      harness.clock.moveTo(harness.clock.now() + 100);
      expect(harness.clock.now()).toBeLessThan(harness.row(of.run).leaseUntil ?? 0);
      return harness.world.table.decide(of, COMMIT);
    };
    return { ...harness.world, table: withCalls(harness.world.table, { commit }) };
  };

  test("are read by several beats, and the model is called when there is time for it", async () => {
    const harness = createSupervisedHarness();
    const { heard, reply } = listening();
    const agent = scriptedAgent({ reply });
    const { run } = await beginRun(harness.world, agent, {});
    await flood(harness, run);
    const row = await harness.driveUntil({ agent, run, world: slow(harness), until: ({ endNotified }) => endNotified });
    expect(row).toMatchObject({ status: "completed", takeovers: 0 });
    expect(heard).toEqual([MANY]);
    // About a dozen commits fit into one.
    expect(row.epoch).toBeGreaterThan(3);
    expect(row.epoch).toBeLessThan(20);
  });

  test("are absorbed by an end that takes several beats, none of which exceeds its time", async () => {
    const harness = createSupervisedHarness();
    const agent = scriptedAgent({ reply: () => FINAL_REPLY });
    const { run } = await beginRun(harness.world, agent, {});
    await sendRequest(harness.world, { run, want: "pause" });
    await harness.driveUntil({ agent, run, until: ({ park }) => park !== null });
    await flood(harness, run);
    await sendRequest(harness.world, { run, want: "cancel" });
    const row = await harness.driveUntil({ agent, run, world: slow(harness), until: ({ endNotified }) => endNotified });
    expect(row).toMatchObject({ status: "cancelled", takeovers: 0 });
    expect(row.epoch).toBeGreaterThan(2);
    await mustBeWhole(harness, run);
  });
});
