/** A store is backed up while real processes advance its runs; elsewhere, every run of the backup continues. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it, onTestFinished } from "vitest";
import { openStore } from "../../../src/adapters/local/store/database.ts";
import { childrenOf, supervisorOf } from "../../../src/adapters/local/store/processes.ts";
import { show } from "../../../src/operations/views.ts";
import { withKernel } from "../../../src/features/compose.ts";
import { localWorld } from "../../../src/adapters/local/world.ts";
import { LIMITS } from "../../support/gate/limits.ts";
import { assertSafety, requireEvent, waitUntil } from "../../support/gate/safety.ts";
import { runCli } from "../../support/processes/cli-in-process.ts";
import { parseJsonLines } from "../../support/processes/cli-process.ts";
import { externalServiceOf, startEffectsRun } from "../../support/processes/effects-runs.ts";
import { MAIN } from "../../support/processes/program.ts";
import {
  type ProcessHarness,
  createProcessHarness,
  startSupervisorProcess,
} from "../../support/processes/supervisor-process.ts";

const RUNS = 50;
const SCENE = { timeout: 2 * LIMITS.sceneMs };

function temporary(): string {
  const dir = mkdtempSync(join(tmpdir(), "cairn-backup-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true, maxRetries: 5 }));
  return dir;
}

/** The harness of a restored store, whose external service is still that of the original. */
function harnessAt(dir: string, of: ProcessHarness): ProcessHarness {
  const store = openStore({ dir, create: false });
  onTestFinished(() => store.close());
  const { limits, telemetry } = of.world;
  symlinkSync(join(of.dir, "other-side.sqlite"), join(dir, "other-side.sqlite"));
  return { ...of, dir, store, world: withKernel(localWorld({ store, limits, telemetry })) };
}

/** Writes bytes into the file until its check must find them. */
function damage(file: string): void {
  const bytes = readFileSync(file);
  bytes.fill(0xff, 8_192, 16_384);
  writeFileSync(file, bytes);
}

const statusIn = async ({ world }: ProcessHarness, run: string): Promise<string | undefined> =>
  (await world.table.read(run, Date.now()))?.status;

/** Answers each question of the restored runs by what the service knows of its key. */
async function answerBy({ dir, world }: ProcessHarness, has: (key: string) => boolean): Promise<void> {
  const { rows } = await world.table.list({
    tenant: "local",
    status: "blocked",
    limit: 100,
    after: null,
    now: Date.now(),
  });
  for (const { run } of rows) {
    for (const { call, key, answered } of (await show(world, run))?.unknown ?? [])
      if (!answered) await runCli(dir, "reconcile", run, call, "--as", has(key) ? "succeeded" : "retry");
  }
}

/** Waits until every run has ended. None of them may be lost or fail. */
async function allComplete(harness: ProcessHarness, runs: readonly string[]): Promise<void> {
  const open = async () => (await harness.world.table.alive({ limit: 1, after: null, now: Date.now() })).rows;
  await expect.poll(open, { interval: 200, timeout: LIMITS.sceneMs }).toEqual([]);
  const statuses = await Promise.all(runs.map((run) => statusIn(harness, run)));
  assertSafety("every run completes", () => expect(statuses).toEqual(runs.map(() => "completed")));
}

/** The copy gets its name by a link. A process that begins with this waits there until it is killed. */
const NEVER_LINKS = `data:text/javascript,${encodeURIComponent(`
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
fs.linkSync = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
syncBuiltinESMExports();
`)}`;

/** The calls of the runs. */
async function callsOf(dir: string, runs: readonly string[]): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const ledgers = await Promise.all(runs.map(async (run) => (await runCli(dir, "ledger", run, "--json")).out));
  return parseJsonLines(ledgers.join(""));
}

