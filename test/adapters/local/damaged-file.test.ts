/** A damaged store file: writing commands are refused, reading commands show what is left, and all say what to type. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { atomically, openStore } from "../../../src/adapters/local/store/database.ts";
import { checkInBackground, checkedAt } from "../../../src/adapters/local/store/background-check.ts";
import { systemClock } from "../../../src/adapters/local/clock.ts";
import { virtualClock } from "../../../src/adapters/memory/clock.ts";
import { identityOf } from "../../../src/adapters/local/process-identity.ts";
import { executionsOf } from "../../../src/adapters/local/store/executions.ts";
import { inPlace } from "../../../src/adapters/local/store/in-place.ts";
import { temporaryDir } from "../../process/fixtures/store.ts";
import { beginRun, runnerOf, drive } from "../../support/harness/drive.ts";
import { scriptedAgent } from "../../support/harness/harness.ts";
import { limitsFor } from "../../../src/protocol/limits.ts";
import { withKernel } from "../../../src/features/compose.ts";
import { localWorld } from "../../../src/adapters/local/world.ts";
import { runCli } from "../../support/processes/cli-in-process.ts";

const PAGE_BYTES = 1_024;

/** A closed store with an ended run; one letter of its index by status has changed. */
async function damaged() {
  const dir = temporaryDir();
  const store = openStore({ dir, create: true });
  const world = withKernel(localWorld({ store, limits: limitsFor(3_000), telemetry: { record: () => {} } }));
  const payload = await beginRun(world, scriptedAgent({}), {});
  await drive(runnerOf(world, scriptedAgent({})), payload);
  const { rootpage } = store.rows.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'runsByStatus'").get() as {
    rootpage: number;
  };
  store.close();
  const file = join(dir, "cairn.sqlite");
  const bytes = readFileSync(file);
  const at = bytes.indexOf("completed", (rootpage - 1) * PAGE_BYTES);
  expect(Math.floor(at / PAGE_BYTES)).toBe(rootpage - 1);
  bytes[at] = "k".codePointAt(0) ?? 0;
  writeFileSync(file, bytes);
  return { dir, run: payload.run };
}

test("refuses a command that writes and says what to type when the file is damaged", async () => {
  const { dir, run } = await damaged();
  const { exit, err } = await runCli(dir, "send", run, "hello");
  expect({ exit, err }).toEqual({
    exit: 5,
    err: expect.stringContaining(`error StoreDamaged: the store at ${dir} is damaged`),
  });
  expect(err).toContain("missing from index runsByStatus");
  expect(err).toContain("restore cairn.sqlite from a backup");
  expect(err).toContain(`next: npx cairn doctor --store ${dir}`);
});

test("lets a command that reads warn and show what is left; the doctor names the fault", async () => {
  const { dir, run } = await damaged();
  const shown = await runCli(dir, "show", run);
  expect({ exit: shown.exit, out: shown.out }).toEqual({ exit: 0, out: expect.stringContaining("completed") });
  expect(shown.err).toContain(`warning: the store at ${dir} is damaged`);
  const { exit, out } = await runCli(dir, "doctor", "--json");
  const { checks } = JSON.parse(out) as { checks: readonly { id: string }[] };
  expect({ exit, check: checks.find(({ id }) => id === "store-whole") }).toMatchObject({
    exit: 1,
    check: { status: "fail", why: expect.stringContaining("missing from index runsByStatus") },
  });
});

/** Adds an object, so that the file is too large for a check at open. */
function enlarge(dir: string): void {
  const file = new DatabaseSync(join(dir, "cairn.sqlite"));
  file.prepare("INSERT INTO objects (key, bytes, putAt) VALUES ('x', zeroblob(?), 0)").run(33 * 1024 * 1024);
  file.close();
}

