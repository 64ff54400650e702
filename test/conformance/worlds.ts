/** The worlds that this checkout has, each made fresh for one case. */
import { systemClock } from "../../src/adapters/local/clock.ts";
import { sqliteChain } from "../../src/adapters/local/chain.ts";
import type { Store } from "../../src/adapters/local/store/database.ts";
import { removalsOf } from "../../src/adapters/local/store/removals.ts";
import { executionsOf } from "../../src/adapters/local/store/executions.ts";
import { sqliteDeltaLog } from "../../src/adapters/local/store/delta-log.ts";
import { sqliteRecords } from "../../src/adapters/local/store/records.ts";
import { sqliteObjectStore } from "../../src/adapters/local/store/object-store.ts";
import { memoryDeltaLog, memoryDeltas } from "../../src/adapters/memory/delta-log.ts";
import { memoryRecords } from "../../src/adapters/memory/records.ts";
import { virtualClock } from "../../src/adapters/memory/clock.ts";
import {
  type MemoryStore,
  memoryObjectStore,
  memoryStore,
  memoryRunTable,
  memoryInbox,
  memoryMutexLeases,
} from "../../src/adapters/memory/tables.ts";
import { withKernel } from "../../src/features/compose.ts";
import { type MemoryWorld, memoryWorld } from "../../src/adapters/memory/world.ts";
import type { EntryStores as MemoryWorldPorts } from "../../src/features/memory/entries.ts";
import { memoryOf } from "../../src/features/memory/stored.ts";
import type { RecordKey, StoredRecord } from "../../src/ports/records.ts";
import { NO_SECRETS } from "../../src/ports/secrets.ts";
import type {
  ChainWorld,
  DeltasWorld,
  MemoriesWorld,
  ObjectStoreWorld,
  RecordsWorld,
  RunTableWorld,
} from "../../src/testing/conformance/index.ts";
import { type Execution, applyAnswer } from "../../src/protocol/execution.ts";
import { limitsFor } from "../../src/protocol/limits.ts";
import type { Row } from "../../src/protocol/row.ts";
import { type Ports, sqlitePorts } from "../support/harness/ports.ts";
import { temporaryStore } from "../process/fixtures/store.ts";
import { rewriteText } from "../support/runs/rewrite-text.ts";

const memoryPorts = (store: MemoryStore): Ports => ({
  ...memoryRunTable(store),
  ...memoryInbox(store),
  ...memoryMutexLeases(store),
});

const TENANT = "conformance";
const RUN = `${TENANT}-${"a".repeat(26)}`;
/** What a newer version adds to a row. */
const FUTURE = { future: "kept" };
const NOW = 1_700_000_000_000;

export interface Worlds {
  readonly table: () => RunTableWorld;
  readonly objects: () => ObjectStoreWorld;
  readonly records: () => RecordsWorld;
  readonly memories: () => MemoriesWorld;
  readonly deltas: () => DeltasWorld;
  readonly chain: () => ChainWorld;
}

const memoriesOver = (world: MemoryWorldPorts): MemoriesWorld => ({
  memoryOf: (scope) => memoryOf(world, scope),
  tenants: [TENANT, `${TENANT}z`],
});

/** A table in memory; `bend` breaks it for those who want to see a case fail. */
export function memoryTableWorld(bend: (table: Ports, store: MemoryStore) => Ports = (table) => table) {
  const store = memoryStore();
  const ports = bend(memoryPorts(store), store);
  return {
    ...{ table: ports, inbox: ports, leases: ports },
    tenant: TENANT,
    setFormat: async (run: string, format: number) => {
      store.rows.set(run, { ...(store.rows.get(run) as Row), format });
    },
    addField: async (run: string) => {
      store.rows.set(run, { ...(store.rows.get(run) as Row), ...FUTURE });
    },
    hasField: async (run: string) => "future" in (store.rows.get(run) ?? {}),
    damage: async (run: string) => void store.rows.set(run, {} as Row),
    expire: async (now: number) => store.expire(now),
    removedOf: async (run: string) => store.removed.filter((each) => each.run === run).map(({ born }) => born),
  };
}

