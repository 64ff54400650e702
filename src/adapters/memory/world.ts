/**
 * The in-memory world: all ports, for tests and simulations of one's own agents. The caller drives its executions, one
 * task at a time or several at once, in any order.
 */
import { createHash, randomBytes } from "node:crypto";
import { EACH_BEAT, type StoredSizes } from "../../ports/stored-sizes.ts";
import {
  type Execution,
  applyAnswer,
  beginAttempt,
  applyFailure,
  newExecution,
  taskOfExecution,
  wakeExecution,
  type TaskAnswer,
} from "../../protocol/execution.ts";
import type { Task } from "../../protocol/chain.ts";
import type { Limits } from "../../protocol/limits.ts";
import type { Chain } from "../../ports/chain.ts";
import { NO_SEAL_KEYS, type SealKeys } from "../../ports/seal-keys.ts";
import { NO_SECRETS, type Secrets } from "../../ports/secrets.ts";
import type { Clock, Random, Stores, Telemetry, World } from "../../ports/world.ts";
import { memoryDeltaLog } from "./delta-log.ts";
import { memoryRecords } from "./records.ts";
import {
  type MemoryStore,
  memoryInbox,
  memoryMutexLeases,
  memoryObjectStore,
  memoryRunTable,
  memoryStore,
} from "./tables.ts";

/** A chain of executions that are plain values, with the steps that a driver takes. */
export interface MemoryChain extends Chain {
  readonly executions: ReadonlyMap<string, Execution>;
  /** The executions that are ready to start an attempt, the one that waited longest first. */
  ready(now: number): readonly string[];
  /** The time at which the next waiting execution becomes ready, or null. */
  next(): number | null;
  /** Starts an attempt, and returns its task. */
  begin(name: string): { readonly task: Task; readonly attempt: number };
  /**
   * Reports the outcome of an attempt; `answer` is null if the attempt gave none. An outcome of an older attempt
   * changes nothing. `isDeath`: the process of the attempt is known to be dead; the default is true.
   */
  end(name: string, attempt: number, answer: TaskAnswer | null, isDeath?: boolean): void;
}

export interface MemoryStores extends Stores {
  readonly store: MemoryStore;
  readonly chain: MemoryChain;
}

/** The same with the rules of a run. */
export type MemoryWorld = MemoryStores & World;

/** An in-memory world. Worlds that share a `store` see the same runs. */
export function memoryWorld(given: {
  readonly limits: Limits;
  readonly clock: Clock;
  readonly random?: Random;
  readonly telemetry?: Telemetry;
  readonly secrets?: Secrets;
  readonly sealKeys?: SealKeys;
  readonly store?: MemoryStore;
  /** The default keeps the state of each beat as an object. */
  readonly sizes?: StoredSizes;
}): MemoryStores {
  const { limits, clock, store = memoryStore() } = given;
  const random = given.random ?? { hex: () => randomBytes(32).toString("hex") };
  return {
    store,
    table: memoryRunTable(store),
    inbox: memoryInbox(store),
    leases: memoryMutexLeases(store),
    records: memoryRecords(store.records),
    deltas: memoryDeltaLog(store.deltas),
    objects: memoryObjectStore(store, clock),
    chain: memoryChain({ clock, random, limits }),
    clock,
    random,
    telemetry: given.telemetry ?? { record: () => undefined },
    secrets: given.secrets ?? NO_SECRETS,
    sealKeys: given.sealKeys ?? NO_SEAL_KEYS,
    limits,
    sizes: given.sizes ?? EACH_BEAT,
    hash: (text) => createHash("sha256").update(text, "utf8").digest("hex"),
  };
}

function memoryChain({
  clock,
  random,
  limits,
}: {
  readonly clock: Clock;
  readonly random: Random;
  readonly limits: Limits;
}): MemoryChain {
  const executions = new Map<string, Execution>();
  const found = (name: string): Execution => {
    const execution = executions.get(name);
    if (execution === undefined) throw new Error(`there is no execution ${name}`);
    return execution;
  };
  return {
    executions,
    start: async (name, payload) => {
      const before = executions.get(name);
      if (before !== undefined) return { kind: "exists", running: before.stage !== "ended" };
      executions.set(name, newExecution({ name, payload, now: clock.now() }));
      return { kind: "started" };
    },
    wake: async (token) => {
      const waiting = [...executions.values()].find((each) => each.token === token);
      if (waiting === undefined) return { kind: "awake" };
      executions.set(waiting.name, wakeExecution(waiting, clock.now()));
      return { kind: "woken" };
    },
    ready: (now) => {
      const due = [...executions.values()].filter(({ readyAt }) => readyAt !== null && readyAt <= now);
      return due.toSorted((one, other) => (one.readyAt ?? 0) - (other.readyAt ?? 0)).map(({ name }) => name);
    },
    next: () => {
      const times = [...executions.values()].flatMap(({ readyAt }) => (readyAt === null ? [] : [readyAt]));
      return times.length === 0 ? null : Math.min(...times);
    },
    begin: (name) => {
      const execution = beginAttempt(found(name), random.hex().slice(0, 32));
      executions.set(name, execution);
      return { task: taskOfExecution(execution), attempt: execution.attempt };
    },
    end: (name, attempt, answer, isDeath = true) => {
      const execution = found(name);
      if (execution.stage !== "trying" || execution.attempt !== attempt) return;
      const now = clock.now();
      const next =
        answer === null
          ? applyFailure(execution, { now, limits, atOnce: false, isDeath })
          : applyAnswer(execution, { answer, now });
      executions.set(name, next);
    },
  };
}