test("a large file is checked at open only if its supervisor ended with its machine", async () => {
  const { dir } = await damaged();
  enlarge(dir);
  openStore({ dir, create: false }).close();
  const store = openStore({ dir, create: false, check: "supervisor" });
  const self = identityOf(process.pid);
  const record = (startedAt: string): void => {
    store.rows.prepare("INSERT OR REPLACE INTO supervisor VALUES (1, 1, ?, 0)").run(startedAt);
  };
  record(self?.startedAt ?? "");
  openStore({ dir, create: false, check: "supervisor" }).close();
  record("another-boot:1");
  openStore({ dir, create: false }).close();
  expect(() => openStore({ dir, create: false, check: "supervisor" })).toThrow("runsByStatus");
  store.close();
});

test("the check of a large file beside the work finds its damage", async () => {
  const { dir } = await damaged();
  enlarge(dir);
  const store = openStore({ dir, create: false, check: "supervisor" });
  const damage = await new Promise<Error>((resolve) => {
    checkInBackground(store, { clock: systemClock, onDamaged: resolve });
  });
  expect(damage).toMatchObject({ code: "StoreDamaged", message: expect.stringContaining("runsByStatus") });
  expect(checkedAt(store)).toBe(0);
  store.close();
});

test("the check beside the work says so where a page cannot be read at all", async () => {
  const dir = temporaryDir();
  const filled = openStore({ dir, create: true });
  const insert = filled.rows.prepare(
    "INSERT INTO runs (run, tenant, agent, asks, status, statusSince, alive, row) VALUES (?, 'local', 'a', 0, 'completed', ?, 0, ?)",
  );
  filled.rows.exec("BEGIN");
  for (let index = 0; index < 60; index += 1) insert.run(`local-${index}`, index, "x".repeat(300));
  filled.rows.exec("COMMIT");
  const { pageno } = filled.rows
    .prepare("SELECT pageno FROM dbstat WHERE name = 'runs' AND pagetype = 'leaf' LIMIT 1")
    .get() as { readonly pageno: number };
  filled.close();
  enlarge(dir);
  const file = join(dir, "cairn.sqlite");
  const bytes = readFileSync(file);
  bytes.fill(0xff, (pageno - 1) * PAGE_BYTES, pageno * PAGE_BYTES);
  writeFileSync(file, bytes);
  const store = openStore({ dir, create: false, check: "supervisor" });
  const damage = await new Promise<Error>((resolve) => {
    checkInBackground(store, { clock: systemClock, onDamaged: resolve });
  });
  expect(damage).toMatchObject({ code: "StoreDamaged" });
  store.close();
});

/** A clock of the test, and what comes next: the end of the check under way, when the next one is due. */
function checkClock(startAt: number) {
  const clock = virtualClock(startAt);
  let heard = Promise.withResolvers<number>();
  const after: typeof clock.after = (delayMs, call) => {
    heard.resolve(delayMs);
    return clock.after(delayMs, call);
  };
  /** How long the check then waits, in days. */
  const pause = async (): Promise<number> => {
    const ms = await heard.promise;
    heard = Promise.withResolvers<number>();
    return ms / DAY_MS;
  };
  return { clock: { ...clock, after }, pause, moveTo: clock.moveTo, next: clock.next };
}

const DAY_MS = 86_400_000;
const noDamage = (damage: Error): void => {
  throw damage;
};

