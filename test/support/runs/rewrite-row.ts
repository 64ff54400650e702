/** Writes changed rows past every port. */
import { checksumOf } from "../../../src/codec/checksum.ts";
import type { Row } from "../../../src/protocol/row.ts";

/** The row with these changes, as a commit that made them would have written it. */
export function rewriteRow(row: Row, to: Partial<Row> = {}): Row {
  const changed = { ...row, ...to };
  return { ...changed, checksum: checksumOf(changed) };
}
