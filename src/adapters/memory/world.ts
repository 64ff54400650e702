/**
 * The world in memory: all ports, for tests and simulations of one's own agents. Its executions are driven by whoever
 * holds it, one task at a time or many at once, in whatever order they choose.
 */
import { createHash, randomBytes } from "node:crypto";
import { type Execution, answered, begun, failed, started, taskOf, woken } from "../../protocol/execution.ts";
import type { Task } from "../../protocol/chain.ts";
import type { Answer } from "../../protocol/execution.ts";
import type { Limits } from "../../protocol/limits.ts";
import type { Chain } from "../../ports/chain.ts";
import { NO_SEAL_KEYS, type SealKeys } from "../../ports/seal-keys.ts";
import { NO_SECRETS, type Secrets } from "../../ports/secrets.ts";
import type { Clock, Random, Telemetry, World } from "../../ports/world.ts";
import { type MemoryStore, memoryObjectStore, memoryRunTable, memoryStore } from "./tables.ts";

/** Executions as values, and the steps that a driver makes with them. */
export interface MemoryChain extends Chain {
  readonly executions: ReadonlyMap<string, Execution>;
  /** Names of those that may leave now, the one that waited longest first. */
  ready(now: number): readonly string[];
  /** When the next one that waits will be ready, or null. */
  next(): number | null;
  /** An attempt leaves: what it is to do. */
  begin(name: string): { readonly task: Task; readonly attempt: number };
  /**
   * What became of that attempt; an answer to an older one changes nothing. Null: it gave none. `isDeath`: its process is
   * known to have died, unless told otherwise.
   */
  end(name: string, attempt: number, answer: Answer | null, isDeath?: boolean): void;
}

export interface MemoryWorld extends World {
  readonly store: MemoryStore;
  readonly chain: MemoryChain;
}

export function memoryWorld(of: {
  readonly limits: Limits;
  readonly clock: Clock;
  readonly random?: Random;
  readonly telemetry?: Telemetry;
  readonly secrets?: Secrets;
  readonly sealKeys?: SealKeys;
  readonly store?: MemoryStore;
}): MemoryWorld {
  const { limits, clock, store = memoryStore() } = of;
  const random = of.random ?? { hex: () => randomBytes(32).toString("hex") };
  return {
    store,
    table: memoryRunTable(store),
    objects: memoryObjectStore(store, clock),
    chain: memoryChain({ clock, random, limits }),
    clock,
    random,
    telemetry: of.telemetry ?? { record: () => undefined },
    secrets: of.secrets ?? NO_SECRETS,
    sealKeys: of.sealKeys ?? NO_SEAL_KEYS,
    limits,
    hash: (text) => createHash("sha256").update(text, "utf8").digest("hex"),
  };
}

function memoryChain(of: { readonly clock: Clock; readonly random: Random; readonly limits: Limits }): MemoryChain {
  const { clock, random, limits } = of;
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
      executions.set(name, started({ name, payload, now: clock.now() }));
      return { kind: "started" };
    },
    wake: async (token) => {
      const waiting = [...executions.values()].find((each) => each.token === token);
      if (waiting === undefined) return { kind: "awake" };
      executions.set(waiting.name, woken(waiting, clock.now()));
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
      const execution = begun(found(name), random.hex().slice(0, 32));
      executions.set(name, execution);
      return { task: taskOf(execution), attempt: execution.attempt };
    },
    end: (name, attempt, answer, isDeath = true) => {
      const execution = found(name);
      if (execution.stage !== "trying" || execution.attempt !== attempt) return;
      const now = clock.now();
      const next =
        answer === null
          ? failed(execution, { now, limits, atOnce: false, isDeath })
          : answered(execution, { answer, now });
      executions.set(name, next);
    },
  };
}
