/** Forks: what they inherit, what they do anew, what they do not share, and that they need nothing of their run. */
import { beforeAll, describe, expect, test } from "vitest";
import { recordingIn, recordingOf, wrongWithFile } from "../../src/features/archive/recording.ts";
import { exportRun } from "../../src/features/archive/export.ts";
import { KERNEL } from "../../src/features/compose.ts";
import { replay } from "../../src/features/archive/replay.ts";
import { stateAt } from "../../src/history/state-at.ts";
import { verify } from "../../src/features/seals/verify.ts";
import { fileContent } from "../../src/codec/file.ts";
import { readArchive } from "../../src/codec/archive.ts";
import { plain } from "../../src/render/paint.ts";
import { UNTOLD } from "../../src/render/story.ts";
import { renderEvents } from "../../src/render/timeline.ts";
import { proposedCalls } from "../../src/core/calls/proposed-calls.ts";
import { recordedRun } from "../../src/testing/kit/recorded-run.ts";
import { forkRefusal } from "../../src/features/fork/core.ts";
import { wordsOf } from "../../src/core/message.ts";
import { undoAndCancel } from "../../src/operations/undo.ts";
import { purge } from "../../src/operations/purge.ts";
import { ledger, show, timeline } from "../../src/operations/views.ts";
import { forkRun } from "../../src/operations/fork.ts";
import { startRun } from "../../src/operations/start.ts";
import { png, screenshotAgent } from "../files/support.ts";
import { drive, runnerOf } from "../support/harness/drive.ts";
import { createHarness } from "../support/harness/harness.ts";
import { CALLS, type RunToFork, createRunToFork, rowIn } from "../support/runs/run-to-fork.ts";

/** The versions at which the run can be forked, with the number of calls that are done there. */
async function forkable({
  harness,
  run,
}: RunToFork): Promise<readonly { readonly at: number; readonly calls: number }[]> {
  const row = harness.row(run);
  const found = [];
  for (let at = 0; at <= row.version; at += 1) {
    const state = (await stateAt(harness.world, row, at))?.state;
    if (state !== undefined && forkRefusal(state) === null) found.push({ at, calls: state.calls });
  }
  return found;
}

/** A version at which so many calls are done. */
async function after(it: RunToFork, calls: number): Promise<number> {
  const found = (await forkable(it)).findLast((each) => each.calls === calls);
  if (found === undefined) throw new Error(`no version has ${calls} calls`);
  return found.at;
}

