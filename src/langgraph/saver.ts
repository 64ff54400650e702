/**
 * A checkpoint saver for LangGraph on a store of cairn. Each checkpoint is complete in one object, as its serde wrote
 * it, so a checkpoint can be removed without a look at others.
 */
import { isDeepStrictEqual } from "node:util";
import type { RunnableConfig } from "@langchain/core/runnables";
import {
  BaseCheckpointSaver,
  type ChannelVersions,
  type Checkpoint,
  type CheckpointListOptions,
  type CheckpointMetadata,
  type CheckpointPendingWrite,
  type CheckpointTuple,
  type PendingWrite,
  type SerializerProtocol,
  TASKS,
  WRITES_IDX_MAP,
  compareWritesSortKeys,
  maxChannelVersion,
  writesSortKey,
} from "@langchain/langgraph-checkpoint";
import { CairnError } from "../client/errors.ts";
import type { ObjectStore } from "../ports/object-store.ts";
import type { Clock } from "../ports/world.ts";
import { type CheckpointRef, type Namespace, prefixOfAll, prefixOfNamespace, prefixOfThread } from "./keys.ts";
import { type TypedValue, decodeRecord, encodeRecord } from "./record.ts";
import { type Retention, removeExpired, removeSuperseded } from "./retention.ts";
import { type StoredCheckpoint, findCheckpoint, putCheckpoint, putWrites, walk } from "./shelf.ts";

export interface SaverOptions {
  readonly objects: ObjectStore;
  readonly clock: Pick<Clock, "earliest">;
  readonly retention: Retention;
  readonly serde?: SerializerProtocol | undefined;
  readonly close: () => Promise<void>;
}

/** A `BaseCheckpointSaver` of LangGraph, for the option `checkpointer` of `compile()`. */
export class CairnSaver extends BaseCheckpointSaver {
  readonly #options: SaverOptions;

  constructor(options: SaverOptions) {
    super(options.serde);
    this.#options = options;
  }

