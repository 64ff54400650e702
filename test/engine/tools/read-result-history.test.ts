/** Reads of long results in the history of a run: in its export, its replay and its forks, and of what a child returned. */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { childTool, defineAgent, react, scriptedModel, tool } from "../../../src/index.ts";
import { readArchive } from "../../../src/codec/archive.ts";
import type { Json } from "../../../src/core/json.ts";
import { forkRefusal } from "../../../src/features/fork/core.ts";
import { exportRun } from "../../../src/features/archive/export.ts";
import { type Recording, recordingIn, recordingOf } from "../../../src/features/archive/recording.ts";
import { KERNEL } from "../../../src/features/compose.ts";
import { replay } from "../../../src/features/archive/replay.ts";
import { stateAt } from "../../../src/history/state-at.ts";
import { forkRun } from "../../../src/operations/fork.ts";
import { purge } from "../../../src/operations/purge.ts";
import { RequestComparison } from "../../../src/operations/replay-against.ts";
import { show } from "../../../src/operations/views.ts";
import type { Agent } from "../../../src/ports/agent.ts";
import { everyFaultPoint, expectPinned, fakeService, recordedRun, runAgent } from "../../../src/testing/kit/index.ts";
import { beginRun, drive, runnerOf } from "../../support/harness/drive.ts";
import { type Harness, createHarness } from "../../support/harness/harness.ts";
import { rowIn } from "../../support/runs/run-to-fork.ts";

const page = `${"a long line. ".repeat(2_000)}\nneedle 7\n${"more of it. ".repeat(2_000)}`;
const SEARCH = { result: "c1", search: "needle" };
const LINE = { result: "c1", line: 2, lines: 1 };

/** Fetches one page, makes these reads, and answers with what they gave. */
function reader(reads: readonly Json[], fetched: () => Json = () => page) {
  const counted = { fetches: 0 };
  const agent = defineAgent({
    ...{ name: "reader", version: "1", instructions: "Read.", task: z.object({}), loops: "ignore" },
    topology: react({ maxBeats: 200 }),
    budget: { toolCalls: 500 },
    model: scriptedModel({
      name: "script",
      reply: ({ calls }) => {
        if (calls.length === 0) return { calls: [{ tool: "fetch", args: {} }] };
        const args = reads[calls.length - 1];
        if (args !== undefined) return { calls: [{ tool: "cairn_read", args: args as Record<string, Json> }] };
        return { text: JSON.stringify(calls.slice(1).map(({ outcome, result }) => ({ outcome, result }))) };
      },
    }),
    tools: {
      fetch: tool({
        ...{ input: z.object({}), effect: "none" },
        run: () => {
          counted.fetches += 1;
          return fetched();
        },
      }),
    },
  });
  return { agent: agent as Agent, counted };
}

async function play(reads: readonly Json[]) {
  const harness = createHarness();
  const { agent, counted } = reader(reads);
  const payload = await beginRun(harness.world, agent, {});
  await drive(runnerOf(harness.world, agent), payload);
  expect(harness.row(payload.run).status).toBe("completed");
  return { harness, agent, counted, run: payload.run };
}

async function recorded(harness: Harness, run: string): Promise<Recording> {
  const recording = await recordingIn(harness.world, { run });
  if (recording === null) throw new Error(`${run} is gone`);
  return recording;
}

async function exported({ world }: Harness, run: string): Promise<Buffer> {
  const lines: string[] = [];
  expect((await exportRun(world, { run, write: (chunk) => void lines.push(chunk) }))?.leftOut).toEqual([]);
  return Buffer.from(lines.join(""));
}

const resultOf = async ({ world }: Harness, run: string): Promise<string> => String((await show(world, run))?.result);

