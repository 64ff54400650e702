/**
 * The runs of the caller's tenant. The first page is read every two seconds, the others one after the other, so that a
 * list of thousands costs two requests each time.
 */
import { effect, signal } from "@preact/signals";
import type { Listed } from "../../operations/list.ts";
import { askApi } from "../api/http.ts";
import type { ShownProblem } from "../api/problem.ts";
import { pathOf } from "../model/commands.ts";
import { NO_RUNS_READ, type ReadRuns, type RunList, withFirstPage, withNextPage } from "../model/run-list.ts";
import { poll } from "./poll.ts";
import { route } from "./route.ts";

const EVERY_MS = 2_000;
const PAGE = 500;
/** Longer without a turn, as in a hidden tab, and the pass over the pages begins again. */
const GAP_MS = 10_000;

/** Null until the first page is read. */
export const runs = signal<RunList | null>(null);
export const runsTrouble = signal<ShownProblem | null>(null);
/** There are more runs than the list holds. */
export const runsCut = signal(false);

let read = NO_RUNS_READ;
/** When the last turn ended; `Infinity`: none has. */
let readAt = Infinity;

/** The tenant that the address of the list names, also while another page is shown; null: that of the caller. */
const tenant = signal<string | null>(null);
effect(() => {
  const { path, query } = route.value;
  if (path[0] === "runs") tenant.value = query.get("tenant");
});

/** The blocked runs of the caller; null: the list does not hold all runs of the caller's tenant, or is old. */
export function blockedRuns(): readonly string[] | null {
  const { list, isCut } = read;
  if (isCut !== false || tenant.peek() !== null || runsTrouble.peek() !== null) return null;
  return list.runs.flatMap(({ run, status }) => (status === "blocked" ? [run] : []));
}

/** Another tenant has another list, which begins at once and without what was read before. */
export async function followRuns(signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const stop = new AbortController();
    const end = (): void => stop.abort();
    signal.addEventListener("abort", end);
    const before = tenant.peek();
    const unfollow = tenant.subscribe((now) => now !== before && end());
    await poll(readTurn, { everyMs: EVERY_MS, signal: stop.signal, trouble: runsTrouble });
    unfollow();
    signal.removeEventListener("abort", end);
    [read, readAt, runs.value, runsCut.value] = [NO_RUNS_READ, Infinity, null, false];
  }
}

async function readTurn(): Promise<void> {
  const of = tenant.peek();
  // What changed its status meanwhile may lie before the next page of the pass, and behind the first page.
  if (Date.now() - readAt > GAP_MS) read = { ...read, pass: null };
  const first = await pageAfter(null);
  if (tenant.peek() !== of) return;
  take(withFirstPage(read, first));
  // The first time, every page; afterwards one of them.
  do {
    const { pass } = read;
    if (pass === null || pass.next === null) break;
    const page = await pageAfter(pass.next);
    if (tenant.peek() !== of) return;
    take(withNextPage(read, pass, page));
  } while (read.isCut === null);
  readAt = Date.now();
}

function take(next: ReadRuns): void {
  read = next;
  runs.value = next.list;
  runsCut.value = next.isCut === true;
}

function pageAfter(after: string | null): Promise<Listed> {
  const named = tenant.peek();
  const query = new URLSearchParams({
    limit: String(PAGE),
    ...(after !== null && { after }),
    ...(named !== null && { tenant: named }),
  });
  return askApi<Listed>(`${pathOf("list", {})}?${query.toString()}`);
}