  async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    // LangGraph asks so for a graph that has no thread yet.
    if (settingIn(config, "thread_id") === undefined) return undefined;
    const of = namespaceIn(config, "read");
    const id = checkpointIn(config);
    const { objects } = this.#options;
    if (id !== null) {
      const found = await findCheckpoint(objects, { ...of, id });
      return found === null ? undefined : this.#read(found);
    }
    for await (const found of walk(objects, prefixOfNamespace(of))) {
      const tuple = await this.#read(found);
      // Otherwise the checkpoint of these writes is still on its way, or was removed meanwhile.
      if (tuple !== undefined) return tuple;
    }
    return undefined;
  }

  async *list(config: RunnableConfig, options: CheckpointListOptions = {}): AsyncGenerator<CheckpointTuple> {
    const { limit = Infinity, before, filter } = options;
    const wanted = checkpointIn(config);
    const beforeId = before === undefined ? null : checkpointIn(before);
    let left = limit;
    for await (const found of walk(this.#options.objects, prefixListed(config))) {
      if (left <= 0) return;
      if (wanted !== null && found.id !== wanted) continue;
      if (beforeId !== null && found.id >= beforeId) continue;
      const tuple = await this.#read(found, filter);
      if (tuple === undefined || !isIn(tuple, config)) continue;
      left -= 1;
      yield tuple;
    }
  }

  async put(
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    _newVersions: ChannelVersions,
  ): Promise<RunnableConfig> {
    const of: CheckpointRef = { ...namespaceIn(config, "store"), id: checkpoint.id };
    const values = [await this.#dump(checkpoint), await this.#dump(metadata)];
    const bytes = encodeRecord({ kind: "checkpoint", ...of, parent: checkpointIn(config) }, values);
    const { objects, retention } = this.#options;
    await putCheckpoint(objects, of, bytes);
    await removeSuperseded(objects, of, retention);
    return configOf(of);
  }

  async putWrites(config: RunnableConfig, writes: PendingWrite[], taskId: string, taskPath = ""): Promise<void> {
    const id = checkpointIn(config);
    const of = namespaceIn(config, "store the writes of");
    if (id === null) throw missing("checkpoint_id", "store the writes of");
    const values = await Promise.all(writes.map(([, value]) => this.#dump(value)));
    const listed = writes.map(([channel], position) => ({ channel, index: WRITES_IDX_MAP[channel] ?? position }));
    const bytes = encodeRecord({ kind: "writes", task: taskId, path: taskPath, writes: listed }, values);
    await putWrites(this.#options.objects, { ...of, id, task: taskId }, bytes);
  }

  async deleteThread(threadId: string): Promise<void> {
    await this.#options.objects.removeUnder(prefixOfThread(threadId));
  }

  /**
   * Removes each thread that was not written for `retention.days`, and returns how many checkpoints that were. Call it
   * once a day: it lists the keys of all threads.
   */
  async removeExpired(): Promise<number> {
    const { objects, clock, retention } = this.#options;
    return removeExpired(objects, { retention, now: clock.earliest() });
  }

  /** Closes the store. */
  async close(): Promise<void> {
    await this.#options.close();
  }

  /** Undefined if the checkpoint is not there, or its metadata does not match. */
  async #read(
    found: StoredCheckpoint,
    filter: Readonly<Record<string, unknown>> = {},
  ): Promise<CheckpointTuple | undefined> {
    const { checkpoint: key } = found;
    if (key === null) return undefined;
    const bytes = await this.#options.objects.get(key);
    // It was removed since its key was listed.
    if (bytes === null) return undefined;
    const { header, values } = decodeRecord("checkpoint", { key, bytes });
    const metadata = (await this.#load(values[1])) as CheckpointMetadata;
    const isMatching = Object.entries(filter).every(([name, value]) =>
      isDeepStrictEqual((metadata as Readonly<Record<string, unknown>>)[name], value),
    );
    if (!isMatching) return undefined;
    const checkpoint = (await this.#load(values[0])) as Checkpoint;
    const { thread, namespace, parent } = header;
    if (checkpoint.v < 4 && parent !== null) await this.#migrateSends(checkpoint, { thread, namespace, id: parent });
    return {
      config: configOf(header),
      checkpoint,
      metadata,
      pendingWrites: await this.#writesIn(found),
      ...(parent !== null && { parentConfig: configOf({ thread, namespace, id: parent }) }),
    };
  }

  /** The writes in the order in which LangGraph applies them. */
  async #writesIn({ writes: keys }: StoredCheckpoint): Promise<CheckpointPendingWrite[]> {
    const { objects } = this.#options;
    const objectsFound = await Promise.all(keys.map(async (key) => ({ key, bytes: await objects.get(key) })));
    const counting = new Map<string, Counting>();
    for (const { key, bytes } of objectsFound) {
      if (bytes === null) continue;
      const { header, values } = decodeRecord("writes", { key, bytes });
      for (const [position, { channel, index }] of header.writes.entries()) {
        const name = JSON.stringify([header.task, index]);
        const value = values[position];
        // The first write of a task to an index counts, except for the channels that LangGraph writes again.
        if (value === undefined || (index >= 0 && counting.has(name))) continue;
        counting.set(name, { task: header.task, path: header.path, channel, index, value });
      }
    }
    const sorted = [...counting.values()].toSorted((one, other) =>
      compareWritesSortKeys(
        writesSortKey(one.path, one.task, one.index),
        writesSortKey(other.path, other.task, other.index),
      ),
    );
    return Promise.all(
      sorted.map(async ({ task, channel, value }): Promise<CheckpointPendingWrite> => [
        task,
        channel,
        await this.#load(value),
      ]),
    );
  }

  /** Checkpoints of LangGraph before format 4 have their sends among the writes of their parent. */
  async #migrateSends(checkpoint: Checkpoint, parent: CheckpointRef): Promise<void> {
    const found = await findCheckpoint(this.#options.objects, parent);
    const writes = found === null ? [] : await this.#writesIn(found);
    checkpoint.channel_values[TASKS] = writes.filter(([, channel]) => channel === TASKS).map(([, , value]) => value);
    const versions = Object.values(checkpoint.channel_versions);
    checkpoint.channel_versions[TASKS] =
      versions.length > 0 ? maxChannelVersion(...versions) : this.getNextVersion(undefined);
  }

  async #dump(value: unknown): Promise<TypedValue> {
    const [type, bytes] = await this.serde.dumpsTyped(value);
    return { type, bytes };
  }

  async #load(value: TypedValue | undefined): Promise<unknown> {
    if (value === undefined) return undefined;
    return (await this.serde.loadsTyped(value.type, value.bytes)) as unknown;
  }
}

/** A write that counts. */
interface Counting {
  readonly task: string;
  readonly path: string;
  readonly channel: string;
  readonly index: number;
  readonly value: TypedValue;
}

const configOf = ({ thread, namespace, id }: CheckpointRef): RunnableConfig => ({
  configurable: { thread_id: thread, checkpoint_ns: namespace, checkpoint_id: id },
});

const settingIn = ({ configurable }: RunnableConfig, name: string): string | undefined =>
  (configurable as Readonly<Record<string, string | undefined>> | undefined)?.[name];

function namespaceIn(config: RunnableConfig, verb: string): Namespace {
  const thread = settingIn(config, "thread_id");
  if (thread === undefined) throw missing("thread_id", verb);
  return { thread, namespace: settingIn(config, "checkpoint_ns") ?? "" };
}

/** Null for the newest one. An empty ID means that, too. */
const checkpointIn = (config: RunnableConfig): string | null =>
  settingIn(config, "checkpoint_id") || settingIn(config, "thread_ts") || null;

function prefixListed(config: RunnableConfig): string {
  const thread = settingIn(config, "thread_id");
  const namespace = settingIn(config, "checkpoint_ns");
  if (thread === undefined) return prefixOfAll();
  return namespace === undefined ? prefixOfThread(thread) : prefixOfNamespace({ thread, namespace });
}

/** A listing of all threads may be for one namespace. */
function isIn(tuple: CheckpointTuple, config: RunnableConfig): boolean {
  const namespace = settingIn(config, "checkpoint_ns");
  return namespace === undefined || settingIn(tuple.config, "checkpoint_ns") === namespace;
}

const missing = (name: string, verb: string): CairnError =>
  new CairnError(
    `cannot ${verb} a checkpoint without ${name}; pass it, for example invoke(input, { configurable: { ${name}: "..." } })`,
    { code: "CheckpointNameMissing", status: null, facts: { name } },
  );