describe("a fork", () => {
  test.each([0, 1, 2])("inherits %i calls as done and performs only the others, under its own keys", async (calls) => {
    const it = await createRunToFork();
    const at = await after(it, calls);
    const row = rowIn(await it.fork({ at }));
    expect(await it.play(row)).toMatchObject({ status: "completed" });
    const keys = it.called.get(row.run) ?? [];
    expect(keys).toHaveLength(CALLS - calls);
    for (const key of keys) expect(it.called.get(it.run)).not.toContain(key);
    expect(it.called.get(it.run)).toHaveLength(CALLS);
    const entries = (await ledger(it.harness.world, row.run)) ?? [];
    expect(entries.map(({ call, status }) => ({ call, status }))).toEqual(
      Array.from({ length: CALLS - calls }, (_, index) => ({ call: `c${calls + index + 1}`, status: "succeeded" })),
    );
    expect(entries.map(({ key }) => key)).toEqual(keys);
    const shown = await show(it.harness.world, row.run);
    expect(shown).toMatchObject({ forkedFrom: { run: it.run, version: at }, parent: null, startedBy: "ann" });
    expect(shown?.spent.tokensIn).toBeLessThanOrEqual((await show(it.harness.world, it.run))?.spent.tokensIn ?? 0);
    const events = (await timeline(it.harness.world, { run: row.run, after: 0 })) ?? [];
    expect(events.find(({ kind }) => kind === "RunStarted")).toMatchObject({
      forked: { run: it.run, version: at, calls },
    });
  });

  test("names its calls by one count in the ledger, the timeline and the diagnosis", async () => {
    const it = await createRunToFork();
    const row = await it.play(rowIn(await it.fork({ at: await after(it, 2) })));
    const events = (await timeline(it.harness.world, { run: row.run, after: 0 })) ?? [];
    const told = renderEvents(UNTOLD, events, { paint: plain, width: 100 }).lines.join("\n");
    expect(told).toContain("asks for act (c3)");
    expect(told).toContain("act (c3) succeeded");
    expect(told).not.toMatch(/\bc[12]\b/);
    expect(proposedCalls(events).map(({ call }) => call)).toEqual(["c3"]);
  });

  test("is pinned only from the beginning of its task, since it lacks the replies before", async () => {
    const it = await createRunToFork();
    const exported = async (run: string): Promise<Buffer> => {
      const lines: string[] = [];
      await exportRun(it.harness.world, { run, write: (chunk) => void lines.push(chunk) });
      return Buffer.from(lines.join(""));
    };
    const whole = await it.play(rowIn(await it.fork({ at: await after(it, 0) })));
    expect(recordedRun(await exported(whole.run)).pinned.calls).toHaveLength(CALLS);
    const part = await it.play(rowIn(await it.fork({ at: await after(it, 1) })));
    const file = await exported(part.run);
    expect(() => recordedRun(file)).toThrow(`it is a fork of ${it.run}, and its transcript begins there`);
  });

  test("is whole: its data verifies, replays and exports, also when its run is gone", async () => {
    const it = await createRunToFork();
    const { world } = it.harness;
    const row = rowIn(await it.fork({ at: await after(it, 2) }));
    expect(await purge(world, it.run)).toMatchObject({ kind: "purged" });
    it.harness.world.store.objects.forEach((_, key, all) => {
      if (key.includes(`/${it.run}/`)) all.delete(key);
    });
    await it.play(row);
    expect((await verify(world, { run: row.run }))?.findings).toEqual([]);
    const recording = await recordingIn(world, { run: row.run });
    if (recording === null) throw new Error("gone");
    expect(replay(KERNEL, recording).differs).toBeNull();
    const lines: string[] = [];
    const exported = await exportRun(world, { run: row.run, write: (chunk) => void lines.push(chunk) });
    expect(exported?.leftOut).toEqual([]);
    const archive = readArchive(Buffer.from(lines.join("")));
    const replayed = replay(KERNEL, recordingOf(archive));
    expect({ differs: replayed.differs, wrongWithFile: wrongWithFile(archive, replayed.state) }).toEqual({
      differs: null,
      wrongWithFile: null,
    });
  });

  test("has the files of its run as objects of its own", async () => {
    const harness = createHarness();
    const { world } = harness;
    const { agent } = screenshotAgent();
    const parsed = fileContent({ bytes: png("page"), name: "page.png" });
    const files = parsed.ok ? [parsed.content] : [];
    const input = { page: "start" };
    const started = await startRun(world, { agent, input, files, tenant: "local", idempotencyKey: "k" });
    const { run, born, chain, epoch } = rowIn(started);
    await drive(runnerOf(world, agent), { run, born, chain, epoch, agent: agent.name });
    const at = harness.row(run).version - 1;
    const fork = rowIn(await forkRun(world, { run, at, agent, key: "f", by: "ann", confirmed: true }));
    expect(await purge(world, run)).toMatchObject({ kind: "purged" });
    world.store.objects.forEach((_, key, all) => {
      if (key.includes(`/${run}/`)) all.delete(key);
    });
    await drive(runnerOf(world, agent), { ...fork, agent: agent.name });
    expect(harness.row(fork.run)).toMatchObject({ status: "completed" });
    expect((await verify(world, { run: fork.run }))?.findings).toEqual([]);
  });

  test("may have another task, which its first message shows", async () => {
    const it = await createRunToFork();
    const at = await after(it, 1);
    const row = rowIn(await it.fork({ at, input: { topic: "rain" } }));
    const state = (await stateAt(it.harness.world, row, 0))?.state;
    expect(wordsOf(state?.messages[0]?.parts ?? [])).toBe('{"topic":"rain"}');
    expect(await show(it.harness.world, row.run)).toMatchObject({ task: { topic: "rain" } });
    expect(await it.play(row)).toMatchObject({ status: "completed" });
    expect((await verify(it.harness.world, { run: row.run }))?.findings).toEqual([]);
    expect(await it.fork({ at, input: { topic: 7 } })).toMatchObject({ kind: "invalid" });
  });

  test("of one key is one run, and another task under it is refused", async () => {
    const it = await createRunToFork();
    const at = await after(it, 1);
    const first = await it.fork({ at, key: "once" });
    expect(await it.fork({ at, key: "once" })).toMatchObject({ kind: "exists", row: { run: rowIn(first).run } });
    expect(await it.fork({ at, key: "once", confirmed: false })).toMatchObject({ kind: "exists" });
    expect(await it.fork({ at, key: "once", input: { topic: "rain" } })).toMatchObject({ kind: "conflict" });
    expect(rowIn(await it.fork({ at, key: "other" })).run).not.toBe(rowIn(first).run);
  });

  test("can itself be forked", async () => {
    const it = await createRunToFork();
    const first = await it.play(rowIn(await it.fork({ at: await after(it, 1) })));
    const second = rowIn(await it.fork({ run: first.run, at: 0 }));
    await it.play(second);
    expect(it.called.get(second.run)).toHaveLength(CALLS - 1);
    expect((await verify(it.harness.world, { run: second.run }))?.findings).toEqual([]);
  });
});

