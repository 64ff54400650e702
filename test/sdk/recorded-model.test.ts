/** The recorded model repeats the calls of a run without a real model, and has no reply to requests never recorded. */
import { describe, expect, test } from "vitest";
import type { Agent } from "../../src/ports/agent.ts";
import { recordedModel } from "../../src/index.ts";
import type { World } from "../../src/ports/world.ts";
import { exportRun } from "../../src/features/archive/export.ts";
import { show, timeline } from "../../src/operations/views.ts";
import { attemptBeat, beginRun, drive, runnerOf } from "../support/harness/drive.ts";
import {
  type ScriptedAgentOptions,
  scriptedAgent,
  callsThenFinal,
  dieInTool,
  beatReply,
  createHarness,
} from "../support/harness/harness.ts";

type Reply = NonNullable<ScriptedAgentOptions["reply"]>;

async function exported(world: World, run: string): Promise<Uint8Array> {
  const chunks: string[] = [];
  await exportRun(world, { run, write: (chunk) => void chunks.push(chunk) });
  return Buffer.from(chunks.join(""));
}

/** Runs the agent to its end; returns its calls and the exported run. */
async function played(agent: Agent) {
  const { world } = createHarness();
  const payload = await beginRun(world, agent, {});
  await drive(runnerOf(world, agent), payload);
  const events = (await timeline(world, { run: payload.run, after: 0 })) ?? [];
  const asked = events.flatMap((event) => (event.kind === "ModelCallCompleted" ? [event.parts] : []));
  return { file: await exported(world, payload.run), asked, shown: await show(world, payload.run) };
}

/** An agent whose own model would give a different run every time. */
const fickle = (): Reply => {
  let count = 0;
  const large = "x".repeat(20_000);
  return ({ calls }) => {
    count += 1;
    const args = { count, ...(calls.length === 1 && { large }) };
    return calls.length < 3 ? { text: `thought ${count}`, calls: [{ tool: "act", args }] } : { text: `over ${count}` };
  };
};

describe("a recorded run as a model", () => {
  test("makes the same calls with the same arguments and ends with the same text", async () => {
    const first = await played(scriptedAgent({ reply: fickle() }));
    const again = await played({ ...scriptedAgent({}), model: recordedModel(first.file) });
    expect(again.asked).toEqual(first.asked);
    expect(again.asked).toHaveLength(4);
    expect(again.shown).toMatchObject({ status: "completed", result: "over 4", spent: first.shown?.spent });
  });

  test("repeats empty replies and the replies after them", async () => {
    let count = 0;
    const reply: Reply = () => {
      count += 1;
      return count < 3 ? {} : { text: "at last" };
    };
    const first = await played(scriptedAgent({ reply }));
    const again = await played({ ...scriptedAgent({}), model: recordedModel(first.file) });
    expect({ asked: again.asked, result: again.shown?.result }).toEqual({ asked: first.asked, result: "at last" });
  });

  test("gives the next reply in any process after a crash", async () => {
    const { file, asked } = await played(scriptedAgent({ reply: fickle() }));
    const harness = createHarness();
    const agent = { ...scriptedAgent({}), model: recordedModel(file) };
    const payload = await beginRun(harness.world, agent, {});
    await dieInTool(harness, { payload, agent });
    const other = runnerOf(harness.world, { ...agent, model: recordedModel(file) });
    await drive(other, await beatReply(attemptBeat(other, payload, 1)));
    const again = (await timeline(harness.world, { run: payload.run, after: 0 })) ?? [];
    expect(again.flatMap((event) => (event.kind === "ModelCallCompleted" ? [event.parts] : []))).toEqual(asked);
    expect(await show(harness.world, payload.run)).toMatchObject({
      status: "completed",
      takeovers: 1,
      result: "over 4",
    });
  });

  test("has no reply beyond the recorded run, and cannot be made from an archive", async () => {
    const { file } = await played(scriptedAgent({ reply: callsThenFinal(1) }));
    const nagged = { ...scriptedAgent({}), done: [{ name: "never", holds: () => "it is never done" }] };
    const { shown } = await played({ ...nagged, model: recordedModel(file) });
    expect(shown).toMatchObject({ status: "failed" });
    expect(shown?.failure?.message).toMatch(/no reply to a conversation of \d+ messages/);
    expect(() => recordedModel(Buffer.from("nothing"))).toThrow(expect.objectContaining({ name: "Unreadable" }));
  });
});
