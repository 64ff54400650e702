/**
 * Requests to the one table. A conditional write is sent once; it is `written`, `refused` with the present item, or
 * `ambiguous`. The SDK repeats what is safe to repeat, and a bounded loop fetches the rest of a partial response.
 */
import { randomInt } from "node:crypto";
import {
  type AttributeValue,
  BatchGetItemCommand,
  BatchWriteItemCommand,
  type ConditionalCheckFailedException,
  DeleteItemCommand,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  type TransactWriteItem,
  TransactWriteItemsCommand,
  type TransactionCanceledException,
  UpdateItemCommand,
} from "@aws-sdk/client-dynamodb";
import type { Ambiguous } from "../../../ports/run-table.ts";
import { type Clock, StoreUnreachable } from "../../../ports/world.ts";
import type { Attribute } from "./attributes.ts";
import type { Pair } from "../clients.ts";
import { isBusy, isNamed, reachingService, undecided } from "../errors.ts";
import { type Fragment, conditionInput, keyInput, projectionInput, updateInput } from "./expression.ts";
import type { TableItem } from "./item.ts";
import type { Write } from "./row-writes.ts";

type Key = Record<string, AttributeValue>;

/** `item`: the item now, the item before, or the item that refused, as each method says; null without one. */
export type ItemWritten =
  | { readonly kind: "written"; readonly item: TableItem | null }
  | { readonly kind: "refused"; readonly item: TableItem | null }
  | Ambiguous;

/** `items`: for each part of the transaction, the item that refused it; undefined for a part that was not refused. */
export type Transacted =
  | { readonly kind: "written" }
  | { readonly kind: "refused"; readonly items: readonly (TableItem | null | undefined)[] }
  | Ambiguous;

/** One part of a transaction. */
export type TransactionPart =
  | ({ readonly kind: "update"; readonly key: Key } & Write)
  | { readonly kind: "check"; readonly key: Key; readonly condition: Fragment }
  | { readonly kind: "put"; readonly item: Key; readonly condition: Fragment | null };

/** A query of one partition; `index` null: of the table itself. */
export interface QueryOf {
  readonly index: string | null;
  readonly where: Fragment;
  readonly limit: number;
  readonly newestFirst?: boolean;
  /** The answer may lag a moment behind, and costs half. */
  readonly isLagging?: boolean;
}

/** How many keys one request takes. */
const GET_MAX = 100;
const WRITE_MAX = 25;
/** Partial responses in a row after which the table counts as throttling. */
const PARTS_MAX = 8;
/** The pause before a throttled response is passed on, since its caller may send the same write again at once. */
const PATIENCE_MS = { from: 20, to: 120 };

/**
 * The one table. Reads and removals reject only with `StoreUnreachable`; so do writes that certainly did not happen.
 */
export class Dynamo {
  readonly #clients: Pair<DynamoDBClient>;
  readonly #table: string;
  readonly #clock: Pick<Clock, "after">;
  readonly #store: string;

  constructor({
    clients,
    table,
    clock,
  }: {
    readonly clients: Pair<DynamoDBClient>;
    readonly table: string;
    readonly clock: Pick<Clock, "after">;
  }) {
    this.#clients = clients;
    this.#table = table;
    this.#clock = clock;
    this.#store = `the table ${table}`;
  }