describe("a fork past effects that the two runs do not share", () => {
  let it: RunToFork;
  beforeAll(async () => {
    it = await createRunToFork("unsafe");
  });

  test("is refused with their list until it is confirmed", async () => {
    const at = await after(it, 1);
    const rows = it.harness.world.store.rows.size;
    expect(await it.fork({ at, confirmed: false })).toEqual({
      kind: "notConfirmed",
      effects: { later: ["act (c2)", "act (c3)"], undone: [] },
    });
    expect(it.harness.world.store.rows.size).toBe(rows);
    expect(await it.fork({ at })).toMatchObject({ kind: "started" });
  });

  test("needs no confirmation where there is none", async () => {
    expect(await it.fork({ at: await after(it, CALLS), confirmed: false })).toMatchObject({ kind: "started" });
    const reader = await createRunToFork("none");
    expect(await reader.fork({ at: 0, confirmed: false })).toMatchObject({ kind: "started" });
  });
});

test("an effect that the run has undone is named, and stays with the run: the fork undoes nothing of it", async () => {
  const it = await createRunToFork("keyed", true);
  const { world } = it.harness;
  expect({ status: it.harness.row(it.run).status, undoes: it.undoes.length }).toEqual({
    status: "cancelled",
    undoes: CALLS,
  });
  const at = await after(it, 2);
  expect(await it.fork({ at, confirmed: false })).toEqual({
    kind: "notConfirmed",
    effects: { later: [], undone: ["act (c1)", "act (c2)"] },
  });
  const { run } = rowIn(await it.fork({ at }));
  expect((await undoAndCancel(world, { run, by: "ann" })).kind).toBe("accepted");
  await it.play({ run });
  expect({ status: it.harness.row(run).status, undoes: it.undoes.length }).toEqual({
    status: "cancelled",
    undoes: CALLS,
  });
});

test("a refusal names at most twelve versions that can be forked, the nearest ones", async () => {
  const it = await createRunToFork("keyed", false, 20);
  const all = (await forkable(it)).map(({ at }) => at);
  const [first, last] = [await it.fork({ at: (all[1] ?? 0) - 1 }), await it.fork({ at: 1_000 })];
  expect({ first, last }).toMatchObject({
    first: { kind: "notForkable", forkable: { versions: all.slice(0, 12), of: all.length } },
    last: { kind: "versionUnknown", forkable: { versions: all.slice(-12), of: all.length } },
  });
});

test("a version that is unknown, over, or has calls under way is refused by name", async () => {
  const it = await createRunToFork();
  const { version } = it.harness.row(it.run);
  const known = new Set((await forkable(it)).map(({ at }) => at));
  const kinds = new Map<number, string>();
  for (let at = 0; at <= version + 1; at += 1) {
    const forked = await it.fork({ at });
    kinds.set(at, forked.kind === "notForkable" ? forked.why : forked.kind);
    if ("forkable" in forked) expect(forked.forkable).toEqual({ versions: [...known], of: known.size });
    expect(forked.kind === "started").toBe(known.has(at));
  }
  expect(kinds.get(version)).toMatch(/its end is decided/);
  expect(kinds.get(version + 1)).toBe("versionUnknown");
  expect([...kinds.values()].some((why) => why.startsWith("calls or child runs are under way"))).toBe(true);
  expect(await it.fork({ run: "local-none" })).toEqual({ kind: "missing" });
  expect(await it.fork({ agent: null })).toEqual({ kind: "agentUnknown" });
});
