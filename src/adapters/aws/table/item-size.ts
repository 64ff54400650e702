/**
 * The size of an item as DynamoDB charges it. The run table keeps a journal in the row only while that costs nothing.
 *
 * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html (2026-11-23).
 */
import type { TableItem } from "./item.ts";

type Value = TableItem[string];

const bytesOfText = (text: string): number => Buffer.byteLength(text, "utf8");

function bytesOfValue(value: Value): number {
  if (value.S !== undefined) return bytesOfText(value.S);
  if (value.B !== undefined) return value.B.byteLength;
  // Two digits take a byte, and the number one more.
  if (value.N !== undefined) return Math.ceil(value.N.replace(/^-|\.|^0+(?=\d)/g, "").length / 2) + 1;
  if (value.L !== undefined) return 3 + value.L.reduce((sum, each) => sum + 1 + bytesOfValue(each), 0);
  if (value.M !== undefined) {
    const fields = Object.entries(value.M);
    return 3 + fields.reduce((sum, [name, each]) => sum + 1 + bytesOfText(name) + bytesOfValue(each), 0);
  }
  return 1;
}

/** The size of an item in bytes. */
export const bytesOf = (item: TableItem): number =>
  Object.entries(item).reduce((sum, [name, value]) => sum + bytesOfText(name) + bytesOfValue(value), 0);

/** A write is charged for each kilobyte that it begins. */
export const WRITE_UNIT_BYTES = 1_024;
