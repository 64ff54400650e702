/** A store that another process holds: what a worker says and repeats, and how the holder is found. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, onTestFinished, test } from "vitest";
import { atomically, openStore } from "../../../src/adapters/local/store/database.ts";
import { drivenStore } from "../../../src/adapters/local/store/driven-store.ts";
import { storeHolder } from "../../../src/adapters/local/store/store-holder.ts";
import { patientPorts } from "../../../src/adapters/local/store/patient-ports.ts";
import { StoreHeld } from "../../../src/adapters/local/store/store-errors.ts";
import { heardFrom } from "../../../src/workers/wire.ts";
import { startSupervisor } from "../../../src/workers/supervisor.ts";
import { StoreTime } from "../../../src/engine/context/store-time.ts";
import { resolveAmbiguousWrite } from "../../../src/history/resolve-ambiguous-write.ts";
import { limitsFor } from "../../../src/protocol/limits.ts";
import { COMMIT } from "../../../src/protocol/row-commit.ts";
import { CLAIM } from "../../../src/protocol/row-claim.ts";
import { PARK } from "../../../src/protocol/row-park.ts";
import { withCalls } from "../../../src/testing/decisions.ts";
import { type Harness, createChainHarness } from "../../support/harness/harness.ts";

const untilOver = (harness: Harness, ms: number): Promise<void> =>
  new Promise((resolve) => void harness.world.clock.after(ms, resolve));

test("that message is one of the wire, and one without a secret is none", () => {
  const message = { kind: "holdsOn", secret: "s", why: "held" };
  expect(heardFrom(message)).toEqual(message);
  expect(heardFrom({ kind: "holdsOn" })).toBeNull();
});

describe("the ports of a worker", () => {
  const harness = createChainHarness();
  const held = new StoreHeld("held");

  test("repeat what was refused because the store is held, without blocking the process", async () => {
    let tries = 0;
    const unread = async () => {
      tries += 1;
      if (tries < 4) throw held;
      return [];
    };
    const inbox = { ...harness.world.inbox, unread };
    const { inbox: patient } = patientPorts({ ...harness.world, inbox });
    expect(await harness.advanceUntilSettled(patient.unread({} as never))).toEqual([]);
    expect(tries).toBe(4);
  });

  test("give up after a bounded time, and at once after any other error", async () => {
    const begun = harness.clock.now();
    const refusing = (error: Error) => {
      const inbox = {
        ...harness.world.inbox,
        unread: async (): Promise<never> => {
          throw error;
        },
      };
      return patientPorts({ ...harness.world, inbox }).inbox.unread({} as never);
    };
    await expect(harness.advanceUntilSettled(refusing(held))).rejects.toBe(held);
    const waitedMs = harness.clock.now() - begun;
    expect(waitedMs).toBeGreaterThanOrEqual(5_000);
    await expect(harness.advanceUntilSettled(refusing(new Error("a bug")))).rejects.toThrow("a bug");
    expect(harness.clock.now() - begun).toBe(waitedMs);
  });

  test("answer a claim and a commit as busy, since their beat knows how long it can wait", async () => {
    const refuse = () => Promise.reject(held);
    const table = withCalls(harness.world.table, { claim: refuse, commit: refuse });
    const { table: patient } = patientPorts({ ...harness.world, table });
    const busy = { kind: "ambiguous", why: "held", isBusy: true };
    expect(await harness.advanceUntilSettled(patient.decide({} as never, CLAIM))).toEqual(busy);
    expect(await harness.advanceUntilSettled(patient.decide({} as never, COMMIT))).toEqual(busy);
  });

  test("say who holds the store where the time of an invocation ends before a wait does, and nothing afterwards", async () => {
    let isHeld = true;
    const said = "process 7 is stopped and holds it";
    const access = async (): Promise<never> => {
      if (isHeld) throw new StoreHeld(said);
      throw new Error("over");
    };
    const table = { ...withCalls(harness.world.table, { park: access, commit: access }), read: access };
    const patient = patientPorts({ ...harness.world, table });
    const time = new StoreTime(patient, { deadline: harness.clock.now() + patient.limits.drainMs / 2 + 100 });
    const why = `the table did not answer within the time of this invocation: ${said}`;
    const parked = await harness.advanceUntilSettled(time.world.table.decide({} as never, PARK));
    expect(parked).toEqual({ kind: "ambiguous", why });
    const late = expect.objectContaining({ message: `${why}; the run goes on once it answers` });
    await expect(harness.advanceUntilSettled(time.world.table.read("r", 0))).rejects.toEqual(late);
    // A commit answers for itself, and a release by the same rule once it has been sent as often as it may be.
    const sent = resolveAmbiguousWrite(
      () => time.world.table.decide({} as never, PARK),
      () => null,
    );
    await expect(harness.advanceUntilSettled(sent)).rejects.toThrow(
      `a write was sent 5 times without an answer: ${why}`,
    );
    isHeld = false;
    expect(patient.heldBy?.()).toBe(said);
    await harness.advanceUntilSettled(untilOver(harness, 1_000));
    expect(patient.heldBy?.()).toBeNull();
  });

  test("answer soon that a record is busy, since the commit that needs it knows how long it can wait", async () => {
    const refuse = () => Promise.reject(held);
    const records = { ...harness.world.records, add: refuse, replace: refuse, overwriteDamaged: refuse };
    const { records: patient } = patientPorts({ ...harness.world, records });
    for (const name of ["add", "replace", "overwriteDamaged"] as const) {
      const begun = harness.clock.now();
      const written: Promise<unknown> = patient[name]({} as never, 0);
      const outcome = await harness.advanceUntilSettled(written);
      expect(outcome).toEqual({ kind: "ambiguous", why: "held", isBusy: true });
      expect(harness.clock.now() - begun).toBeLessThan(1_000);
    }
  });
});

describe("the process that holds the store", () => {
  const LISTED = [
    "1: POSIX  ADVISORY  READ 51 fe:00:77 128 128",
    "2: POSIX  ADVISORY  WRITE 42 fe:00:77 120 120",
    "2: -> POSIX  ADVISORY  WRITE 43 fe:00:77 120 120",
    "3: POSIX  ADVISORY  WRITE 44 fe:00:78 120 120",
    "4: FLOCK  ADVISORY  WRITE 45 fe:00:77 0 EOF",
  ].join("\n");
  const files = (state: string, locks = LISTED): Record<string, string> => ({
    "/proc/locks": locks,
    "/proc/42/comm": "node (a)\u001b[2J\n",
    "/proc/42/stat": `42 (node ) T (a)) ${state} 1 42`,
  });
  const source = (found: Record<string, string>, self = 1) => ({
    read: (path: string): string => {
      const text = found[path];
      if (text === undefined) throw new Error(`no file ${path}`);
      return text;
    },
    inode: () => 77,
    self,
  });

  test("is named with its program, and with its state where it is stopped", () => {
    const seen = { pid: 42, program: "node ?a???2J" };
    expect(storeHolder("/store", source(files("T")))).toEqual({ ...seen, isStopped: true });
    expect(storeHolder("/store", source(files("S")))).toEqual({ ...seen, isStopped: false });
  });

  test("is not named where the system does not say it for sure", () => {
    expect(storeHolder("/store", source({}))).toBeNull();
    expect(storeHolder("/store", source(files("S"), 42))).toBeNull();
    expect(storeHolder("/store", source(files("S", LISTED.replace("WRITE 42", "WRITE 0"))))).toBeNull();
    const two = `${LISTED}\n5: POSIX  ADVISORY  WRITE 46 fe:01:77 120 120`;
    expect(storeHolder("/store", source(files("S", two)))).toBeNull();
  });
});

test("a worker with many runs is not blocked by each of their accesses to a held store, and waits again once it is free", () => {
  const dir = mkdtempSync(join(tmpdir(), "cairn-held-"));
  openStore({ dir, create: true }).close();
  const store = openStore({ dir, create: false, check: "worker" });
  const client = new DatabaseSync(join(dir, "cairn.sqlite"));
  onTestFinished(() => {
    client.close();
    store.close();
    rmSync(dir, { recursive: true });
  });
  const blocksMs = (): unknown => store.rows.prepare("PRAGMA busy_timeout").get()?.["timeout"];
  const write = (): void => atomically(store, () => {});
  expect(blocksMs()).toBe(250);
  client.exec("BEGIN IMMEDIATE");
  for (const _ of ["one", "another"]) {
    expect(write).toThrow(StoreHeld);
    expect(blocksMs()).toBe(10);
  }
  client.exec("ROLLBACK");
  write();
  expect(blocksMs()).toBe(250);
});

test("a supervisor never blocks for long in an access to its store: it would hear no worker meanwhile", async () => {
  const dir = mkdtempSync(join(tmpdir(), "cairn-held-"));
  const store = openStore({ dir, create: true });
  onTestFinished(() => {
    store.close();
    rmSync(dir, { recursive: true });
  });
  const blocksMs = (): unknown => store.rows.prepare("PRAGMA busy_timeout").get()?.["timeout"];
  expect(blocksMs()).toBe(5_000);
  const worker = { module: "none", args: [], execArgv: [], env: {} };
  const supervisor = startSupervisor({
    store: drivenStore(store),
    limits: limitsFor(3_000),
    worker,
    onEvent: () => {},
  });
  expect(blocksMs()).toBe(250);
  await supervisor.drain(0);
});
