/** The ports of rows, messages and mutex leases as one object, for tests whose operations belong to several of them. */
import type { Store } from "../../../src/adapters/local/store/database.ts";
import { sqliteInbox, sqliteMutexLeases, sqliteRunTable } from "../../../src/adapters/local/store/run-table.ts";
import {
  type MemoryStore,
  memoryInbox,
  memoryMutexLeases,
  memoryRunTable,
} from "../../../src/adapters/memory/tables.ts";
import type { Inbox } from "../../../src/ports/inbox.ts";
import type { MutexLeases } from "../../../src/ports/mutex-leases.ts";
import type { RunTable } from "../../../src/ports/run-table.ts";

export type Ports = RunTable & Inbox & MutexLeases;

export const sqlitePorts = (store: Store): Ports => ({
  ...sqliteRunTable(store),
  ...sqliteInbox(store),
  ...sqliteMutexLeases(store),
});

export const memoryPorts = (store: MemoryStore): Ports => ({
  ...memoryRunTable(store),
  ...memoryInbox(store),
  ...memoryMutexLeases(store),
});
