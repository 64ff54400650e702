/**
 * A table of DynamoDB in memory, behind the client of the SDK: it evaluates the expressions that the adapter sends. Each
 * request is applied as a whole when it is sent, so a test chooses the order of the requests of several processes.
 */
import { ATTRIBUTES } from "../../../src/adapters/aws/table/attributes.ts";
import { capacityOf } from "./capacity.ts";
import { Dynamo } from "../../../src/adapters/aws/table/dynamo.ts";
import type { TableItem as StoredItem, TableItem } from "../../../src/adapters/aws/table/item.ts";
import { dynamoDeltaLog } from "../../../src/adapters/aws/table/delta-log.ts";
import { dynamoInbox } from "../../../src/adapters/aws/table/messages.ts";
import { dynamoRecords } from "../../../src/adapters/aws/table/records.ts";
import { dynamoRunTable } from "../../../src/adapters/aws/table/run-table.ts";
import { StatusShards } from "../../../src/adapters/aws/table/status-shards.ts";
import { TABLE } from "../../../src/adapters/aws/table/schema.ts";
import type { Clock } from "../../../src/ports/world.ts";
import type { DeltaLog } from "../../../src/ports/delta-log.ts";
import type { Inbox } from "../../../src/ports/inbox.ts";
import type { Records } from "../../../src/ports/records.ts";
import type { RunTable } from "../../../src/ports/run-table.ts";

interface Expressions {
  readonly ConditionExpression?: string;
  readonly UpdateExpression?: string;
  readonly ExpressionAttributeNames?: Readonly<Record<string, string>>;
  readonly ExpressionAttributeValues?: Readonly<Record<string, TableItem[string]>>;
}

/** Evaluates a condition: comparisons, `IN`, `BETWEEN`, `begins_with`, `attribute_exists`, `NOT`, `AND`, `OR` and parentheses. */
function holds(input: Expressions, item: TableItem | undefined): boolean {
  const { ConditionExpression, ExpressionAttributeNames: names = {}, ExpressionAttributeValues: values = {} } = input;
  if (ConditionExpression === undefined) return true;
  const tokens = tokensOf(ConditionExpression);
  let read = 0;
  const take = (): string => {
    read += 1;
    return tokens[read - 1] ?? "";
  };
  const operand = (token: string): string | number | undefined => {
    const value = token.startsWith("#") ? item?.[names[token] ?? ""] : values[token];
    if (value?.N !== undefined) return Number(value.N);
    // Lists and maps are compared as a whole.
    if (value?.L !== undefined || value?.M !== undefined) return JSON.stringify(value);
    return value?.S ?? (value?.BOOL === undefined ? undefined : String(value.BOOL));
  };
  const either = (): boolean => {
    let result = both();
    while (tokens[read] === "OR") result = (take(), both()) || result;
    return result;
  };
  const both = (): boolean => {
    let result = one();
    while (tokens[read] === "AND") result = (take(), one()) && result;
    return result;
  };
  const one = (): boolean => {
    const token = take();
    if (token === "NOT") return !one();
    if (token === "(") {
      const result = either();
      take();
      return result;
    }
    if (token === "begins_with") {
      const [, text, , prefix] = [take(), operand(take()), take(), operand(take()), take()];
      return typeof text === "string" && text.startsWith(String(prefix));
    }
    if (token.startsWith("attribute_")) {
      const [, name] = [take(), take(), take()];
      return (item?.[names[name] ?? ""] !== undefined) === (token === "attribute_exists");
    }
    const [left, operator] = [operand(token), take()];
    if (operator === "BETWEEN") {
      const [low, , high] = [operand(take()), take(), operand(take())];
      return compared(left, ">=", low) && compared(left, "<=", high);
    }
    if (operator === "IN") {
      const options: unknown[] = [];
      for (let next = take(); next !== ")"; next = take()) if (next.startsWith(":")) options.push(operand(next));
      return options.includes(left);
    }
    return compared(left, operator, operand(take()));
  };
  return either();
}

const tokensByText = new Map<string, readonly string[]>();

