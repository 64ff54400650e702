/** Keyed seals: a forged history is named by a process with the key, and by no other one. */
import { describe, expect, test } from "vitest";
import { canonical, sha256 } from "../../src/codec/canonical.ts";
import { encodeJournal, decodeJournal } from "../../src/codec/snapshot.ts";
import { isGenuine, sealKeyIn, vouchFor } from "../../src/codec/voucher.ts";
import type { Row } from "../../src/protocol/row.ts";
import { NO_SEAL_KEYS, type SealKeys } from "../../src/ports/seal-keys.ts";
import { show } from "../../src/operations/views.ts";
import { verify } from "../../src/history/verify.ts";
import { attempt, begin, drive, runnerOf } from "../support/drive.ts";
import { recorded } from "../support/history.ts";
import { forge, keyOf, ring, stripped, withKeys } from "../support/seals.ts";
import { rewritten as rewrittenRow } from "../support/rewritten.ts";
import { type Stage, actor, callsThenOver, dieInTool, replyOf, rowOf, stage } from "../support/stage.ts";

const [A, B] = [keyOf("a"), keyOf("b")];
const agent = actor({ reply: callsThenOver(3) });
const rewritten = (text: string): string => text.replaceAll('"acted"', '"forged"');

/** A run after two beats, of a process with these keys; what is stored is the same for every other process. */
async function twoBeats(sealKeys: SealKeys) {
  const on = withKeys(stage(), sealKeys);
  const payload = await begin(on.world, agent, {});
  const runner = runnerOf(on.world, agent);
  const next = await replyOf(attempt(runner, await replyOf(attempt(runner, payload))));
  return { on, run: payload.run, next };
}

async function verdict({ world }: Stage, run: string, sealKeys: SealKeys) {
  const verified = await verify({ ...world, sealKeys }, { run });
  return { seal: verified?.seal, findings: verified?.findings.map(({ where, what }) => `${where}: ${what}`) };
}

/** How the beat of a process with these keys ends, and why. */
async function goOn(on: Stage, next: Parameters<typeof attempt>[1], sealKeys: SealKeys) {
  const alarms: unknown[] = [];
  const telemetry = {
    record: (each: { level: string; detail: object }) => void (each.level === "alarm" && alarms.push(each.detail)),
  };
  const world = { ...on.world, sealKeys, telemetry };
  const { route } = await replyOf(attempt(runnerOf(world, agent), next));
  return { route, alarms };
}

const stops = (code: string) => ({
  route: "superseded",
  alarms: [{ why: expect.stringMatching(new RegExp(`^${code}: `)) }],
});

describe("a history whose old result was rewritten, with digests that fit", () => {
  test("passes where it is not sealed", async () => {
    const { on, run } = await twoBeats(NO_SEAL_KEYS);
    forge(on, run, rewritten);
    expect(await verdict(on, run, NO_SEAL_KEYS)).toEqual({
      seal: { is: "unsealed", from: null, keys: [] },
      findings: [],
    });
    expect(await verdict(on, run, ring([A]))).toMatchObject({ seal: { is: "unsealed" }, findings: [] });
  });

  test("is named by a process with the key, which does not go on with it", async () => {
    const { on, run, next } = await twoBeats(ring([A]));
    expect(await verdict(on, run, ring([A]))).toEqual({ seal: { is: "sealed", from: 0, keys: [A.key] }, findings: [] });
    forge(on, run, rewritten);
    const { seal, findings } = await verdict(on, run, ring([A]));
    expect(seal).toMatchObject({ is: "forged" });
    expect(findings).toContainEqual(
      expect.stringMatching(new RegExp(`^snapshot \\d: it was not written with key ${A.key}, which its seal names$`)),
    );
    expect(await goOn(on, next, ring([A]))).toMatchObject(stops("SealForged"));
    await expect(show({ ...on.world, sealKeys: ring([A]) }, run)).rejects.toMatchObject({ code: "SealForged" });
  });

  test("is not named without the key, which verify says", async () => {
    const { on, run } = await twoBeats(ring([A]));
    forge(on, run, rewritten);
    expect(await verdict(on, run, NO_SEAL_KEYS)).toEqual({
      seal: { is: "unjudged", from: 0, keys: [A.key] },
      findings: [],
    });
  });

  test("is named where the forger takes seals away", async () => {
    const { on, run, next } = await twoBeats(ring([A]));
    const { version } = rowOf(on, run).snapshot;
    forge(on, run, (text, at) => (at === version ? stripped(rewritten(text)) : text));
    expect((await verdict(on, run, ring([A]))).seal).toMatchObject({ is: "forged" });
    expect((await verdict(on, run, NO_SEAL_KEYS)).findings).toContainEqual(expect.stringContaining("it has no seal"));
    expect(await goOn(on, next, ring([A]))).toMatchObject(stops("SealMissing"));
  });

  test("looks unsealed where the forger takes all seals away: only a process that requires them names it", async () => {
    const { on, run, next } = await twoBeats(ring([A]));
    forge(on, run, (text) => stripped(rewritten(text)));
    expect(await verdict(on, run, ring([A]))).toMatchObject({ seal: { is: "unsealed" }, findings: [] });
    expect((await verdict(on, run, ring([A], "required"))).seal).toMatchObject({ is: "forged" });
    expect(await goOn(on, next, ring([A], "required"))).toMatchObject(stops("SealMissing"));
  });
});

