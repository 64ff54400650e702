/** What somebody outside may hand to a run, and what must never keep it from going on. */
import { describe, expect, test } from "vitest";
import { BOUNDS } from "../../src/core/limits.ts";
import { plain } from "../../src/render/paint.ts";
import { renderRun } from "../../src/render/run.ts";
import { show, transcript } from "../../src/operations/views.ts";
import { send } from "../../src/operations/steer.ts";
import { stateOf } from "../support/agents/approval-agent.ts";
import { beginRun, drive, runnerOf } from "../support/harness/drive.ts";
import { FINAL_REPLY, scriptedAgent, createHarness } from "../support/harness/harness.ts";

const words = { text: "take the train", by: "ann", id: "w1" };

describe("a message", () => {
  test("shows as unread, with its age, until a beat has taken it in", async () => {
    const harness = createHarness();
    const { world, clock } = harness;
    const agent = scriptedAgent({ reply: () => FINAL_REPLY });
    const payload = await beginRun(world, agent, {});
    const { run } = payload;
    const unread = async () => (await show(world, run))?.unread;
    expect(await unread()).toBeNull();
    const since = clock.now();
    await send(world, { run, ...words });
    clock.moveTo(since + 5_000);
    await send(world, { run, ...words, id: "w2" });
    expect(await unread()).toEqual({ count: 2, since });
    const shown = (await show(world, run)) ?? expect.fail("it is shown");
    expect(renderRun(shown, { now: clock.now(), paint: plain, width: 200, command: () => "" })).toMatch(
      /unread +2 messages, the oldest from 5s ago; the next beat reads them/,
    );
    await drive(runnerOf(world, agent), payload);
    expect(await unread()).toBeNull();
  });

  test.each([
    ["from a sender without a name", { by: "" }, "user:unknown"],
    ["from a sender whose name is broken text", { by: "an\uD800n" }, "user:an\uFFFDn"],
    ["from a sender with a very long name", { by: "n".repeat(9_000) }, `user:${"n".repeat(64)}…`],
    ["of broken text", { text: "\uD800", by: "ann" }, "user:ann"],
    ["whose id is broken text", { id: "\uDC00" }, "user:ann"],
    ["without an id", { id: "" }, "user:ann"],
    ["with a very long id", { id: "i".repeat(9_000) }, "user:ann"],
  ])("%s is read once, and the run continues", async (_, change, source) => {
    const harness = createHarness();
    const agent = scriptedAgent({ reply: () => FINAL_REPLY });
    const payload = await beginRun(harness.world, agent, {});
    const said = { run: payload.run, ...words, ...change };
    expect(await send(harness.world, said)).toEqual({ kind: "delivered" });
    expect(await send(harness.world, said)).toEqual({ kind: "duplicate" });
    expect(await drive(runnerOf(harness.world, agent), payload)).toMatchObject({ route: "done" });
    const heard = ((await transcript(harness.world, payload.run)) ?? []).filter(({ source: by }) =>
      by.startsWith("user:"),
    );
    expect(heard.map((each) => each.source)).toEqual([source]);
    expect(harness.row(payload.run)).toMatchObject({ status: "completed" });
  });

  test("is identified by its whole ID, however long; the state keeps a short form", async () => {
    const harness = createHarness();
    const agent = scriptedAgent({ reply: () => FINAL_REPLY });
    const payload = await beginRun(harness.world, agent, {});
    const ids = ["x", "y"].map((last) => `${"i".repeat(BOUNDS.idempotencyKeyCharactersMax)}${last}`);
    for (const id of ids) {
      expect(await send(harness.world, { run: payload.run, ...words, id })).toEqual({ kind: "delivered" });
    }
    await drive(runnerOf(harness.world, agent), payload);
    const { absorbed } = await stateOf(harness.world, payload.run);
    expect(absorbed).toHaveLength(2);
    for (const id of absorbed) expect(id.length).toBeLessThan(80);
  });
});