  /** `written` holds the item as it is now. */
  update(key: Key, { condition, changes }: Write): Promise<ItemWritten> {
    const input = { Key: key, ...updateInput(condition, changes) };
    return this.#attempt(() =>
      this.#clients.once.send(new UpdateItemCommand({ ...this.#refusable(), ...input, ReturnValues: "ALL_NEW" })),
    );
  }

  /** `written` holds the item that was replaced. */
  put(item: Key, condition: Fragment): Promise<ItemWritten> {
    const input = { Item: item, ...conditionInput(condition) };
    return this.#attempt(() =>
      this.#clients.once.send(new PutItemCommand({ ...this.#refusable(), ...input, ReturnValues: "ALL_OLD" })),
    );
  }

  /** `written` holds the item that was removed. */
  remove(key: Key, condition: Fragment): Promise<ItemWritten> {
    const input = { Key: key, ...conditionInput(condition) };
    return this.#attempt(() =>
      this.#clients.once.send(new DeleteItemCommand({ ...this.#refusable(), ...input, ReturnValues: "ALL_OLD" })),
    );
  }

  async transact(parts: readonly TransactionPart[]): Promise<Transacted> {
    const TransactItems = parts.map((part) => partInput(this.#refusable(), part));
    try {
      await this.#clients.once.send(new TransactWriteItemsCommand({ TransactItems }));
      return { kind: "written" };
    } catch (error) {
      const reasons = isNamed(error, "TransactionCanceledException") ? reasonsIn(error) : [];
      if (!reasons.some(isRefusal)) return this.#lost(error);
      return { kind: "refused", items: reasons.map((each) => (isRefusal(each) ? (each.Item ?? null) : undefined)) };
    }
  }

  /** `lagging`: the answer may lag a moment behind, and costs half. */
  async get(key: Key, how: "consistent" | "lagging" = "consistent"): Promise<TableItem | null> {
    const command = new GetItemCommand({ TableName: this.#table, Key: key, ConsistentRead: how === "consistent" });
    return (await reachingService(this.#store, () => this.#clients.repeating.send(command))).Item ?? null;
  }

  /** The items that exist, in any order. `only`: these attributes, or all of them for null. */
  async getAll(keys: readonly Key[], only: readonly Attribute[] | null): Promise<readonly TableItem[]> {
    const projection = only === null ? {} : projectionInput(only);
    const found: TableItem[] = [];
    for (let from = 0; from < keys.length; from += GET_MAX) {
      await this.#untilDone(keys.slice(from, from + GET_MAX), async (rest) => {
        const RequestItems = { [this.#table]: { Keys: [...rest], ConsistentRead: true, ...projection } };
        const answer = await this.#clients.repeating.send(new BatchGetItemCommand({ RequestItems }));
        found.push(...(answer.Responses?.[this.#table] ?? []));
        return answer.UnprocessedKeys?.[this.#table]?.Keys ?? [];
      });
    }
    return found;
  }

  /** Removes the items; succeeds for those that do not exist. */
  async removeAll(keys: readonly Key[]): Promise<void> {
    for (let from = 0; from < keys.length; from += WRITE_MAX) {
      await this.#untilDone(keys.slice(from, from + WRITE_MAX), async (rest) => {
        const RequestItems = { [this.#table]: rest.map((key) => ({ DeleteRequest: { Key: key } })) };
        const answer = await this.#clients.repeating.send(new BatchWriteItemCommand({ RequestItems }));
        const left = answer.UnprocessedItems?.[this.#table] ?? [];
        return left.flatMap(({ DeleteRequest }) => (DeleteRequest?.Key === undefined ? [] : [DeleteRequest.Key]));
      });
    }
  }

  /** The first items in the order of their sort keys. An index may lag a moment behind; the table itself does not. */
  async query(query: QueryOf): Promise<readonly TableItem[]> {
    const found: TableItem[] = [];
    let from: Key | undefined;
    do {
      const command = new QueryCommand({
        TableName: this.#table,
        ...(query.index === null ? { ConsistentRead: query.isLagging !== true } : { IndexName: query.index }),
        ...keyInput(query.where),
        Limit: query.limit - found.length,
        ScanIndexForward: query.newestFirst !== true,
        ExclusiveStartKey: from,
      });
      const answer = await reachingService(this.#store, () => this.#clients.repeating.send(command));
      found.push(...(answer.Items ?? []));
      from = answer.LastEvaluatedKey;
    } while (from !== undefined && found.length < query.limit);
    return found;
  }

  #refusable() {
    return { TableName: this.#table, ReturnValuesOnConditionCheckFailure: "ALL_OLD" } as const;
  }

  async #attempt(send: () => Promise<{ readonly Attributes?: Key | undefined }>): Promise<ItemWritten> {
    try {
      return { kind: "written", item: (await send()).Attributes ?? null };
    } catch (error) {
      if (isNamed(error, "ConditionalCheckFailedException")) return { kind: "refused", item: itemIn(error) };
      return this.#lost(error);
    }
  }

  async #lost(error: unknown): Promise<Ambiguous> {
    const outcome = undecided(error, this.#store);
    if (isBusy(error)) await this.#pause();
    return outcome;
  }

  /** Repeats `send` until the table has processed all keys. `send` returns those that it did not process. */
  async #untilDone(keys: readonly Key[], send: (rest: readonly Key[]) => Promise<readonly Key[]>): Promise<void> {
    let rest = keys;
    for (let part = 0; part < PARTS_MAX; part += 1) {
      if (part > 0) await this.#pause();
      rest = await reachingService(this.#store, () => send(rest));
      if (rest.length === 0) return;
    }
    const why = `it left requests unprocessed ${PARTS_MAX} times`;
    throw new StoreUnreachable(`${this.#store} cannot be used: it is throttling (${why}); try again later`);
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      this.#clock.after(randomInt(PATIENCE_MS.from, PATIENCE_MS.to), resolve);
    });
  }
}

/** The item that the refusal of a write returns. */
const itemIn = (error: unknown): TableItem | null => (error as ConditionalCheckFailedException).Item ?? null;

const reasonsIn = (error: unknown) => (error as TransactionCanceledException).CancellationReasons ?? [];

const isRefusal = ({ Code }: { readonly Code?: string | undefined }): boolean => Code === "ConditionalCheckFailed";

function partInput(
  input: { readonly TableName: string; readonly ReturnValuesOnConditionCheckFailure: "ALL_OLD" },
  part: TransactionPart,
): TransactWriteItem {
  if (part.kind === "update") {
    return { Update: { ...input, Key: part.key, ...updateInput(part.condition, part.changes) } };
  }
  if (part.kind === "check") return { ConditionCheck: { ...input, Key: part.key, ...conditionInput(part.condition) } };
  return { Put: { ...input, Item: part.item, ...(part.condition === null ? {} : conditionInput(part.condition)) } };
}