describe("a journal", () => {
  async function withJournal() {
    const on = withKeys(stage(), ring([A]));
    const payload = await begin(on.world, agent, {});
    const next = await replyOf(attempt(runnerOf(on.world, agent), payload));
    await dieInTool(on, { payload: next, agent });
    const row = rowOf(on, payload.run);
    expect(row.journal).not.toBeNull();
    const change = (to: Partial<Row>): void => void on.world.store.rows.set(row.run, rewrittenRow(row, to));
    return { on, row, change };
  }

  test("is sealed with the run and the snapshot that it follows", async () => {
    const { on, row } = await withJournal();
    expect(await verdict(on, row.run, ring([A]))).toMatchObject({ seal: { is: "sealed" }, findings: [] });
  });

  test("that was rewritten, or whose seal was taken away, is named", async () => {
    const { on, row, change } = await withJournal();
    const commits = decodeJournal(row.journal);
    change({ journal: encodeJournal(commits) });
    expect((await verdict(on, row.run, ring([A]))).findings).toContainEqual(
      expect.stringMatching(/^the journal: it has no seal/),
    );
    const sign = () => vouchFor(A, "journal", sha256("another one"));
    change({ journal: encodeJournal(commits, { of: row, sign }) });
    expect((await verdict(on, row.run, ring([A]))).findings).toContainEqual(
      expect.stringMatching(/^the journal: it was not written/),
    );
    await expect(show({ ...on.world, sealKeys: ring([A]) }, row.run)).rejects.toMatchObject({ code: "SealForged" });
  });
});

test("a run that is put back to an older sealed snapshot passes: no seal tells what came after it", async () => {
  const { on, run } = await twoBeats(ring([A]));
  const row = rowOf(on, run);
  const kept = structuredClone(row);
  await drive(runnerOf(on.world, agent), { run, born: row.born, chain: row.chain, epoch: row.epoch, agent: row.agent });
  expect(rowOf(on, run).version).toBeGreaterThan(kept.version);
  on.world.store.rows.set(run, kept);
  expect(await verdict(on, run, ring([A]))).toMatchObject({ seal: { is: "sealed" }, findings: [] });
});

describe("keys", () => {
  test("may change: what the old one sealed is judged with it", async () => {
    const { on, run, next } = await twoBeats(ring([A]));
    await drive(runnerOf({ ...on.world, sealKeys: ring([B, A]) }, agent), next);
    expect(await verdict(on, run, ring([B, A]))).toEqual({
      seal: { is: "sealed", from: 0, keys: [B.key, A.key] },
      findings: [],
    });
    const { seal, findings } = await verdict(on, run, ring([B]));
    expect([seal?.is, findings]).toEqual([
      "unjudged",
      [expect.stringContaining(`it is sealed with key ${A.key}, which this process does not have`)],
    ]);
  });

  test("that a process lacks keep it from going on, and not from being asked again with them", async () => {
    const { on, run, next } = await twoBeats(ring([A]));
    expect(await goOn(on, next, ring([B]))).toMatchObject(stops("SealKeyUnknown"));
    const again = { ...next, epoch: rowOf(on, run).epoch };
    expect(again.epoch).toBeGreaterThan(0);
    const { on: other, run: second, next: after } = await twoBeats(ring([A]));
    expect(await goOn(other, after, NO_SEAL_KEYS)).toMatchObject(stops("SealKeyMissing"));
    expect(await show({ ...other.world, sealKeys: NO_SEAL_KEYS }, second)).toMatchObject({ status: "running" });
  });

  test("that come later seal what is written from then on", async () => {
    const { on, run, next } = await twoBeats(NO_SEAL_KEYS);
    const { version } = rowOf(on, run).snapshot;
    await drive(runnerOf({ ...on.world, sealKeys: ring([A]) }, agent), next);
    const { seal, findings } = await verdict(on, run, ring([A]));
    expect([seal?.is, findings]).toEqual(["sealed", []]);
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

  test("make seals that are of one kind, one digest and one key", () => {
    const voucher = vouchFor(A, "snapshot", "digest");
    expect(isGenuine(A, "snapshot", { voucher, digest: "digest" })).toBe(true);
    expect(isGenuine(A, "journal", { voucher, digest: "digest" })).toBe(false);
    expect(isGenuine(A, "snapshot", { voucher, digest: "another" })).toBe(false);
    expect(isGenuine(B, "snapshot", { voucher, digest: "digest" })).toBe(false);
    expect(isGenuine(A, "snapshot", { voucher: { ...voucher, mac: "x" }, digest: "digest" })).toBe(false);
    expect(canonical(voucher)).not.toContain(Buffer.from(A.bytes).toString("hex"));
  });
});

test("sealing costs no call: a run with seals reads and writes the same objects", async () => {
  const callsWith = async (sealKeys: SealKeys) => {
    const on = withKeys(stage(), sealKeys);
    const { world, gets, puts } = recorded(on.world);
    await drive(runnerOf(world, agent), await begin(world, agent, {}));
    return [gets, puts.map(({ key }) => key)];
  };
  expect(await callsWith(ring([A]))).toEqual(await callsWith(NO_SEAL_KEYS));
});
