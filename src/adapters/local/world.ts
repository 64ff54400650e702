/**
 * The embedded world: everything in one SQLite file.
 *
 * It never answers `ambiguous`. A SQLite transaction that returns is durable. A transaction that throws is invisible to
 * every live process, and the next write replaces it in the log. No network lies between, so no answer can be lost. A
 * process that dies between a commit and its return learns nothing, as in any crash.
 */
import { createHash } from "node:crypto";
import { FEW_BYTES } from "../../ports/stored-sizes.ts";
import type { Limits } from "../../protocol/limits.ts";
import { NO_SEAL_KEYS, type SealKeys } from "../../ports/seal-keys.ts";
import { NO_SECRETS, type Secrets } from "../../ports/secrets.ts";
import type { Clock, Telemetry, Stores } from "../../ports/world.ts";
import { sqliteChain } from "./chain.ts";
import { storeClock } from "./clock.ts";
import { randomHex } from "./random.ts";
import type { Store } from "./store/database.ts";
import { sqliteDeltaLog } from "./store/delta-log.ts";
import { sqliteObjectStore } from "./store/object-store.ts";
import { sqliteRecords } from "./store/records.ts";
import { sqliteInbox, sqliteMutexLeases, sqliteRunTable } from "./store/run-table.ts";

/** The ports over an open store. `clock`: by default the one that all processes of the store share. */
export function localWorld({
  store,
  limits,
  telemetry,
  secrets = NO_SECRETS,
  sealKeys = NO_SEAL_KEYS,
  clock = storeClock(store),
}: {
  readonly store: Store;
  readonly clock?: Clock;
  readonly limits: Limits;
  readonly telemetry: Telemetry;
  readonly secrets?: Secrets;
  readonly sealKeys?: SealKeys;
}): Stores {
  return {
    table: sqliteRunTable(store),
    inbox: sqliteInbox(store),
    leases: sqliteMutexLeases(store),
    records: sqliteRecords(store),
    deltas: sqliteDeltaLog(store),
    objects: sqliteObjectStore(store, clock),
    chain: sqliteChain(store, clock),
    clock,
    random: { hex: () => randomHex(32) },
    telemetry,
    secrets,
    sealKeys,
    limits,
    sizes: FEW_BYTES,
    hash: (text) => createHash("sha256").update(text, "utf8").digest("hex"),
  };
}
