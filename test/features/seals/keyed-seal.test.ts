/** Keyed seals: a forged history is named by a process with the key, and by no other one. */
import { describe, expect, test } from "vitest";
import { canonical, sha256 } from "../../../src/codec/canonical.ts";
import { decodeJournal, encodeJournal } from "../../../src/codec/journal.ts";
import { isGenuine, sealKeyIn, vouchFor } from "../../../src/codec/voucher.ts";
import type { Row } from "../../../src/protocol/row.ts";
import { NO_SEAL_KEYS, type SealKeys } from "../../../src/ports/seal-keys.ts";
import { show } from "../../../src/operations/views.ts";
import { verify } from "../../../src/features/seals/verify.ts";
import { attemptBeat, beginRun, drive, runnerOf } from "../../support/harness/drive.ts";
import { recordObjectCalls } from "../../support/runs/long-runs.ts";
import {
  forgeSnapshot,
  sealKeyFrom,
  sealKeyRing,
  withoutSeals,
  withSealKeys,
} from "../../support/runs/snapshot-seals.ts";
import { rewriteRow as rewrittenRow } from "../../support/runs/rewrite-row.ts";
import {
  type Harness,
  scriptedAgent,
  callsThenFinal,
  dieInTool,
  beatReply,
  createHarness,
} from "../../support/harness/harness.ts";

const [A, B] = [sealKeyFrom("a"), sealKeyFrom("b")];
const agent = scriptedAgent({ reply: callsThenFinal(3) });
const rewritten = (text: string): string => text.replaceAll('"acted"', '"forged"');

/** A run after two beats, of a process with these keys; what is stored is the same for every other process. */
async function twoBeats(sealKeys: SealKeys) {
  const harness = withSealKeys(createHarness(), sealKeys);
  const payload = await beginRun(harness.world, agent, {});
  const runner = runnerOf(harness.world, agent);
  const next = await beatReply(attemptBeat(runner, await beatReply(attemptBeat(runner, payload))));
  return { harness, run: payload.run, next };
}

async function verdict({ world }: Harness, run: string, sealKeys: SealKeys) {
  const verified = await verify({ ...world, sealKeys }, { run });
  return { seal: verified?.seal, findings: verified?.findings.map(({ where, what }) => `${where}: ${what}`) };
}

/** How the beat of a process with these keys ends, and why. */
async function nextBeat(harness: Harness, next: Parameters<typeof attemptBeat>[1], sealKeys: SealKeys) {
  const alarms: unknown[] = [];
  const telemetry = {
    record: (each: { level: string; detail: object }) => void (each.level === "alarm" && alarms.push(each.detail)),
  };
  const world = { ...harness.world, sealKeys, telemetry };
  const { route } = await beatReply(attemptBeat(runnerOf(world, agent), next));
  return { route, alarms };
}

const stops = (code: string) => ({
  route: "superseded",
  alarms: [{ why: expect.stringMatching(new RegExp(`^${code}: `)) }],
});

