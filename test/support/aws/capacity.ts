/**
 * The capacity that DynamoDB charges for a request, computed from the sizes of items before and after it.
 *
 * Sizes: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html, units:
 * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html (2026-11-23).
 */
import { ATTRIBUTES } from "../../../src/adapters/aws/table/attributes.ts";
import { bytesOf } from "../../../src/adapters/aws/table/item-size.ts";
import type { TableItem } from "../../../src/adapters/aws/table/item.ts";
import { TABLE } from "../../../src/adapters/aws/table/schema.ts";

const KILOBYTE = 1_024;

const units = (item: TableItem | undefined): number =>
  item === undefined ? 0 : Math.max(1, Math.ceil(bytesOf(item) / KILOBYTE));

/** The items of a request, as they were before it and after it. For a query: those that it returned. */
interface Touched {
  readonly before: readonly (TableItem | undefined)[];
  readonly after: readonly (TableItem | undefined)[];
}

/**
 * The units of a request. A refused write costs what it would cost if applied. A transaction is charged twice, apart
 * from its indexes. A query is charged for the sum of its items, and a batch for each of them.
 */
export function capacityOf(operation: string, isConsistent: boolean, { before, after }: Touched): number {
  if (operation === "Query") return readUnits(sum(after.map(sizeOf))) * (isConsistent ? 1 : 0.5);
  if (operation === "GetItem" && !isConsistent) return readUnits(sizeOf(before[0])) * 0.5;
  if (/^(Get|BatchGet)/.test(operation)) return sum(before.map((item) => readUnits(sizeOf(item))));
  const times = operation === "TransactWriteItems" ? 2 : 1;
  return sum(before.map((item, at) => writeUnits(item, after[at], times)));
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, each) => all + each, 0);

const sizeOf = (item: TableItem | undefined): number => (item === undefined ? 0 : bytesOf(item));

const readUnits = (bytes: number): number => Math.max(1, Math.ceil(bytes / (4 * KILOBYTE)));

/** The units of a write to the table, `times` over, and to its indexes. */
function writeUnits(before: TableItem | undefined, after: TableItem | undefined, times: number): number {
  const own = times * Math.max(1, units(before), units(after));
  return TABLE.indexes.reduce((all, index) => all + indexUnits(index, before, after), own);
}

/** An entry of an index costs a write if what it holds changes, and two if its key changes. */
function indexUnits(
  index: (typeof TABLE.indexes)[number],
  before: TableItem | undefined,
  after: TableItem | undefined,
): number {
  const key = [index.partition.name, index.sort.name];
  const held = [...key, ATTRIBUTES.run, ATTRIBUTES.item, ...index.projected];
  const entryOf = (item: TableItem | undefined, names: readonly string[]): TableItem | undefined =>
    item === undefined || key.some((name) => item[name] === undefined)
      ? undefined
      : Object.fromEntries(names.flatMap((name) => (item[name] === undefined ? [] : [[name, item[name]]])));
  const [from, to] = [entryOf(before, held), entryOf(after, held)];
  if (JSON.stringify(from) === JSON.stringify(to)) return 0;
  const isMoved = JSON.stringify(entryOf(before, key)) !== JSON.stringify(entryOf(after, key));
  return isMoved ? units(from) + units(to) : Math.max(units(from), units(to));
}
