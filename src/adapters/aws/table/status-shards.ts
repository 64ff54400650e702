/**
 * How many shards the index `byStatus` has. One key of an index takes 1,000 writes a second, and each change of a run's
 * status is two of them. With 4 shards a tenant's runs of one status are spread over 4 keys.
 *
 * The table records the largest number that a process ever used. A list reads that many shards. Each process records
 * its own number before it writes into a shard, so no run is ever in a shard that lists leave out: also not after the
 * number was lowered, and not for a client that knows nothing of the deployment's settings.
 *
 * Schedule 164: a deployment with more shards writes its first row while a client that read the table before lists.
 */
import { ATTRIBUTES } from "./attributes.ts";
import type { Dynamo } from "./dynamo.ts";
import { either, fragment, number, set } from "./expression.ts";
import { type TableItem, itemKey } from "./item.ts";
import { STATUS_SHARDS, STATUS_SHARDS_MAX, STORE } from "./keys.ts";

const KEY = itemKey(STORE.item, "shards");

export class StatusShards {
  readonly #dynamo: Dynamo;
  readonly #wanted: number | null;
  #written: number | null;

  /** `wanted`: the setting of the deployment; null: as many as the table records. */
  constructor(dynamo: Dynamo, wanted: number | null = 1) {
    this.#dynamo = dynamo;
    this.#wanted = wanted;
    // The first shard needs no record: every version of cairn reads it.
    this.#written = wanted === 1 ? 1 : null;
  }

  /** How many shards a list must read. Never cached: another process may have raised it. */
  async read(): Promise<number> {
    return countIn(await this.#dynamo.get(KEY));
  }

  /** How many shards this process writes. A process asks the table once. */
  async write(): Promise<number> {
    this.#written ??= await this.#recorded();
    return this.#written ?? 1;
  }

  /** Null: it is not known whether the number was recorded, so this write uses the first shard. */
  async #recorded(): Promise<number | null> {
    const stored = await this.read();
    const wanted = this.#wanted ?? stored;
    if (wanted <= stored) return wanted;
    const isLess = fragment("#shards < :shards", { ":shards": number(wanted) });
    const isNew = fragment("attribute_not_exists(#shards)");
    const written = await this.#dynamo.update(KEY, {
      condition: either(isNew, isLess),
      changes: [set("shards", number(wanted))],
    });
    return written.kind === "ambiguous" ? null : wanted;
  }
}

/** A number that no setting allows reads as the largest: a list then costs more, and leaves nothing out. */
function countIn(item: TableItem | null): number {
  if (item === null) return 1;
  const stored = Number(item[ATTRIBUTES.shards]?.N);
  return STATUS_SHARDS.find((each) => each === stored) ?? STATUS_SHARDS_MAX;
}