describe("a run that read a long result", () => {
  test("replays from its store, and its requests are those that today's code makes", async () => {
    const { harness, agent, counted, run } = await play([SEARCH, LINE]);
    const comparison = new RequestComparison(agent);
    expect(replay(KERNEL, await recorded(harness, run), { witness: comparison.witness }).differs).toBeNull();
    expect(comparison.result).toMatchObject({ compared: 4, differing: 0, first: null });
    expect(counted.fetches).toBe(1);
  });

  test("is compared with an agent that offers no reading, and the missing tool is named", async () => {
    const { harness, agent, run } = await play([SEARCH]);
    const comparison = new RequestComparison({ ...agent, readsResults: false });
    replay(KERNEL, await recorded(harness, run), { witness: comparison.witness });
    expect(comparison.result).toMatchObject({ compared: 3, differing: 2, first: { reply: 2 } });
    expect(comparison.result.first?.whys.join()).toContain("gone");
  });

  test("has the whole result in its export, which replays when the run is purged", async () => {
    const { harness, run } = await play([SEARCH, LINE]);
    const archive = readArchive(await exported(harness, run));
    expect(await purge(harness.world, run)).toMatchObject({ kind: "purged" });
    expect([...archive.blobs.values()]).toContain(page);
    expect(archive.calls.map(({ tool: name, status }) => ({ name, status }))).toEqual([
      { name: "fetch", status: "succeeded" },
      { name: "cairn_read", status: "succeeded" },
      { name: "cairn_read", status: "succeeded" },
    ]);
    expect(replay(KERNEL, recordingOf(archive)).differs).toBeNull();
  });

  test("is repeated from its export: the reads give the same, and the page is not fetched", async () => {
    const { harness, agent, counted, run } = await play([SEARCH, LINE]);
    const { options, pinned } = recordedRun(await exported(harness, run));
    const again = await runAgent(agent, options);
    expectPinned(again, pinned);
    expect(String(again.result)).toContain("needle 7");
    expect(counted.fetches).toBe(1);
  });
});

describe("a fork", () => {
  test("after a read has that read, and reads the result of its run although the run is gone", async () => {
    const { harness, agent, counted, run } = await play([SEARCH, LINE]);
    const expected = await resultOf(harness, run);
    const row = harness.row(run);
    const versions = Array.from({ length: row.version + 1 }, (_, at) => at);
    const forks: string[] = [];
    for (const at of versions) {
      const state = (await stateAt(harness.world, row, at))?.state;
      if (state === undefined || forkRefusal(state) !== null || state.calls !== 2) continue;
      const forked = await forkRun(harness.world, { run, at, agent, key: null, by: "ann", confirmed: true });
      forks.push(rowIn(forked).run);
    }
    expect(forks.length).toBeGreaterThan(0);
    await purge(harness.world, run);
    for (const each of forks) {
      const { born, chain, epoch } = harness.row(each);
      await drive(runnerOf(harness.world, agent), { run: each, born, chain, epoch, agent: agent.name });
      expect(await resultOf(harness, each)).toBe(expected);
      expect(replay(KERNEL, await recorded(harness, each)).differs).toBeNull();
    }
    expect(counted.fetches).toBe(1);
  });

  test("before the fetch cannot read what its run fetched", async () => {
    const { harness, agent, counted, run } = await play([SEARCH]);
    const forked = rowIn(await forkRun(harness.world, { run, at: 0, agent, key: null, by: "ann", confirmed: true }));
    const early: Agent = {
      ...agent,
      model: scriptedModel({
        name: "early",
        reply: ({ calls }) =>
          calls.length === 0
            ? { calls: [{ tool: "cairn_read", args: LINE }] }
            : { text: JSON.stringify(calls.map(({ result }) => result)) },
      }),
    };
    const { born, chain, epoch } = harness.row(forked.run);
    await drive(runnerOf(harness.world, early), { run: forked.run, born, chain, epoch, agent: agent.name });
    expect(await resultOf(harness, forked.run)).toContain("UnknownResult");
    expect(counted.fetches).toBe(1);
  });
});

test("reads what a child run returned, with a kill at each fault point", async () => {
  const child = defineAgent({
    ...{ name: "worker", version: "1", instructions: "", task: z.object({}), tools: {} },
    model: scriptedModel({ name: "child", reply: () => ({ text: page }) }),
  });
  const parent = defineAgent({
    ...{ name: "boss", version: "1", instructions: "", task: z.object({}) },
    model: scriptedModel({
      name: "boss",
      reply: ({ calls }) => {
        if (calls.length === 0) return { calls: [{ tool: "ask", args: {} }] };
        if (calls.length === 1) return { calls: [{ tool: "cairn_read", args: LINE }] };
        return { text: JSON.stringify(calls[1]?.result) };
      },
    }),
    tools: {
      ask: childTool({ agent: "worker", description: "asks", input: z.object({}), budget: { beats: 5 } }),
    },
  });
  const { points, uninterrupted } = await everyFaultPoint(parent, { input: {}, agents: [child as Agent] });
  expect(String(uninterrupted.result)).toContain("needle 7");
  expect(points.length).toBeGreaterThan(10);
});