describe("a store under load", () => {
  it("is backed up without a pause, and elsewhere every run continues with the same keys", SCENE, async () => {
    // Probes wait until the lease is over.
    const at = createProcessHarness({ CAIRN_BEAT_SECONDS: String(LIMITS.shortBeatMs / 1_000) });
    const service = externalServiceOf(at);
    const started = [];
    for (let index = 0; index < RUNS; index += 1) {
      const task = { of: `run-${index}`, steps: ["book", "ship", "book", "ship"], paceMs: 10 } as const;
      started.push(await startEffectsRun(at, task));
    }
    const runs = started.map(({ run }) => run);
    const original = startSupervisorProcess(at);
    // Asked often: the backup is made, and the original killed, while most effects are still to come.
    await expect.poll(() => service.effects().length, { interval: 10 }).toBeGreaterThan(RUNS / 2);
    const place = temporary();
    const file = join(place, "store.backup");
    const before = service.effects().length;
    const beforeBackup = service.requests().map(({ key }) => key);
    const { exit, out } = await runCli(at.dir, "backup", file);
    expect({ exit, out }).toEqual({ exit: 0, out: expect.stringContaining("checked") });
    // The original went on meanwhile, and goes on.
    await expect.poll(() => service.effects().length, { interval: 10 }).toBeGreaterThan(before + RUNS / 5);
    expect(readdirSync(place)).toEqual(["store.backup"]);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    await original.kill("SIGKILL");

    const dir = join(place, "restored");
    const restored = await runCli(dir, "restore", file);
    expect({ exit: restored.exit, err: restored.err }).toEqual({ exit: 0, err: "" });
    const there = harnessAt(dir, at);
    // It knows nothing of the processes of the original.
    expect({ supervisor: supervisorOf(there.store), children: childrenOf(there.store).all() }).toEqual({
      supervisor: null,
      children: [],
    });
    const live = (await there.world.table.alive({ limit: 100, after: null, now: Date.now() })).rows;
    expect(live.every(({ pause, epoch }) => pause && epoch >= 1_000_000)).toBe(true);
    for (const { run } of live) expect((await runCli(dir, "resume", run)).exit).toBe(0);
    startSupervisorProcess(there);
    const has = (key: string): boolean => service.effects().some((each) => each.key === key);
    const open = async (): Promise<number> => {
      await answerBy(there, has);
      return (await there.world.table.alive({ limit: 100, after: null, now: Date.now() })).rows.length;
    };
    await waitUntil(async () => expect(await open()).toBe(0), LIMITS.sceneMs);
    await allComplete(there, runs);
    const effects = service.effects();
    const steps = new Map<string, Set<string>>();
    for (const { of, step, key } of service.requests()) {
      const name = `${of} ${step}`;
      steps.set(name, (steps.get(name) ?? new Set()).add(key));
    }
    // Each step of each run has one key, before the backup and after the restore. So a booking has one effect.
    expect([...steps].filter(([, keys]) => keys.size !== 1)).toEqual([]);
    const effectsOf = (key: unknown): number => effects.filter((each) => each.key === key).length;
    const keys = [...steps.values()].flatMap((each) => [...each]);
    // On a slow machine a call may end without an attempt, or without an answer. Then its record never says "succeeded".
    const calls = await callsOf(dir, runs);
    expect(calls.length).toBe(RUNS * 4);
    const done = calls.filter(({ status }) => status === "succeeded");
    requireEvent("most calls ended before a timeout", done.length > RUNS * 3);
    // `ship` honours no key. What came after the backup was asked about, so it is not repeated either.
    assertSafety("no effect is lost or doubled", () => {
      expect(done.filter(({ key }) => effectsOf(key) === 0)).toEqual([]);
      expect(keys.filter((key) => effectsOf(key) > 1)).toEqual([]);
    });
    expect(beforeBackup.length).toBeGreaterThan(RUNS / 2);
  });

  it("has no backup under its name when the backup is killed, and the next one removes what was left", async () => {
    const at = createProcessHarness();
    at.store.rows.exec(
      "CREATE TEMP TABLE numbers AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n LIMIT 20) SELECT i FROM n",
    );
    at.store.rows.exec("INSERT INTO objects SELECT 'filler/' || i, randomblob(1000000), 0 FROM numbers");
    const place = temporary();
    const file = join(place, "store.backup");
    const child = spawn(process.execPath, ["--import", NEVER_LINKS, MAIN, "backup", file, "--store", at.dir], {
      stdio: "ignore",
    });
    const isWriting = (): boolean => readdirSync(place).some((name) => statSync(join(place, name)).size > 0);
    await waitUntil(() => expect(isWriting()).toBe(true), LIMITS.eventMs);
    const exit = once(child, "exit");
    child.kill("SIGKILL");
    await exit;
    expect(existsSync(file)).toBe(false);
    const left = readdirSync(place);
    expect(left.every((name) => name.startsWith("store.backup.part-"))).toBe(true);
    expect(left.length).toBeGreaterThan(0);
    expect((await runCli(at.dir, "backup", file)).exit).toBe(0);
    expect(readdirSync(place)).toEqual(["store.backup"]);
  });
});

describe("a backup", () => {
  it("is refused by name when it is damaged, cut, or no backup, and nothing is made", async () => {
    const at = createProcessHarness();
    for (let index = 0; index < 30; index += 1) await startEffectsRun(at, { of: `run-${index}`, steps: ["look"] });
    const place = temporary();
    const file = join(place, "store.backup");
    expect((await runCli(at.dir, "backup", file)).exit).toBe(0);
    const [damaged, cut, other, text] = ["damaged", "cut", "other", "text"].map((name) => join(place, name));
    copyFileSync(file, damaged ?? "");
    damage(damaged ?? "");
    writeFileSync(cut ?? "", readFileSync(file).subarray(0, 20_000));
    new DatabaseSync(other ?? "").exec("CREATE TABLE t (x)");
    writeFileSync(text ?? "", "not a database");
    const codes: unknown[] = [];
    for (const each of [damaged, cut, other, text, join(place, "missing")]) {
      const { exit, err } = await runCli(join(place, "restored"), "restore", each ?? "");
      expect({ exit, err }).toEqual({ exit: 4, err: expect.stringContaining(String(each)) });
      codes.push(/error (\w+):/.exec(err)?.[1]);
    }
    expect(codes).toEqual(["BackupDamaged", "BackupDamaged", "BackupInvalid", "BackupDamaged", "BackupInvalid"]);
    expect(readdirSync(place).filter((name) => name.startsWith("restored"))).toEqual([]);
    const missing = await runCli(join(place, "restored"), "restore", join(place, "missing"));
    expect(missing.err).toMatch(/^why: there is no such file$/m);
    expect(missing.err).toMatch(/^next: npx cairn restore ANOTHER_FILE --store \S+restored$/m);
  });

  it("never replaces a file, and a restore never goes where something is", async () => {
    const at = createProcessHarness();
    const file = join(temporary(), "store.backup");
    expect((await runCli(at.dir, "backup", file)).exit).toBe(0);
    const bytes = readFileSync(file);
    const again = await runCli(at.dir, "backup", file);
    expect({ exit: again.exit, err: again.err }).toEqual({
      exit: 4,
      err: expect.stringContaining("error BackupExists"),
    });
    expect(readFileSync(file).equals(bytes)).toBe(true);
    const over = await runCli(at.dir, "restore", file);
    expect({ exit: over.exit, err: over.err }).toEqual({
      exit: 4,
      err: expect.stringContaining("error RestoreRefused"),
    });
  });
});
