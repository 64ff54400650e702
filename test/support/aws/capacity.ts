/**
 * The capacity that DynamoDB charges for a request, computed from the sizes of items before and after it.
 *
 * Sizes: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html, units:
 * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html (2026-11-23).
 */
import { ATTRIBUTES } from "../../../src/adapters/aws/table/attributes.ts";
import { bytesOf } from "../../../src/adapters/aws/table/item-size.ts";
import type { Item } from "../../../src/adapters/aws/table/item.ts";
import { TABLE } from "../../../src/adapters/aws/table/schema.ts";

const KILOBYTE = 1_024;

const units = (item: Item | undefined): number =>
  item === undefined ? 0 : Math.max(1, Math.ceil(bytesOf(item) / KILOBYTE));

/** The units of a write to the table and to its indexes. A refused write costs what it would cost if applied. */
export function writeUnits(before: Item | undefined, after: Item | undefined): number {
  const own = Math.max(1, units(before), units(after));
  return TABLE.indexes.reduce((sum, index) => sum + indexUnits(index, before, after), own);
}

/** An entry of an index costs a write if what it holds changes, and two if its key changes. */
function indexUnits(index: (typeof TABLE.indexes)[number], before: Item | undefined, after: Item | undefined): number {
  const key = [index.partition.name, index.sort.name];
  const held = [...key, ATTRIBUTES.run, ATTRIBUTES.item, ...index.projected];
  const entryOf = (item: Item | undefined, names: readonly string[]): Item | undefined =>
    item === undefined || key.some((name) => item[name] === undefined)
      ? undefined
      : Object.fromEntries(names.flatMap((name) => (item[name] === undefined ? [] : [[name, item[name]]])));
  const [from, to] = [entryOf(before, held), entryOf(after, held)];
  if (JSON.stringify(from) === JSON.stringify(to)) return 0;
  const isMoved = JSON.stringify(entryOf(before, key)) !== JSON.stringify(entryOf(after, key));
  return isMoved ? units(from) + units(to) : Math.max(units(from), units(to));
}

/** The units of a consistent read of one item. */
export const readUnits = (item: Item | undefined): number =>
  item === undefined ? 1 : Math.max(1, Math.ceil(bytesOf(item) / (4 * KILOBYTE)));