test("an undamaged file is checked daily while its supervisor lives, also one that was small, and behind the tables that are done", async () => {
  const dir = temporaryDir();
  const store = openStore({ dir, create: true });
  const { clock, pause, moveTo, next } = checkClock(DAY_MS);
  const stop = checkInBackground(store, { clock, onDamaged: noDamage });
  // It is small.
  expect({ pause: await pause(), checkedAt: checkedAt(store) }).toEqual({ pause: 1, checkedAt: 0 });
  enlarge(dir);
  for (const day of [2, 3]) {
    moveTo(day * DAY_MS);
    expect({ pause: await pause(), checkedAt: checkedAt(store) }).toEqual({ pause: 1, checkedAt: day * DAY_MS });
  }
  stop();
  expect(next()).toBeNull();
  // The next supervisor waits for what is left of the day.
  const later = checkClock(3.75 * DAY_MS);
  const stopLater = checkInBackground(store, { clock: later.clock, onDamaged: noDamage });
  expect(await later.pause()).toBe(0.25);
  stopLater();
  const done = store.rows.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'runs'").all();
  const plan = { at: 1, done: done.map(({ name }) => name) };
  store.rows.prepare("UPDATE meta SET value = ? WHERE name = 'checked'").run(JSON.stringify(plan));
  const last = checkClock(5 * DAY_MS);
  const stopLast = checkInBackground(store, { clock: last.clock, onDamaged: noDamage });
  expect({ pause: await last.pause(), checkedAt: checkedAt(store) }).toEqual({ pause: 1, checkedAt: 5 * DAY_MS });
  stopLast();
  store.close();
});

test("a check that cannot be stored is made again after an hour", async () => {
  const dir = temporaryDir();
  const store = openStore({ dir, create: true });
  enlarge(dir);
  store.rows.exec("CREATE TRIGGER full BEFORE INSERT ON meta BEGIN SELECT RAISE(ABORT, 'full'); END");
  const { clock, pause, moveTo } = checkClock(2 * DAY_MS);
  const stop = checkInBackground(store, { clock, onDamaged: noDamage });
  expect(await pause()).toBe(1 / 24);
  store.rows.exec("DROP TRIGGER full");
  moveTo(clock.now() + DAY_MS / 24);
  expect({ pause: await pause(), checkedAt: checkedAt(store) }).toEqual({
    pause: 1,
    checkedAt: 2 * DAY_MS + DAY_MS / 24,
  });
  stop();
  store.close();
});

test("an execution whose checksum does not match counts as ended", () => {
  const dir = temporaryDir();
  const store = openStore({ dir, create: true });
  const executions = executionsOf(store);
  const payload = { run: "local-run", born: "born", chain: 1, epoch: 4, agent: "clerk" };
  executions.start({ name: "one", payload, now: 5 });
  executions.start({ name: "two", payload, now: 6 });
  store.rows.exec("UPDATE executions SET retry = 7 WHERE name = 'one'");
  expect(executions.start({ name: "one", payload, now: 7 })).toMatchObject({ stage: "ended" });
  expect(executions.begin("two", 6)).toMatchObject({ name: "two", retry: 0 });
  store.close();
});

test("finds no lost commit when another process commits while the store is opened", () => {
  const dir = temporaryDir();
  const [opening, other] = [openStore({ dir, create: true }), openStore({ dir, create: false })];
  let commits = 0;
  const commit = () => {
    commits += 1;
    atomically(other, () => other.rows.exec(`INSERT INTO removed VALUES ('run', 'born ${commits}', 0, 0)`));
  };
  // The other process commits, and writes the mark, right after each time that this one has read the number of commits.
  const prepare = (sql: string) => {
    const statement = opening.rows.prepare(sql);
    if (!sql.includes("count FROM commits")) return statement;
    const get = () => {
      const read = statement.get();
      commit();
      return read;
    };
    return { get };
  };
  const place = inPlace({ dir, file: join(dir, "cairn.sqlite"), rows: { prepare } as unknown as DatabaseSync });
  expect(place.lacks).toBe(0);
  expect(commits).toBeGreaterThan(0);
  place.close();
  for (const store of [opening, other]) store.close();
});

test("refuses a store whose tables have changed names, before it reads or writes one of them", () => {
  const dir = temporaryDir();
  openStore({ dir, create: true }).close();
  const file = join(dir, "cairn.sqlite");
  const bytes = readFileSync(file);
  const at = bytes.indexOf("seconds INTEGER");
  expect(at).toBeGreaterThan(0);
  bytes.write("sesonds", at);
  writeFileSync(file, bytes);
  for (const check of ["none", "worker", "bounded"] as const) {
    expect(() => openStore({ dir, create: false, check })).toThrow("its tables are not those that were made");
  }
});