describe("a secret in a long result", () => {
  const SECRET = "zq9-correct-horse-battery";
  const AT = 4_000;

  test("shows in no range that begins or ends inside of it, and in no search for a part of it", async () => {
    const value = `${"x".repeat(AT)}${SECRET}${"y".repeat(20_000)}`;
    const pieces = Array.from({ length: SECRET.length - 5 }, (_, at) => SECRET.slice(at, at + 6));
    const ranges = Array.from({ length: SECRET.length + 4 }, (_, cut) => [
      { result: "c1", offset: AT - 2 + cut, length: 40 },
      { result: "c1", offset: AT - 50, length: 48 + cut },
    ]).flat();
    const searches = pieces.map((search) => ({ result: "c1", search }));
    const { agent } = reader([...ranges, ...searches], () => value);
    const run = await runAgent({ ...agent, secrets: ["TOKEN"] }, { input: {}, secrets: { TOKEN: SECRET } });
    const said = JSON.parse(String(run.result)) as readonly { outcome: string; result: Json }[];
    expect(said.map(({ outcome }) => outcome)).toEqual(said.map(() => "succeeded"));
    const shown = JSON.stringify(said.slice(0, ranges.length));
    expect(pieces.filter((piece) => shown.includes(piece))).toEqual([]);
    expect(shown).toContain("[secret TOKEN]");
    expect(said.slice(ranges.length).map(({ result }) => result)).toEqual(
      searches.map(() => ({
        characters: value.length - SECRET.length + "[secret TOKEN]".length,
        matches: [],
        next: null,
      })),
    );
  });
});

describe("bounds", () => {
  const { length } = page;

  test("a range behind the end is empty, and one over the end stops there", async () => {
    const { agent } = reader([
      { result: "c1", offset: length + 1_000_000 },
      { result: "c1", offset: Number.MAX_SAFE_INTEGER, length: 12_000 },
      { result: "c1", offset: length - 3, length: 12_000 },
      { result: "c1", line: Number.MAX_SAFE_INTEGER, lines: 1_000 },
      { result: "c1", search: "needle", offset: Number.MAX_SAFE_INTEGER },
    ]);
    const { result } = await runAgent(agent, { input: {} });
    const end = { characters: length, offset: length, text: "", next: null };
    expect(JSON.parse(String(result)).map((each: { result: Json }) => each.result)).toEqual([
      end,
      end,
      { ...end, offset: length - 3, text: page.slice(-3) },
      end,
      { characters: length, matches: [], next: null },
    ]);
  });

  test.each([
    ["a negative offset", { offset: -1 }],
    ["no length", { length: 0 }],
    ["a negative length", { length: -5 }],
    ["a length over the bound", { length: 12_001 }],
    ["half a character", { offset: 0.5 }],
    ["an offset beyond the whole numbers", { offset: 2 ** 53 }],
    ["a text as offset", { offset: "0" }],
    ["line 0", { line: 0 }],
    ["too many lines", { line: 1, lines: 1_001 }],
    ["an empty search", { search: "" }],
    ["a search of a number", { search: 7 }],
    ["an end in place of a length", { offset: 10, to: 5 }],
  ])("%s is refused, and the next read works", async (_, args) => {
    const { agent } = reader([{ result: "c1", ...args }, LINE]);
    const { result } = await runAgent(agent, { input: {} });
    const [refused, read] = JSON.parse(String(result)) as readonly { outcome: string; result: Json }[];
    expect({ outcome: refused?.outcome, result: String(refused?.result) }).toEqual({
      outcome: "failed",
      result: expect.stringContaining("InvalidArguments"),
    });
    expect(JSON.stringify(read?.result)).toContain("needle 7");
  });

  test.each(["c0", "c-1", "c9007199254740993", "c3", "c1 ", "C1", "c01"])("no call has the ID %j", async (result) => {
    const { agent } = reader([{ result }]);
    const run = await runAgent(agent, { input: {} });
    expect(String(run.result)).toContain("UnknownResult");
  });
});

test("reads what a keyed call returned without a second effect, with a kill at each fault point", async () => {
  const letters = fakeService<Record<string, never>, Json>({ name: "letters", reply: () => page });
  const agent = defineAgent({
    ...{ name: "sender", version: "1", instructions: "", task: z.object({}) },
    model: scriptedModel({
      name: "script",
      reply: ({ calls }) => {
        if (calls.length === 0) return { calls: [{ tool: "send", args: {} }] };
        if (calls.length === 1) return { calls: [{ tool: "cairn_read", args: SEARCH }] };
        return { text: JSON.stringify(calls[1]?.result) };
      },
    }),
    tools: { send: tool({ input: z.object({}), effect: "keyed", run: letters.call }) },
  });
  const { points, uninterrupted } = await everyFaultPoint(agent, { input: {}, services: [letters] });
  expect(String(uninterrupted.result)).toContain("needle 7");
  expect(points).toContain("after:effect:send#1");
});