function tokensOf(expression: string): readonly string[] {
  const tokens = tokensByText.get(expression) ?? expression.match(/[#:]?\w+|<=|>=|<>|[=<>(),]/g) ?? [];
  tokensByText.set(expression, tokens);
  return tokens;
}

function compared(left: string | number | undefined, operator: string, right: string | number | undefined): boolean {
  if (operator === "<>") return left !== right;
  // A comparison with a missing attribute is false.
  if (left === undefined || right === undefined) return false;
  if (operator === "=") return left === right;
  if (operator === "<") return left < right;
  if (operator === "<=") return left <= right;
  if (operator === ">") return left > right;
  if (operator === ">=") return left >= right;
  throw new Error(`this table does not know the operator ${operator}`);
}

type AttributeValue = StoredItem[string];
type Item = Record<string, AttributeValue>;
/** The keys of a batch: of items to read, or of items to remove. */
type Batch = { readonly Keys: readonly Item[] } | readonly { readonly DeleteRequest: { readonly Key: Item } }[];

interface Request extends Expressions {
  readonly Key?: Item;
  readonly Item?: Item;
  readonly TransactItems?: readonly Readonly<Record<string, Request>>[];
  readonly RequestItems?: Readonly<Record<string, Batch>>;
  readonly IndexName?: string;
  readonly ConsistentRead?: boolean;
  readonly KeyConditionExpression?: string;
  readonly Limit?: number;
  readonly ScanIndexForward?: boolean;
}

/** How a request reaches the table and its answer the process, and the clock by which a process waits. */
export interface Network {
  readonly clock: Pick<Clock, "after">;
  /** `apply` applies the request now and returns the answer, or throws what DynamoDB answers. */
  send(request: Omit<Sent, "isRefused" | "units">, apply: () => object): Promise<object>;
}

interface Sent {
  /** `UpdateItem`, `GetItem`, ... */
  readonly operation: string;
  readonly input: Request;
  readonly isRefused: boolean;
  /** The capacity that DynamoDB charges. */
  readonly units: number;
}

export interface DynamoTable {
  readonly sent: readonly Sent[];
  /** The run table and the inbox of a new process, which remembers no row. `onSent` is told each of its requests. */
  process(onSent?: (sent: Sent) => void, statusShards?: number | null): RunTable & Inbox;
  /** The delta log of a new process. */
  deltaLog(onSent?: (sent: Sent) => void): DeltaLog;
  /** The records of a new process. */
  records(onSent?: (sent: Sent) => void): Records;
  /** The stored row of a run. */
  item(run: string): Item | undefined;
  put(item: Item): void;
  /** Removes the row of a run. */
  remove(run: string): void;
  /** Calls `act` once, before the next request of that operation is applied. */
  before(operation: string, act: () => Promise<unknown> | void): void;
}

/** `network`: what carries the requests. Without one each arrives at once, and the table keeps what was sent. */
export function dynamoTable(network?: Network): DynamoTable {
  const items = new Map<string, Item>();
  const sent: Sent[] = [];
  const waiting: { readonly operation: string; readonly act: () => Promise<unknown> | void }[] = [];
  const apply = (operation: string, input: Request, onSent: (sent: Sent) => void): object => {
    const keys = keysIn(input).map(keyText);
    const now = (): (Item | undefined)[] => keys.map((key) => items.get(key));
    const before = structuredClone(now());
    const tell = (isRefused: boolean, after: (Item | undefined)[]): void => {
      const units = capacityOf(operation, input.ConsistentRead === true, { before, after });
      const each = { operation, input, isRefused, units };
      sent.push(each);
      onSent(each);
    };
    try {
      const output = applied(items, operation, input);
      tell(false, operation === "Query" ? (output as { readonly Items: Item[] }).Items : now());
      return output;
    } catch (error) {
      tell(true, now());
      throw error;
    }
  };
  type Client = ConstructorParameters<typeof Dynamo>[0]["clients"]["once"];
  const clientOf = (onSent: (sent: Sent) => void) => ({
    send: async (command: { readonly constructor: { readonly name: string }; readonly input: Request }) => {
      const operation = command.constructor.name.replace(/Command$/, "");
      const { input } = command;
      if (network !== undefined) return network.send({ operation, input }, () => applied(items, operation, input));
      const at = waiting.findIndex((each) => each.operation === operation);
      if (at >= 0) await waiting.splice(at, 1)[0]?.act();
      return apply(operation, input, onSent);
    },
  });
  const dynamoFor = (onSent: (sent: Sent) => void): Dynamo => {
    const client = clientOf(onSent) as unknown as Client;
    return new Dynamo({
      ...{ clients: { once: client, repeating: client }, table: "runs" },
      clock: network?.clock ?? { after: (_, call) => (call(), () => undefined) },
    });
  };
  return {
    sent,
    process: (onSent = () => undefined, statusShards = 1) => portsOf(dynamoFor(onSent), statusShards),
    deltaLog: (onSent = () => undefined) => dynamoDeltaLog(dynamoFor(onSent)),
    records: (onSent = () => undefined) => dynamoRecords(dynamoFor(onSent)),
    item: (run) => items.get(rowKey(run)),
    put: (item) => void items.set(keyText(item), structuredClone(item)),
    remove: (run) => void items.delete(rowKey(run)),
    before: (operation, act) => void waiting.push({ operation, act }),
  };
}

const portsOf = (dynamo: Dynamo, statusShards: number | null): RunTable & Inbox => ({
  ...dynamoRunTable({ dynamo, table: "runs", shards: new StatusShards(dynamo, statusShards) }),
  ...dynamoInbox(dynamo),
});

/** The keys of all items that a request names. */
function keysIn({ Key, Item: put, TransactItems = [], RequestItems = {} }: Request): readonly Item[] {
  const parts = TransactItems.flatMap((part) => Object.values(part).flatMap(keysIn));
  const own = Key ?? put;
  return [...(own === undefined ? [] : [own]), ...parts, ...Object.values(RequestItems).flatMap(keysOf)];
}

const keysOf = (batch: Batch): readonly Item[] =>
  "Keys" in batch ? batch.Keys : batch.map(({ DeleteRequest }) => DeleteRequest.Key);

const keyText = ({ run, item }: Item): string => JSON.stringify([run?.S, item?.S]);
const rowKey = (run: string): string => keyText({ run: { S: run }, item: { S: "row" } });

function applied(items: Map<string, Item>, operation: string, input: Request): object {
  const key = keyText(input.Key ?? input.Item ?? {});
  const found = items.get(key);
  if (operation === "GetItem") return { Item: structuredClone(found) };
  if (operation === "BatchGetItem") return gotten(items, input);
  if (operation === "BatchWriteItem") return removed(items, input);
  if (operation === "Query") return queried(items, input);
  if (operation === "TransactWriteItems") return transacted(items, input);
  if (!holds(input, found)) throw refusal("ConditionalCheckFailedException", itemOf(found));
  if (operation === "DeleteItem") items.delete(key);
  if (operation === "PutItem") items.set(key, structuredClone(input.Item ?? {}));
  if (operation !== "UpdateItem") return { Attributes: structuredClone(found) };
  const updated = changed({ ...input.Key, ...found }, input);
  items.set(key, updated);
  return { Attributes: structuredClone(updated) };
}

function gotten(items: Map<string, Item>, { RequestItems = {} }: Request): object {
  const found = Object.entries(RequestItems).map(([table, batch]) => [
    table,
    structuredClone(keysOf(batch).map((each) => items.get(keyText(each)))).filter((each) => each !== undefined),
  ]);
  return { Responses: Object.fromEntries(found) };
}

/** Removals are all that the adapter writes in batches. */
function removed(items: Map<string, Item>, { RequestItems = {} }: Request): object {
  for (const key of Object.values(RequestItems).flatMap(keysOf)) items.delete(keyText(key));
  return {};
}

/** The items of a run whose sort keys begin with a text, or lie between two: what the adapter asks the table itself. */
function below(items: Map<string, Item>, input: Request): readonly Item[] {
  const { ExpressionAttributeValues: values = {}, KeyConditionExpression: ConditionExpression = "" } = input;
  const [run, prefix] = [values[":run"]?.S, values[":items"]?.S];
  const isMeant = (each: Item): boolean =>
    prefix === undefined
      ? holds({ ...input, ConditionExpression }, each)
      : each["item"]?.S?.startsWith(prefix) === true;
  const found = [...items.values()].filter((each) => each["run"]?.S === run && isMeant(each));
  const inOrder = found.toSorted((one, other) => ((one["item"]?.S ?? "") < (other["item"]?.S ?? "") ? -1 : 1));
  return (input.ScanIndexForward === false ? inOrder.toReversed() : inOrder).slice(0, input.Limit);
}

/** A query of an index, in the order of its sort key. An item without the attributes of the index is not in it. */
function queried(items: Map<string, Item>, input: Request): object {
  if (input.IndexName === undefined) return { Items: below(items, input) };
  const index = TABLE.indexes.find(({ name }) => name === input.IndexName);
  if (index === undefined) throw new Error(`this table has no index ${input.IndexName}`);
  const { KeyConditionExpression: ConditionExpression = "", Limit = Infinity } = input;
  const sortOf = (item: Item): string | number => item[index.sort.name]?.S ?? Number(item[index.sort.name]?.N);
  const given = new Set(Object.values(input.ExpressionAttributeValues ?? {}).map(({ S, N }) => S ?? N));
  const isNear = ({ [index.partition.name]: partition }: Item): boolean => given.has(partition?.S ?? partition?.N);
  const found = [...items.values()]
    .filter((item) => isNear(item) && item[index.sort.name] !== undefined)
    .filter((item) => holds({ ...input, ConditionExpression }, item))
    .toSorted((one, other) => (sortOf(one) < sortOf(other) ? -1 : 1));
  const names = new Set<string>([
    ATTRIBUTES.run,
    ATTRIBUTES.item,
    index.partition.name,
    index.sort.name,
    ...index.projected,
  ]);
  const page = (input.ScanIndexForward === false ? found.toReversed() : found).slice(0, Limit);
  const Items = page.map((item) => Object.fromEntries(Object.entries(item).filter(([name]) => names.has(name))));
  return { Items };
}

function transacted(items: Map<string, Item>, { TransactItems = [] }: Request): object {
  const parts = TransactItems.flatMap((part) => Object.entries(part));
  const reasons = parts.map(([, input]) => {
    const found = items.get(keyText(input.Key ?? input.Item ?? {}));
    if (holds(input, found)) return { Code: "None" };
    return { Code: "ConditionalCheckFailed", ...itemOf(found) };
  });
  if (reasons.some(({ Code }) => Code !== "None")) {
    throw refusal("TransactionCanceledException", { CancellationReasons: reasons });
  }
  for (const [kind, input] of parts) if (kind !== "ConditionCheck") applied(items, `${kind}Item`, input);
  return {};
}

/** An error as the SDK throws it. */
const refusal = (name: string, more: object): Error => Object.assign(new Error("refused"), { name, ...more });

const itemOf = (found: Item | undefined): object => (found === undefined ? {} : { Item: structuredClone(found) });

/** `SET a = :v, b = b + :w REMOVE c`: these two forms are all that the adapter sends. */
function changed(item: Item, input: Expressions): Item {
  const { UpdateExpression = "", ExpressionAttributeNames: names = {}, ExpressionAttributeValues: values = {} } = input;
  const [, sets = "", removed = ""] = /^(?:SET (.*?))?(?: ?REMOVE (.*))?$/.exec(UpdateExpression) ?? [];
  const next = structuredClone(item);
  for (const each of sets === "" ? [] : sets.split(", ")) {
    const [, name = "", from, value = ""] = /^(#\w+) = (?:(#\w+) \+ )?(:\w+)$/.exec(each) ?? [];
    const given = values[value];
    if (given === undefined) throw new Error(`this table does not know the change ${each}`);
    const before = from === undefined ? 0 : Number(item[names[from] ?? ""]?.N);
    next[names[name] ?? ""] = from === undefined ? structuredClone(given) : { N: String(before + Number(given.N)) };
  }
  for (const name of removed === "" ? [] : removed.split(", ")) delete next[names[name] ?? ""];
  return next;
}
