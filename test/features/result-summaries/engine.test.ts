/** Summaries of results that are too long to show: what is asked, what is recorded, and what a crash or a failure costs. */
import { APICallError } from "@ai-sdk/provider";
import { describe, expect, test } from "vitest";
import { AgentInvalid, type ScriptedReply, scriptedModel } from "../../../src/index.ts";
import { SIZES } from "../../../src/codec/limits.ts";
import { sha256 } from "../../../src/codec/canonical.ts";
import type { Event } from "../../../src/core/event.ts";
import { forkRefusal } from "../../../src/features/fork/core.ts";
import { exportRun } from "../../../src/features/archive/export.ts";
import { recordingIn } from "../../../src/features/archive/recording.ts";
import { KERNEL } from "../../../src/features/compose.ts";
import { replay } from "../../../src/features/archive/replay.ts";
import { stateAt } from "../../../src/history/state-at.ts";
import { forkRun } from "../../../src/operations/fork.ts";
import { RequestComparison } from "../../../src/operations/replay-against.ts";
import { ledger, show, timeline } from "../../../src/operations/views.ts";
import { everyFaultPoint, expectPinned, recordedRun, runAgent } from "../../../src/testing/kit/index.ts";
import { SUMMARY_WORDS, longPagesAgent, page, resultSummariesIn } from "../../support/agents/long-pages.ts";
import { beginRun, drive, runnerOf } from "../../support/harness/drive.ts";
import { createChainHarness, MS } from "../../support/harness/harness.ts";
import { playRun } from "../../support/runs/topology-run.ts";
import { rowIn } from "../../support/runs/run-to-fork.ts";

describe("a result that is too long to show", () => {
  test("gets a summary with a manifest, by the cheaper model, in the commit of its cost", async () => {
    const { agent, asked, shown } = longPagesAgent();
    const { events } = await playRun(agent);
    const [made, ...others] = resultSummariesIn(events);
    expect(others).toEqual([]);
    const text = page(1);
    expect(made).toMatchObject({
      ...{ call: "c1", model: "scripted:cheap", routed: { by: "role" } },
      manifest: {
        ...{ bytes: text.length + 2, sha256: sha256(JSON.stringify(text)) },
        ...{ characters: text.length, read: text.length },
      },
    });
    const at = events.findIndex(({ kind }) => kind === "ResultSummarised");
    const [summary, debit] = events.slice(at, at + 2) as [Event & { version: number }, Event & { version: number }];
    expect(debit).toMatchObject({ kind: "BudgetDebited", for: "scripted:cheap", version: summary.version });
    expect(asked[0]?.messages.at(-1)?.text).toContain("needle 1");
    // The working model sees head, tail and size as without a summary, and then the summary.
    const last = shown.at(-1)?.messages.map((each) => each.text) ?? [];
    expect(last.at(-2)).toContain(`This value has ${text.length + 2} bytes`);
    expect(last.at(-1)).toContain(`SHA-256 ${made?.manifest.sha256}`);
    expect(last.at(-1)).toContain(`cairn_read with the result c1 reads the result itself.\n${SUMMARY_WORDS}`);
  });

  test("gets one for each of several calls of a reply, in their order", async () => {
    const { agent, asked } = longPagesAgent({ pages: 3 });
    const { events, shown } = await playRun(agent);
    expect(shown?.status).toBe("completed");
    expect(resultSummariesIn(events).map(({ call }) => call)).toEqual(["c1", "c2", "c3"]);
    expect(asked).toHaveLength(3);
  });

  test.each([
    ["of a tool that is not named", { results: { summary: ["search"] } }, page],
    ["of an agent that wants none", { results: { summary: false } }, page],
    ["that is short", {}, () => "short"],
  ])("%s gets none", async (_, more, fetched) => {
    const { agent, asked } = longPagesAgent({ more, fetched });
    const { events } = await playRun(agent);
    expect({ resultSummaries: resultSummariesIn(events), asked }).toEqual({ resultSummaries: [], asked: [] });
  });

  test("gets one of the working model, at its price, if there is no cheaper one", async () => {
    const { agent } = longPagesAgent();
    const { summaries: _, ...alone } = agent;
    const { events } = await playRun(alone);
    const [made] = resultSummariesIn(events);
    expect(made).toMatchObject({ call: "c1", model: "scripted:own" });
    expect(made?.summary).toContain(SUMMARY_WORDS);
    expect(made).not.toHaveProperty("routed");
    expect(made).not.toHaveProperty("failed");
  });

  test("is read up to the bound, the summary is cut, and the manifest says so", async () => {
    const length = 400_000;
    const { agent, asked } = longPagesAgent({
      cheap: () => ({ text: "y".repeat(50_000) }),
      fetched: () => "x".repeat(length),
    });
    const { events } = await playRun(agent);
    const [made] = resultSummariesIn(events);
    expect(made?.manifest).toMatchObject({ characters: length, read: SIZES.summarisedCharactersMax });
    expect(asked[0]?.messages.at(-1)?.text.match(/x/g)?.length).toBeLessThan(SIZES.summarisedCharactersMax + 20);
    expect(made?.summary).toContain(`of which it read the first ${SIZES.summarisedCharactersMax}`);
    expect(made?.summary.length).toBeLessThan(SIZES.resultSummaryCharactersMax + 500);
  });

  test("takes at most half of the context that the agent allows", async () => {
    const { agent } = longPagesAgent({ more: { context: { model: "cheap", tokensMax: 8_000 } } });
    const [made] = resultSummariesIn((await playRun(agent)).events);
    expect(made?.manifest).toMatchObject({ characters: page(1).length, read: 16_000 });
  });
});

