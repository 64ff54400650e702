/** What changed between two JSON documents, by path. */

export interface JsonChange {
  /** Such as `open[0].status`. */
  readonly path: string;
  readonly kind: "added" | "removed" | "changed";
  readonly before?: unknown;
  readonly after?: unknown;
}

const CHANGES_MAX = 500;

/** Changes in the order of the documents; more than 500 are cut. */
export function diff(before: unknown, after: unknown): readonly JsonChange[] {
  const changes: JsonChange[] = [];
  collect({ before, after, path: "" }, changes);
  return changes;
}

function collect(
  { before, after, path }: { readonly before: unknown; readonly after: unknown; readonly path: string },
  into: JsonChange[],
): void {
  if (into.length >= CHANGES_MAX || Object.is(before, after)) return;
  if (!isBranch(before) || !isBranch(after) || Array.isArray(before) !== Array.isArray(after)) {
    into.push({ path, kind: "changed", before, after });
    return;
  }
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    if (into.length >= CHANGES_MAX) return;
    const below = Array.isArray(before) ? `${path}[${key}]` : path === "" ? key : `${path}.${key}`;
    if (!Object.hasOwn(after, key)) into.push({ path: below, kind: "removed", before: before[key] });
    else if (!Object.hasOwn(before, key)) into.push({ path: below, kind: "added", after: after[key] });
    else collect({ before: before[key], after: after[key], path: below }, into);
  }
}

const isBranch = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null;
