/** What is stored of files: it is verified, exported, replayed, bounded and removed with the run. */
import { expect, test } from "vitest";
import { readArchive } from "../../src/codec/archive.ts";
import { sha256 } from "../../src/codec/canonical.ts";
import { SIZES } from "../../src/codec/limits.ts";
import { exportRun } from "../../src/features/archive/export.ts";
import { fileKey } from "../../src/history/object-keys.ts";
import { verify } from "../../src/features/seals/verify.ts";
import { recordingOf, wrongWithFile } from "../../src/features/archive/recording.ts";
import { KERNEL } from "../../src/features/compose.ts";
import { replay } from "../../src/features/archive/replay.ts";
import { type ScriptedReply, recordedModel, scriptedModel } from "../../src/index.ts";
import { checkedFiles } from "../../src/operations/files.ts";
import { purge } from "../../src/operations/purge.ts";
import { show } from "../../src/operations/views.ts";
import { startRun } from "../../src/operations/start.ts";
import { send } from "../../src/operations/steer.ts";
import type { Agent } from "../../src/ports/agent.ts";
import { type Harness, createChainHarness } from "../support/harness/harness.ts";
import { pdf, png, screenshotAgent } from "./support.ts";

const SHOT = png("shot");
const INVOICE = pdf();

const contentsOf = (...given: readonly Uint8Array[]) => {
  const checked = checkedFiles(given.map((bytes, index) => ({ bytes, name: `file-${index}` })));
  return checked.ok ? checked.contents : expect.fail(checked.why);
};

const start = (harness: Harness, agent: Agent, of: { readonly key: string; readonly files?: readonly Uint8Array[] }) =>
  startRun(harness.world, {
    ...{ agent, input: { page: "start" }, tenant: "local", idempotencyKey: of.key },
    files: contentsOf(...(of.files ?? [INVOICE])),
  });

/** A run that has ended, with a file of its task and one of a call. */
async function endedRun(agent = screenshotAgent(SHOT).agent as Agent) {
  const harness = createChainHarness();
  const started = await start(harness, agent, { key: "k" });
  const { run } = started.kind === "started" ? started.row : expect.fail(started.kind);
  await harness.runUntilIdle(agent);
  return { harness, run, row: harness.row(run) };
}

async function exported({ world }: Harness, run: string): Promise<Uint8Array> {
  const chunks: string[] = [];
  await exportRun(world, { run, write: (chunk) => void chunks.push(chunk) });
  return Buffer.from(chunks.join(""));
}

test("the same key starts the same run only with the same files; their names do not matter", async () => {
  const { harness, run } = await endedRun();
  const agent = screenshotAgent().agent as Agent;
  expect(await start(harness, agent, { key: "k" })).toMatchObject({ kind: "exists", row: { run } });
  expect(await start(harness, agent, { key: "k", files: [png()] })).toMatchObject({ kind: "conflict" });
  expect(await start(harness, agent, { key: "k", files: [] })).toMatchObject({ kind: "conflict" });
});

test("a missing or damaged file is found by verify", async () => {
  const { harness, run, row } = await endedRun();
  expect(await verify(harness.world, { run })).toMatchObject({ findings: [], files: 2 });
  const { objects } = harness.world.store;
  objects.set(fileKey(row, sha256(SHOT)), png("other"));
  expect((await verify(harness.world, { run }))?.findings).toEqual([
    { where: expect.anything(), what: `file ${sha256(SHOT)} does not match the digest in its name` },
  ]);
  objects.delete(fileKey(row, sha256(SHOT)));
  expect((await verify(harness.world, { run }))?.findings.map(({ what }) => what)).toEqual([
    `file ${sha256(SHOT)} is missing`,
  ]);
});

test("an export holds the files, and is replayed; one with other bytes is refused", async () => {
  const { harness, run } = await endedRun();
  const bytes = await exported(harness, run);
  const archive = readArchive(bytes);
  expect([...archive.files.keys()].toSorted()).toEqual([sha256(INVOICE), sha256(SHOT)].toSorted());
  expect(Buffer.from(archive.files.get(sha256(SHOT)) ?? [])).toEqual(Buffer.from(SHOT));
  const recording = recordingOf(archive);
  expect(recording.begun.state.messages[0]?.parts).toHaveLength(2);
  const { state } = replay(KERNEL, recording);
  expect(state.resultFiles).toMatchObject([{ file: sha256(SHOT) }]);
  expect(wrongWithFile(archive, state)).toBeNull();
  expect(wrongWithFile({ ...archive, files: new Map() }, state)).toBe(`file ${sha256(SHOT)} is missing`);
  const text = Buffer.from(bytes).toString("utf8");
  const other = Buffer.from(png("xxxx")).toString("base64");
  expect(() => readArchive(Buffer.from(text.replace(Buffer.from(SHOT).toString("base64"), other)))).toThrow(
    /do not match the digest/,
  );
});

test("a recorded model makes the files again that the model made", async () => {
  const reply = (): ScriptedReply => ({ text: "Painted.", files: [{ bytes: png("made"), mediaType: "image/png" }] });
  const painter = { ...screenshotAgent().agent, model: scriptedModel({ name: "painter", reply }) } as Agent;
  const first = await endedRun(painter);
  const again = { ...painter, model: recordedModel(await exported(first.harness, first.run)) };
  const second = await endedRun(again);
  const shown = await Promise.all([first, second].map(({ harness, run }) => show(harness.world, run)));
  const made = { file: sha256(png("made")), name: "made.png", mediaType: "image/png", inResult: true };
  for (const each of shown)
    expect(each).toMatchObject({ status: "completed", result: "Painted.", files: [{ source: "task" }, made] });
});

test("a message with files is refused when the run has no room for them", async () => {
  const harness = createChainHarness();
  const agent = screenshotAgent().agent as Agent;
  const started = await start(harness, agent, { key: "k" });
  const { run } = started.kind === "started" ? started.row : expect.fail(started.kind);
  const [content] = contentsOf(png("large"));
  if (content === undefined) expect.fail("no content");
  const huge = { ...content, ref: { ...content.ref, bytes: SIZES.runFilesBytesMax } };
  expect(await send(harness.world, { run, text: "x", files: [huge], by: "ann", id: "m" })).toEqual({
    kind: "fileInvalid",
    why: expect.stringMatching(/^the files of the run would have \d+ bytes; at most 268435456 are accepted$/) as string,
  });
});

test("a purge removes the files with the run", async () => {
  const { harness, run } = await endedRun();
  expect([...harness.world.store.objects.keys()].some((key) => key.includes("/files/"))).toBe(true);
  await purge(harness.world, run, { keepArchive: false, forgetKey: false });
  expect([...harness.world.store.objects.keys()]).toEqual([]);
});
