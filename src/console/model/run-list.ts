/**
 * The list of runs in the browser, put together from pages that are read again one after the other. A page replaces
 * what the list knew of its range, so a purged run disappears and a new one appears without reading all pages.
 */
import type { Listed } from "../../operations/list.ts";
import type { Summary } from "../../operations/views.ts";

export interface RunList {
  /** Newest first. */
  readonly runs: readonly Summary[];
  readonly damaged: Listed["damaged"];
}

export const EMPTY_LIST: RunList = { runs: [], damaged: [] };

/** `isFirst`: the page begins with the newest run. */
export function withPage(list: RunList, page: Listed, isFirst: boolean): RunList {
  const { runs, more } = page;
  const newest = isFirst ? Infinity : (runs[0]?.createdAt ?? -Infinity);
  const oldest = more ? (runs.at(-1)?.createdAt ?? Infinity) : -Infinity;
  const read = new Map(runs.map((run) => [run.run, run]));
  // At the ends of a page a run of the same millisecond may belong to the next page.
  const kept = list.runs.filter(({ run, createdAt }) => !read.has(run) && (createdAt >= newest || createdAt <= oldest));
  const all = [...kept, ...runs].toSorted(
    (one, other) => other.createdAt - one.createdAt || compare(one.run, other.run),
  );
  const damaged = new Map([...list.damaged, ...page.damaged].map((each) => [each.run, each]));
  for (const { run } of all) damaged.delete(run);
  return { runs: all, damaged: [...damaged.values()] };
}

const compare = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0);