describe("a history whose old result was rewritten with matching digests", () => {
  test("passes when it is not sealed", async () => {
    const { harness, run } = await twoBeats(NO_SEAL_KEYS);
    forgeSnapshot(harness, run, rewritten);
    expect(await verdict(harness, run, NO_SEAL_KEYS)).toEqual({
      seal: { is: "unsealed", from: null, keys: [] },
      findings: [],
    });
    expect(await verdict(harness, run, sealKeyRing([A]))).toMatchObject({ seal: { is: "unsealed" }, findings: [] });
  });

  test("is detected by a process with the key, which does not continue it", async () => {
    const { harness, run, next } = await twoBeats(sealKeyRing([A]));
    expect(await verdict(harness, run, sealKeyRing([A]))).toEqual({
      seal: { is: "sealed", from: 0, keys: [A.key] },
      findings: [],
    });
    forgeSnapshot(harness, run, rewritten);
    const { seal, findings } = await verdict(harness, run, sealKeyRing([A]));
    expect(seal).toMatchObject({ is: "forged" });
    expect(findings).toContainEqual(
      expect.stringMatching(new RegExp(`^snapshot \\d: it was not written with key ${A.key}, which its seal names$`)),
    );
    expect(await nextBeat(harness, next, sealKeyRing([A]))).toMatchObject(stops("SealForged"));
    await expect(show({ ...harness.world, sealKeys: sealKeyRing([A]) }, run)).rejects.toMatchObject({
      code: "SealForged",
    });
  });

  test("is not detected without the key, which verify reports", async () => {
    const { harness, run } = await twoBeats(sealKeyRing([A]));
    forgeSnapshot(harness, run, rewritten);
    expect(await verdict(harness, run, NO_SEAL_KEYS)).toEqual({
      seal: { is: "unjudged", from: 0, keys: [A.key] },
      findings: [],
    });
  });

  test("is detected when the forger removes some seals", async () => {
    const { harness, run, next } = await twoBeats(sealKeyRing([A]));
    const { version } = harness.row(run).snapshot;
    forgeSnapshot(harness, run, (text, at) => (at === version ? withoutSeals(rewritten(text)) : text));
    expect((await verdict(harness, run, sealKeyRing([A]))).seal).toMatchObject({ is: "forged" });
    expect((await verdict(harness, run, NO_SEAL_KEYS)).findings).toContainEqual(
      expect.stringContaining("it has no seal"),
    );
    expect(await nextBeat(harness, next, sealKeyRing([A]))).toMatchObject(stops("SealMissing"));
  });

  test("looks unsealed when the forger removes all seals: only a process that requires seals detects it", async () => {
    const { harness, run, next } = await twoBeats(sealKeyRing([A]));
    forgeSnapshot(harness, run, (text) => withoutSeals(rewritten(text)));
    expect(await verdict(harness, run, sealKeyRing([A]))).toMatchObject({ seal: { is: "unsealed" }, findings: [] });
    expect((await verdict(harness, run, sealKeyRing([A], "required"))).seal).toMatchObject({ is: "forged" });
    expect(await nextBeat(harness, next, sealKeyRing([A], "required"))).toMatchObject(stops("SealMissing"));
  });
});

describe("a journal", () => {
  async function withJournal() {
    const harness = withSealKeys(createHarness(), sealKeyRing([A]));
    const payload = await beginRun(harness.world, agent, {});
    const next = await beatReply(attemptBeat(runnerOf(harness.world, agent), payload));
    await dieInTool(harness, { payload: next, agent });
    const row = harness.row(payload.run);
    expect(row.journal).not.toBeNull();
    const change = (to: Partial<Row>): void => void harness.world.store.rows.set(row.run, rewrittenRow(row, to));
    return { harness, row, change };
  }

  test("is sealed with the run and the snapshot that it follows", async () => {
    const { harness, row } = await withJournal();
    expect(await verdict(harness, row.run, sealKeyRing([A]))).toMatchObject({ seal: { is: "sealed" }, findings: [] });
  });

  test("is detected when it was rewritten or its seal was removed", async () => {
    const { harness, row, change } = await withJournal();
    const commits = decodeJournal(row.journal);
    change({ journal: encodeJournal(commits) });
    expect((await verdict(harness, row.run, sealKeyRing([A]))).findings).toContainEqual(
      expect.stringMatching(/^the journal: it has no seal/),
    );
    const sign = () => vouchFor(A, "journal", sha256("another one"));
    change({ journal: encodeJournal(commits, { seal: { of: row, sign } }) });
    expect((await verdict(harness, row.run, sealKeyRing([A]))).findings).toContainEqual(
      expect.stringMatching(/^the journal: it was not written/),
    );
    await expect(show({ ...harness.world, sealKeys: sealKeyRing([A]) }, row.run)).rejects.toMatchObject({
      code: "SealForged",
    });
  });
});

test("a run that is reset to an older sealed snapshot passes, because no seal covers later history", async () => {
  const { harness, run } = await twoBeats(sealKeyRing([A]));
  const row = harness.row(run);
  const kept = structuredClone(row);
  await drive(runnerOf(harness.world, agent), {
    run,
    born: row.born,
    chain: row.chain,
    epoch: row.epoch,
    agent: row.agent,
  });
  expect(harness.row(run).version).toBeGreaterThan(kept.version);
  harness.world.store.rows.set(run, kept);
  expect(await verdict(harness, run, sealKeyRing([A]))).toMatchObject({ seal: { is: "sealed" }, findings: [] });
});