describe("a summary that cannot be made", () => {
  const broken = (isRetryable: boolean) => (): ScriptedReply => {
    throw new APICallError({ message: "no", url: "", requestBodyValues: {}, isRetryable });
  };

  test.each<readonly [string, () => ScriptedReply, string]>([
    ["because its model refuses", broken(false), "no"],
    ["because its model does not answer now", broken(true), "no"],
    ["because it is empty", () => ({ text: " " }), "the summary is empty"],
    ["because a tool is called instead", () => ({ calls: [{ tool: "fetch", args: {} }] }), "the summary is empty"],
  ])("%s is recorded, is not tried again, and the run goes on", async (_, cheap, why) => {
    const { agent, asked, shown } = longPagesAgent({ cheap });
    const { events, shown: run } = await playRun(agent);
    expect(run?.status).toBe("completed");
    expect(resultSummariesIn(events)).toMatchObject([{ call: "c1", failed: true }]);
    expect(asked).toHaveLength(1);
    expect(shown.at(-1)?.messages.at(-1)?.text).toContain(`There is no summary of the result of c1: ${why}`);
  });

  test("by the working model is tried twice, and then the run goes on", async () => {
    const tried = { summaries: 0 };
    const { agent } = longPagesAgent();
    const { summaries: _, ...alone } = agent;
    const model = scriptedModel({
      name: "own",
      reply: ({ messages, calls }) => {
        if (messages.at(-1)?.text.startsWith("Summarise") === true) {
          tried.summaries += 1;
          return broken(true)();
        }
        return calls.length > 0 ? { text: "done" } : { calls: [{ tool: "fetch", args: { number: 1 } }] };
      },
    });
    const harness = createChainHarness();
    const { run } = await beginRun(harness.world, { ...alone, model }, {});
    await harness.runForTime({ ...alone, model }, MS.hour);
    expect({ status: (await show(harness.world, run))?.status, summaries: tried.summaries }).toEqual({
      status: "completed",
      summaries: 2,
    });
    const events = (await timeline(harness.world, { run, after: 0 })) ?? [];
    expect(resultSummariesIn(events)).toMatchObject([{ call: "c1", failed: true }]);
  });
});