export const memory: Worlds = {
  table: () => memoryTableWorld(),
  objects: () => ({ objects: memoryObjectStore(memoryStore(), virtualClock(NOW)), prefix: "runs", now: () => NOW }),
  records: () => {
    const { records } = memoryStore();
    const damage = async ({ kind, about, id }: RecordKey): Promise<void> => {
      const key = JSON.stringify([kind, about, id]);
      const { body: _, ...rest } = records.get(key) as StoredRecord;
      records.set(key, rest as StoredRecord);
    };
    return { records: memoryRecords(records), tenant: TENANT, damage };
  },
  memories: () => memoriesOver({ records: memoryRecords(new Map()), clock: virtualClock(NOW), secrets: NO_SECRETS }),
  deltas: () => ({ deltas: memoryDeltaLog(memoryDeltas()), tenant: TENANT }),
  chain: () => memoryChainWorld(withKernel(memoryWorld({ limits: limitsFor(3_000), clock: virtualClock(NOW) }))),
};

function memoryChainWorld({ chain }: MemoryWorld): ChainWorld {
  return {
    chain,
    run: RUN,
    park: async (name) => {
      const beat = chain.begin(name);
      chain.end(name, beat.attempt, replyOf("park"));
      const { task } = chain.begin(name);
      return task.kind === "park" ? task.token : "";
    },
    end: async (name) => chain.end(name, chain.begin(name).attempt, replyOf("done")),
  };
}

export const local: Worlds = {
  table: () => {
    const store = temporaryStore();
    const ports = sqlitePorts(store);
    return {
      ...{ table: ports, inbox: ports, leases: ports },
      tenant: TENANT,
      setFormat: async (run, format) => rewriteText(store, run, (fields) => ({ ...fields, format })),
      addField: async (run) => {
        rewriteText(store, run, (fields) => ({ ...fields, ...FUTURE }));
      },
      hasField: async (run) =>
        store.rows.prepare("SELECT 1 FROM runs WHERE run = ? AND row ->> '$.future' = 'kept'").get(run) !== undefined,
      damage: async (run) => void store.rows.prepare("UPDATE runs SET row = '{' WHERE run = ?").run(run),
      expire: async (now) => {
        while (removalsOf(store).expire(now, 2));
      },
      removedOf: async (run) => removedIn(store, run),
    };
  },
  objects: () => ({ objects: sqliteObjectStore(temporaryStore()), prefix: "runs", now: systemClock.now }),
  records: () => {
    const store = temporaryStore();
    const flip = store.rows.prepare("UPDATE records SET body = body || ' ' WHERE kind = ? AND about = ? AND id = ?");
    return {
      ...{ records: sqliteRecords(store), tenant: TENANT },
      damage: async ({ kind, about, id }) => void flip.run(kind, about, id),
    };
  },
  memories: () => memoriesOver({ records: sqliteRecords(temporaryStore()), clock: systemClock, secrets: NO_SECRETS }),
  deltas: () => ({ deltas: sqliteDeltaLog(temporaryStore()), tenant: TENANT }),
  chain: () => localChainWorld(temporaryStore()),
};

function localChainWorld(store: Store): ChainWorld {
  const executions = executionsOf(store);
  const begin = (name: string): Execution => {
    const begun = executions.begin(name, systemClock.now());
    if (begun === null) throw new Error(`${name} is not ready`);
    return begun;
  };
  const answer = (name: string, route: "park" | "done"): void => {
    const attempted = begin(name);
    const now = systemClock.now();
    executions.settle(attempted, (execution) => applyAnswer(execution, { answer: replyOf(route), now }));
  };
  return {
    chain: sqliteChain(store, systemClock),
    run: RUN,
    park: async (name) => {
      answer(name, "park");
      return begin(name).token ?? "";
    },
    end: async (name) => answer(name, "done"),
  };
}

function removedIn(store: Store, run: string): readonly string[] {
  const found = store.rows.prepare("SELECT born FROM removed WHERE run = ?").all(run);
  return found.map(({ born }) => String(born));
}

const replyOf = (route: "park" | "done") =>
  ({
    kind: "beat",
    reply: { run: RUN, born: "aaaaaaaaaa", chain: 1, epoch: 1, agent: "clerk", route, seconds: 60 },
  }) as const;