describe("keys", () => {
  test("may change: snapshots of the old key are verified with the old key", async () => {
    const { harness, run, next } = await twoBeats(sealKeyRing([A]));
    await drive(runnerOf({ ...harness.world, sealKeys: sealKeyRing([B, A]) }, agent), next);
    expect(await verdict(harness, run, sealKeyRing([B, A]))).toEqual({
      seal: { is: "sealed", from: 0, keys: [B.key, A.key] },
      findings: [],
    });
    const { seal, findings } = await verdict(harness, run, sealKeyRing([B]));
    expect({ verdict: seal?.is, findings }).toEqual({
      verdict: "unjudged",
      findings: [expect.stringContaining(`it is sealed with key ${A.key}, which this process does not have`)],
    });
  });

  test("that a process lacks prevent it from continuing, and a process with them continues", async () => {
    const { harness, run, next } = await twoBeats(sealKeyRing([A]));
    expect(await nextBeat(harness, next, sealKeyRing([B]))).toMatchObject(stops("SealKeyUnknown"));
    const again = { ...next, epoch: harness.row(run).epoch };
    expect(again.epoch).toBeGreaterThan(0);
    const { harness: other, run: second, next: after } = await twoBeats(sealKeyRing([A]));
    expect(await nextBeat(other, after, NO_SEAL_KEYS)).toMatchObject(stops("SealKeyMissing"));
    expect(await show({ ...other.world, sealKeys: NO_SEAL_KEYS }, second)).toMatchObject({ status: "running" });
  });

  test("that are added later seal what is written from then on", async () => {
    const { harness, run, next } = await twoBeats(NO_SEAL_KEYS);
    const { version } = harness.row(run).snapshot;
    await drive(runnerOf({ ...harness.world, sealKeys: sealKeyRing([A]) }, agent), next);
    const { seal, findings } = await verdict(harness, run, sealKeyRing([A]));
    expect({ verdict: seal?.is, findings }).toEqual({ verdict: "sealed", findings: [] });
    expect(seal?.from).toBeGreaterThan(version);
  });

  test.each([
    ["64 hex digits", "0f".repeat(32), true],
    ["base64 of 32 bytes", Buffer.alloc(32, 7).toString("base64"), true],
    ["base64url", Buffer.alloc(32, 0xfb).toString("base64url"), true],
    ["with a line feed", `${"0f".repeat(32)}\n`, true],
    ["62 hex digits", "0f".repeat(31), false],
    ["words", "correct horse battery staple, which is long enough to be one", false],
    ["nothing", "", false],
  ])("are written as %s: %#", (_, text, is) => {
    expect(sealKeyIn(text) !== null).toBe(is);
  });

  test("make seals of one kind with one digest and one key", () => {
    const voucher = vouchFor(A, "snapshot", "digest");
    expect(isGenuine(A, "snapshot", { voucher, digest: "digest" })).toBe(true);
    expect(isGenuine(A, "journal", { voucher, digest: "digest" })).toBe(false);
    expect(isGenuine(A, "snapshot", { voucher, digest: "another" })).toBe(false);
    expect(isGenuine(B, "snapshot", { voucher, digest: "digest" })).toBe(false);
    expect(isGenuine(A, "snapshot", { voucher: { ...voucher, mac: "x" }, digest: "digest" })).toBe(false);
    expect(canonical(voucher)).not.toContain(Buffer.from(A.bytes).toString("hex"));
  });
});

test("sealing costs no call: a sealed run reads and writes the same objects", async () => {
  const callsWith = async (sealKeys: SealKeys) => {
    const harness = withSealKeys(createHarness(), sealKeys);
    const { world, gets, puts } = recordObjectCalls(harness.world);
    await drive(runnerOf(world, agent), await beginRun(world, agent, {}));
    return [gets, puts.map(({ key }) => key)];
  };
  expect(await callsWith(sealKeyRing([A]))).toEqual(await callsWith(NO_SEAL_KEYS));
});
