/** Before-images: taken right before the release of a probed call, durable with it, and handed to the probe. */
import { describe, expect, test } from "vitest";
import { AgentInvalid } from "../../../src/ports/agent-invalid.ts";
import type { Tool } from "../../../src/ports/agent.ts";
import { ledger, timeline } from "../../../src/operations/views.ts";
import { decideGate, stateOf, toolResultsOf } from "../../support/agents/approval-agent.ts";
import { postOffice } from "../../support/agents/letters-agent.ts";
import { attemptBeat, beginRun, drive, runnerOf } from "../../support/harness/drive.ts";
import { dieInTool } from "../../support/harness/chain-steps.ts";
import { createChainHarness, createHarness, neverSettles, reachTool } from "../../support/harness/harness.ts";

test("is committed with the release, before the call leaves", async () => {
  const harness = createHarness();
  const { agent } = postOffice(["a letter"]);
  const payload = await beginRun(harness.world, agent, {});
  await reachTool(harness.world, { payload, agent });
  const { open } = await stateOf(harness.world, payload.run);
  expect(open).toMatchObject([{ status: "started", before: 1 }]);
  const events = (await timeline(harness.world, { run: payload.run, after: 0 })) ?? [];
  expect(events).toContainEqual(expect.objectContaining({ kind: "ToolInvoked", call: "c1", before: 1 }));
});

test("a call whose effect landed is not repeated", async () => {
  const harness = createChainHarness();
  const { agent, letters, images } = postOffice(["of another run"]);
  await beginRun(harness.world, agent, {});
  await dieInTool(harness, agent);
  letters.push("of this run");
  await harness.runUntilIdle(agent);
  expect({ images, letters }).toEqual({ images: [1], letters: ["of another run", "of this run"] });
});

test("is taken after an approval, and not with the intent", async () => {
  const harness = createHarness();
  const { agent, letters, images } = postOffice([], { approval: "always" });
  const runner = runnerOf(harness.world, agent);
  const parked = await drive(runner, await beginRun(harness.world, agent, {}));
  letters.push("of another run");
  await decideGate(harness.world, { run: parked.run, as: "approve" });
  await reachTool(harness.world, { payload: parked, agent });
  expect({ before: (await stateOf(harness.world, parked.run)).open[0]?.before, images }).toEqual({
    before: 1,
    images: [],
  });
});

const throws = (): never => {
  throw new Error("HTTP 502");
};

describe("a call does not start", () => {
  test.each<readonly [string, NonNullable<Tool["before"]>, string]>([
    ["throws", throws, "HTTP 502"],
    ["rejects", async () => throws(), "HTTP 502"],
    ["hangs", neverSettles, "no answer within"],
    ["returns no JSON", () => 10n, "a bigint"],
    ["returns more than the state may hold", () => "x".repeat(5_000), "5002 bytes"],
  ])("if its before %s", async (_, before, why) => {
    const harness = createHarness();
    const { agent, letters } = postOffice([], { before });
    const payload = await beginRun(harness.world, agent, {});
    const { run } = await harness.advanceUntilSettled(drive(runnerOf(harness.world, agent), payload));
    expect(letters).toEqual([]);
    const words = expect.stringMatching(new RegExp(`^NotStarted: its before-image could not be recorded: .*${why}`));
    expect(await toolResultsOf(harness, run)).toMatchObject([{ outcome: "failed", value: { json: words } }]);
    expect(await ledger(harness.world, run)).toMatchObject([{ status: "failed", attempts: 0 }]);
  });
});

test("is recorded as the tool's redact leaves it", async () => {
  const harness = createHarness();
  const redact: Tool["redact"] = (value, of) => (of === "before" ? "nothing" : value);
  const { agent } = postOffice([], { redact });
  const payload = await beginRun(harness.world, agent, {});
  await reachTool(harness.world, { payload, agent });
  expect((await stateOf(harness.world, payload.run)).open).toMatchObject([{ before: "nothing" }]);
});

test("is redacted like other JSON of a tool, also in fields that have names of cairn's own", async () => {
  const harness = createHarness();
  const { agent } = postOffice([], { before: () => ({ key: "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789" }) });
  const payload = await beginRun(harness.world, agent, {});
  await reachTool(harness.world, { payload, agent });
  expect(JSON.stringify(await stateOf(harness.world, payload.run))).not.toContain("sk-ant-api03");
});

test("an agent whose tool has a before that no probe reads is refused", () => {
  expect(() => postOffice([], { effect: "keyed", probe: null })).toThrow(AgentInvalid);
});

test("a tool without before has no image", async () => {
  const harness = createHarness();
  const { agent } = postOffice([]);
  const { before: _, ...act } = agent.tools["act"] as Tool;
  const payload = await beginRun(harness.world, { ...agent, tools: { act } }, {});
  await harness.advanceUntilSettled(attemptBeat(runnerOf(harness.world, { ...agent, tools: { act } }), payload));
  const events = (await timeline(harness.world, { run: payload.run, after: 0 })) ?? [];
  expect(events.find(({ kind }) => kind === "ToolInvoked")).not.toHaveProperty("before");
  expect(harness.row(payload.run)).not.toHaveProperty("level");
});
