/** A store that its process closes while work on it goes on: each use ends with `StoreClosed`, and keeps its cause. */
import { rmSync } from "node:fs";
import { expect, it, test } from "vitest";
import { inspectStore } from "../../../src/adapters/local/inspection.ts";
import { localSecrets } from "../../../src/adapters/local/secrets.ts";
import { systemClock } from "../../../src/adapters/local/clock.ts";
import {
  type Store,
  atomically,
  durably,
  glancing,
  inOneRead,
  reaching,
} from "../../../src/adapters/local/store/database.ts";
import { executionsOf } from "../../../src/adapters/local/store/executions.ts";
import { roomGiver } from "../../../src/adapters/local/store/give-back-room.ts";
import { removalsOf } from "../../../src/adapters/local/store/removals.ts";
import { agentFileOf, rememberAgentFile } from "../../../src/adapters/local/store/agent-files.ts";
import { childrenOf, supervisorOf, takeSupervision } from "../../../src/adapters/local/store/processes.ts";
import { withKernel } from "../../../src/features/compose.ts";
import { localWorld } from "../../../src/adapters/local/world.ts";
import { StoreClosed } from "../../../src/ports/store-errors.ts";
import { StoreUnreachable } from "../../../src/ports/world.ts";
import { limitsFor } from "../../../src/protocol/limits.ts";
import { CLAIM } from "../../../src/protocol/row-claim.ts";
import { scriptedAgent } from "../../support/harness/harness.ts";
import { attemptBeat, beginRun, runnerOf } from "../../support/harness/drive.ts";
import {
  BORN,
  NOW,
  RUN,
  claim,
  creation,
  delivery,
  message,
  open,
  temporaryStore,
} from "../../process/fixtures/store.ts";

const failureOf = async (act: () => unknown): Promise<unknown> => {
  try {
    await act();
  } catch (error) {
    return error;
  }
  throw new Error("nothing was thrown");
};

const worldOf = (store: Store) =>
  withKernel(localWorld({ store, limits: limitsFor(3_000), telemetry: { record: () => {} } }));
const SELF = { pid: process.pid, startedAt: "now" };
const OF = { run: RUN, born: BORN };

/** Every way to use a store. What is made before the close is used after it. */
const USES: readonly (readonly [string, (store: Store) => () => unknown])[] = [
  ["a transaction", (store) => () => atomically(store, () => 1)],
  ["a transaction that shares its wait", (store) => () => durably(store, RUN, () => 1)],
  ["a statement", (store) => () => reaching(store, () => 1)],
  ["a read on which nothing depends", (store) => () => glancing(store, () => 1)],
  ["its connection", (store) => () => store.rows],
  [
    "a run that is created",
    (store) =>
      (
        (w) => () =>
          w.table.create(creation())
      )(worldOf(store)),
  ],
  [
    "a claim",
    (store) =>
      (
        (w) => () =>
          w.table.decide(claim(), CLAIM)
      )(worldOf(store)),
  ],
  [
    "a run that is read",
    (store) =>
      (
        (w) => () =>
          w.table.read(RUN, NOW)
      )(worldOf(store)),
  ],
  [
    "a page",
    (store) =>
      (
        (w) => () =>
          w.table.alive({ limit: 1, after: null, now: NOW })
      )(worldOf(store)),
  ],
  [
    "a tombstone",
    (store) =>
      (
        (w) => () =>
          w.table.readKey(RUN, NOW)
      )(worldOf(store)),
  ],
  [
    "a message",
    (store) =>
      (
        (w) => () =>
          w.inbox.deliver(delivery(message("m")))
      )(worldOf(store)),
  ],
  [
    "an object that is put",
    (store) =>
      (
        (w) => () =>
          w.objects.put("k", new Uint8Array())
      )(worldOf(store)),
  ],
  [
    "an object that is read",
    (store) =>
      (
        (w) => () =>
          w.objects.get("k")
      )(worldOf(store)),
  ],
  [
    "objects that are removed",
    (store) =>
      (
        (w) => () =>
          w.objects.removeUnder("k")
      )(worldOf(store)),
  ],
  [
    "deltas",
    (store) =>
      (
        (w) => () =>
          w.deltas.attachedUntil({ run: RUN, now: NOW })
      )(worldOf(store)),
  ],
  [
    "the chain",
    (store) =>
      (
        (w) => () =>
          w.chain.wake("token")
      )(worldOf(store)),
  ],
  [
    "executions",
    (store) =>
      (
        (all) => () =>
          all.begin("e", NOW)
      )(executionsOf(store)),
  ],
  ["a new world over it", (store) => () => worldOf(store)],
  ["removals", (store) => () => removalsOf(store).finish([OF])],
  [
    "secrets",
    (store) =>
      (
        (all) => () =>
          all.declare(["KEY"])
      )(localSecrets({ store, env: {}, file: "/nowhere" })),
  ],
  ["the file of an agent", (store) => () => agentFileOf(store, "clerk")],
  ["a file that is remembered", (store) => () => rememberAgentFile(store, { agent: "a", file: "f", keepOther: true })],
  ["its supervisor", (store) => () => supervisorOf(store)],
  ["a new supervisor", (store) => () => takeSupervision(store, { self: SELF, now: NOW })],
  [
    "worker processes",
    (store) =>
      (
        (all) => () =>
          all.add(SELF)
      )(childrenOf(store)),
  ],
  ["its inspection", (store) => () => inspectStore(store, { overdueBefore: 0 })],
  ["room that is given back", (store) => () => roomGiver(store, systemClock)()],
];

