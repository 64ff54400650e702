/**
 * The list of runs in the browser, put together from pages that are read again and again. The server orders them by
 * their last change of status, so a run may move to the first page at any time. Therefore a page adds and replaces runs
 * and removes none: a run goes when a pass over all pages, which began after it was last read, has not met it. A page
 * without news leaves the list the same object.
 */
import type { Listed } from "../../operations/list.ts";
import type { Summary } from "../../operations/views.ts";

export interface RunList {
  /** The latest start first. */
  readonly runs: readonly Summary[];
  readonly damaged: Listed["damaged"];
}

/** All pages, one after the other. Each begins where the one before ended, so no run lies between them. */
export interface ListPass {
  /** The cursor of the page that it reads next; null: it has read its last one. */
  readonly next: string | null;
  readonly pages: number;
  /** The runs that were read since it began. */
  readonly seen: ReadonlySet<string>;
}

export interface ReadRuns {
  readonly list: RunList;
  /** Null: the next first page begins one. */
  readonly pass: ListPass | null;
  /** The last pass stopped at `PAGES_MAX`: there are more runs than the list holds. Null: no pass has read its last page. */
  readonly isCut: boolean | null;
}

export const NO_RUNS_READ: ReadRuns = { list: { runs: [], damaged: [] }, pass: null, isCut: null };

/** Pages of a pass: with 500 runs each, the 10,000 runs whose status changed last. */
const PAGES_MAX = 20;

/**
 * The first page is read between the others too: it has the runs that moved there since. So a pass ends with the first
 * page after its last one. Otherwise a run that moves while the last one is read would be missing for a moment.
 */
export function withFirstPage({ list, pass, isCut }: ReadRuns, page: Listed): ReadRuns {
  const merged = withPage(list, page);
  const seen = new Set(idsOf(page));
  const begun: ListPass = { next: page.next, pages: 1, seen };
  // A first page without another one is a whole pass.
  if (begun.next === null) return { list: onlySeen(merged, seen), pass: null, isCut: false };
  if (pass === null) return { list: merged, pass: begun, isCut };
  const all = new Set([...pass.seen, ...seen]);
  if (pass.next !== null) return { list: merged, pass: { ...pass, seen: all }, isCut };
  return { list: onlySeen(merged, all), pass: begun, isCut };
}

/** `page`: what the cursor of `pass` names. */
export function withNextPage({ list, isCut }: ReadRuns, pass: ListPass, page: Listed): ReadRuns {
  const pages = pass.pages + 1;
  const isLast = page.next === null || pages >= PAGES_MAX;
  const seen = new Set([...pass.seen, ...idsOf(page)]);
  return {
    list: withPage(list, page),
    pass: { next: isLast ? null : page.next, pages, seen },
    isCut: isLast ? page.next !== null : isCut,
  };
}

const idsOf = ({ runs, damaged }: Listed): readonly string[] => [...runs, ...damaged].map(({ run }) => run);

function withPage(list: RunList, page: Listed): RunList {
  const runs = new Map(list.runs.map((run) => [run.run, run]));
  const damaged = new Map(list.damaged.map((each) => [each.run, each]));
  for (const run of page.runs) {
    runs.set(run.run, unchanged(runs.get(run.run), run));
    damaged.delete(run.run);
  }
  for (const each of page.damaged) {
    damaged.set(each.run, unchanged(damaged.get(each.run), each));
    runs.delete(each.run);
  }
  const inOrder = [...runs.values()].toSorted(
    (one, other) => other.createdAt - one.createdAt || compare(one.run, other.run),
  );
  return sameOr(list, { runs: inOrder, damaged: [...damaged.values()] });
}

const onlySeen = (list: RunList, seen: ReadonlySet<string>): RunList =>
  sameOr(list, {
    runs: list.runs.filter(({ run }) => seen.has(run)),
    damaged: list.damaged.filter(({ run }) => seen.has(run)),
  });

const sameOr = (before: RunList, after: RunList): RunList =>
  areSame(before.runs, after.runs) && areSame(before.damaged, after.damaged) ? before : after;

const areSame = (one: readonly unknown[], other: readonly unknown[]): boolean =>
  one.length === other.length && one.every((each, index) => each === other[index]);

/** The object that the list has already, if it says the same: what did not change is not drawn again. */
const unchanged = <Item>(known: Item | undefined, read: Item): Item =>
  known !== undefined && JSON.stringify(known) === JSON.stringify(read) ? known : read;

const compare = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0);