test("is made with a kill at each fault point, and each run ends alike", async () => {
  const { agent } = longPagesAgent({ pages: 2 });
  const { points, uninterrupted } = await everyFaultPoint(agent, { input: {} });
  expect(String(uninterrupted.result)).toContain(SUMMARY_WORDS);
  expect(points.filter((point) => point.startsWith("after:model"))).toHaveLength(4);
});

test("shows no secret of the result, in the request for it or in what it says", async () => {
  const SECRET = "zq9-correct-horse-battery";
  const { agent, asked, shown } = longPagesAgent({
    cheap: () => ({ text: `The token is ${SECRET}.` }),
    fetched: (number) => `${page(number)}${SECRET}`,
  });
  await runAgent({ ...agent, secrets: ["TOKEN"] }, { input: {}, secrets: { TOKEN: SECRET } });
  const texts = [...asked, ...shown].flatMap(({ messages }) => messages.map(({ text }) => text)).join("\n");
  expect(texts).not.toContain(SECRET);
  expect(texts).toContain("The token is [secret TOKEN].");
});

describe("a run with a summary", () => {
  test("replays, is compared without a difference, is pinned, and a fork asks for no second one", async () => {
    const made = longPagesAgent();
    // Without a cheaper model, the recorded one has to repeat the summaries too.
    const { summaries: _, ...agent } = made.agent;
    const { harness, run, shown } = await playRun(agent);
    const { world } = harness;
    const requests = (): number => made.shown.length;
    const recording = await recordingIn(world, { run });
    const comparison = new RequestComparison(agent);
    if (recording === null) throw new Error("gone");
    expect(replay(KERNEL, recording, { witness: comparison.witness }).differs).toBeNull();
    expect(comparison.result).toMatchObject({ compared: 2, differing: 0 });

    const lines: string[] = [];
    await exportRun(world, { run, write: (chunk) => void lines.push(chunk) });
    const { options, pinned } = recordedRun(Buffer.from(lines.join("")));
    const before = requests();
    const repeated = await runAgent(agent, options);
    expectPinned(repeated, pinned);
    expect(resultSummariesIn(repeated.timeline)).toHaveLength(1);
    expect(requests()).toBe(before);

    const row = harness.row(run);
    const forks = [];
    for (let at = 0; at <= row.version; at += 1) {
      const state = (await stateAt(world, row, at))?.state;
      const isMade = state?.messages.some(({ source }) => source === "cairn:summary:c1") === true;
      if (state !== undefined && forkRefusal(state) === null && isMade && state.calls === 1) forks.push(at);
    }
    expect(forks.length).toBeGreaterThan(0);
    for (const at of forks) {
      const forked = rowIn(await forkRun(world, { run, at, agent, key: null, by: "ann", confirmed: true }));
      const { born, chain, epoch } = forked;
      await drive(runnerOf(world, agent), { run: forked.run, born, chain, epoch, agent: agent.name });
      expect((await show(world, forked.run))?.result).toEqual(shown?.result);
    }
    // Each fork asks for its reply, and for no summary.
    expect(requests()).toBe(before + forks.length);
  });

  test("has the summary in its timeline and nothing of it in its ledger of calls", async () => {
    const { agent } = longPagesAgent();
    const { harness, run } = await playRun(agent);
    const calls = await ledger(harness.world, run);
    expect(calls?.map(({ call, evidence }) => ({ call, evidence }))).toEqual([
      { call: "c1", evidence: "the tool returned" },
    ]);
  });
});

test.each([
  ["a number", { summary: 3 }],
  ["no tool", { summary: [] }],
  ["an empty name", { summary: [""] }],
  ["another option", { summaries: true }],
])("an agent whose summaries are %s is refused", (_, results) => {
  expect(() => longPagesAgent({ more: { results } })).toThrow(AgentInvalid);
});