it.each(USES)("refuses %s after the close, and says what to do", async (_, prepare) => {
  const store = temporaryStore();
  const use = prepare(store);
  store.close();
  // A program that closes its store may remove it, too. The close comes first, and is the reason.
  rmSync(store.dir, { recursive: true });
  const failure = await failureOf(use);
  expect(failure).toBeInstanceOf(StoreClosed);
  expect(failure).toMatchObject({
    name: "StoreClosed",
    code: "StoreClosed",
    message:
      `the store at ${store.dir} cannot be used: this process has closed it; ` +
      "end what uses the store before you close it, or open it again",
  });
});

it.each([
  ["a transaction", (store: Store, access: () => void) => atomically(store, access)],
  ["a transaction that does not wait", (store: Store, access: () => void) => atomically(store, access, "later")],
  ["a statement", (store: Store, access: () => void) => reaching(store, access)],
  ["a read on which nothing depends", (store: Store, access: () => void) => glancing(store, access)],
  ["one read", (store: Store, access: () => void) => reaching(store, () => inOneRead(store.rows, access))],
  ["a shared wait", (store: Store, access: () => void) => durably(store, RUN, access)],
  ["executions together", (store: Store, access: () => void) => executionsOf(store).together(access)],
])("keeps what failed first when %s closes the store and throws", async (_, use) => {
  const store = temporaryStore();
  const first = new Error("the first cause");
  const failure = await failureOf(() =>
    use(store, () => {
      store.close();
      throw first;
    }),
  );
  expect(failure).toBeInstanceOf(StoreClosed);
  expect((failure as Error).cause).toBe(first);
});

it.each([
  ["a transaction", (store: Store, access: () => unknown) => atomically(store, access)],
  ["a transaction that does not wait", (store: Store, access: () => unknown) => atomically(store, access, "later")],
  ["one read", (store: Store, access: () => unknown) => reaching(store, () => inOneRead(store.rows, access))],
  ["a statement", (store: Store, access: () => unknown) => reaching(store, access)],
])("refuses the rest of %s that closes the store, with Node's own error as the cause", async (_, use) => {
  const store = temporaryStore();
  const { rows } = store;
  const select = rows.prepare("SELECT 1");
  const failure = await failureOf(() =>
    use(store, () => {
      store.close();
      return select.get();
    }),
  );
  expect(failure).toBeInstanceOf(StoreClosed);
  expect((failure as Error).cause).toMatchObject({ code: "ERR_INVALID_STATE" });
});

test("refuses the commit of a transaction that closed the store, and nothing of it is stored", async () => {
  const store = temporaryStore();
  const insert = "INSERT INTO removed VALUES ('run', 'born', 0, 0)";
  const access = (): void => {
    store.rows.exec(insert);
    store.close();
  };
  expect(await failureOf(() => atomically(store, access, "later"))).toBeInstanceOf(StoreClosed);
  expect(open(store.dir, false).rows.prepare("SELECT * FROM removed").all()).toEqual([]);
});

test("ends a wait for the disk whose store is closed before it begins", async () => {
  const store = temporaryStore();
  const waits = durably(store, RUN, () => store.rows.exec("INSERT INTO removed VALUES ('run', 'born', 0, 0)"));
  store.close();
  const failure = await failureOf(() => waits);
  expect(failure).toBeInstanceOf(StoreClosed);
  expect((failure as Error).cause).toMatchObject({ code: "ENOENT" });
});

test("rolls back with the first error when SQLite refuses the rollback", () => {
  const store = temporaryStore();
  const { rows } = store;
  const exec = rows.exec.bind(rows);
  rows.exec = (sql) => {
    if (sql === "ROLLBACK") throw new Error("the rollback failed");
    exec(sql);
  };
  const access = (): never => {
    throw new Error("the first cause");
  };
  expect(() => atomically(store, access)).toThrow("the first cause");
});

test("a beat whose store is closed under it rejects with the store's error, and its run stays as it was", async () => {
  const store = temporaryStore();
  const world = worldOf(store);
  const agent = scriptedAgent({
    run: () => {
      store.close();
      return "acted";
    },
  });
  const payload = await beginRun(world, agent, {});
  const failure = await failureOf(() => attemptBeat(runnerOf(world, agent), payload));
  expect(failure).toBeInstanceOf(StoreClosed);
  expect(failure).toBeInstanceOf(StoreUnreachable);
  const row = await worldOf(open(store.dir, false)).table.read(payload.run, world.clock.now());
  expect(row).toMatchObject({ status: "running", epoch: 1, owner: expect.any(String) });
});
