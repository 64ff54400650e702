/**
 * The runs of the caller's tenant. The newest page is read every two seconds, the others one after the other, so that
 * a list of thousands costs two requests each time.
 */
import { signal } from "@preact/signals";
import type { Listed } from "../../operations/list.ts";
import { ask } from "../api/http.ts";
import type { Trouble } from "../api/problem.ts";
import { EMPTY_LIST, type RunList, withPage } from "../model/run-list.ts";
import { poll } from "./poll.ts";

const EVERY_MS = 2_000;
const PAGE = 500;
/** Pages that are kept: the newest 10,000 runs. */
const PAGES_MAX = 20;

/** Null until the first page is read. */
export const runs = signal<RunList | null>(null);
export const runsTrouble = signal<Trouble | null>(null);
/** There are older runs than the list holds. */
export const runsCut = signal(false);

/** The cursors of the pages behind the first. */
let cursors: readonly string[] = [];
let turn = 0;

export const followRuns = (signal: AbortSignal): Promise<void> =>
  poll(readTurn, { everyMs: EVERY_MS, signal, trouble: runsTrouble });

async function readTurn(): Promise<void> {
  const first = await pageAfter(null);
  runs.value = withPage(runs.peek() ?? EMPTY_LIST, first, true);
  if (first.next === null) cursors = [];
  else if (cursors.length === 0) cursors = [first.next];
  if (cursors.length === 0) return;
  // The first time, every page; afterwards one of them.
  while (await readNext());
}

/** Reads the page whose turn it is. True if there is a page behind it that was never read. */
async function readNext(): Promise<boolean> {
  turn = turn >= cursors.length ? 0 : turn;
  const page = await pageAfter(cursors[turn] ?? null);
  runs.value = withPage(runs.peek() ?? EMPTY_LIST, page, false);
  turn += 1;
  if (turn < cursors.length || page.next === null) return false;
  runsCut.value = cursors.length >= PAGES_MAX - 1;
  if (!runsCut.peek()) cursors = [...cursors, page.next];
  return !runsCut.peek();
}

const pageAfter = (after: string | null): Promise<Listed> =>
  ask<Listed>(`/runs?limit=${PAGE}${after === null ? "" : `&after=${encodeURIComponent(after)}`}`);
