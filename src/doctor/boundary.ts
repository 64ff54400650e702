/** Judges the stored fields of one run: `cairn doctor --run RUN`. */
import type { BoundaryChecked, BoundaryFinding } from "../history/check-boundary.ts";
import { type Judged, type CheckVerdict, fail, ok, unknown } from "../ports/diagnosis.ts";

/** `verify`: the command to type where a field is wrong. */
export function judgeBoundary(checked: BoundaryChecked, { verify }: { readonly verify: string }): readonly Judged[] {
  const { version, fields, beyond, differing, unread } = checked;
  const judged = (found: readonly BoundaryFinding[], fine: string): CheckVerdict =>
    found.length === 0 ? ok(fine) : fail(found.map(({ field, what }) => `${field}: ${what}`).join("; "), verify);
  const seen = `${fields} fields of snapshot ${version}`;
  const lost = unread === null ? null : `its fields cannot be computed again: ${unread}`;
  return [
    {
      id: "run-bounds",
      says: "each stored field of the run is within its bound",
      ...(fields === 0 ? unknown(lost ?? "", verify) : judged(beyond, seen)),
    },
    {
      id: "run-fields",
      says: "each stored field of the run is what its start and its events give",
      ...(lost === null ? judged(differing, seen) : fail(lost, verify)),
    },
  ];
}
