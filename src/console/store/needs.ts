/** What waits for a human: gates and questions of every run, unknown outcomes, and upgrades to accept. */
import { computed, signal } from "@preact/signals";
import type { WaitingPage } from "../../operations/approvals.ts";
import type { Listed } from "../../operations/list.ts";
import type { Shown } from "../../operations/views.ts";
import { askApi } from "../api/http.ts";
import { type ShownProblem, troubleOf } from "../api/problem.ts";
import { pathOf } from "../model/commands.ts";
import {
  type AllNeeds,
  type BlockedRead,
  type Need,
  blockedFrom,
  needsInOrder,
  isOpenIn,
  needsOf,
} from "../model/needs.ts";
import { fates } from "./decided.ts";
import { poll } from "./poll.ts";
import { blockedRuns } from "./runs.ts";

const EVERY_MS = 2_000;
const PAGES_MAX = 10;
/** Runs that are read in full for their unknown outcomes and upgrades. */
const BLOCKED_MAX = 50;

export const needs = signal<AllNeeds | null>(null);
/** Decisions of this page that their runs have not taken yet. */
const taking = signal<readonly Need[]>([]);

/** What waits for a human, and what waits for its run to take it. */
export const allNeeds = computed(() =>
  needs.value === null ? null : needsInOrder([...needsOf(needs.value), ...taking.value]),
);

/** What the last read left out: runs that may wait, and blocked runs. */
export const needsCut = signal({ isWaitingCut: false, blockedCut: 0 });

export const needsTrouble = signal<ShownProblem | null>(null);

export const needsCount = computed(() => (needs.value === null ? 0 : needsOf(needs.value).length));

export const followNeeds = (signal: AbortSignal): Promise<void> =>
  poll(readNeeds, { everyMs: EVERY_MS, signal, trouble: needsTrouble });

async function readNeeds(): Promise<void> {
  const pages: WaitingPage[] = [];
  let after: string | null = null;
  do {
    const page: WaitingPage = await askApi<WaitingPage>(
      `${pathOf("approvals", {})}${after === null ? "" : `?after=${encodeURIComponent(after)}`}`,
    );
    pages.push(page);
    after = page.next;
  } while (after !== null && pages.length < PAGES_MAX);
  const ids = blockedRuns() ?? (await readBlockedRuns());
  const reads = await Promise.all(ids.slice(0, BLOCKED_MAX).map(readBlocked));
  const { blocked, unreadable } = blockedFrom(needs.peek()?.blocked ?? [], reads);
  const next: AllNeeds = {
    gates: pages.flatMap(({ gates }) => gates),
    questions: pages.flatMap(({ questions }) => questions),
    // An older server does not list them.
    restored: pages.flatMap((page) => (page as Partial<WaitingPage>).restored ?? []),
    unreadable: [
      ...new Map([...pages.flatMap((page) => page.unreadable), ...unreadable].map((each) => [each.run, each])).values(),
    ],
    blocked,
  };
  taking.value = await notTaken(next);
  needs.value = next;
  needsCut.value = { isWaitingCut: after !== null, blockedCut: Math.max(0, ids.length - BLOCKED_MAX) };
}

/** For a time at which the list of this page does not hold all runs of the caller. */
const readBlockedRuns = async (): Promise<readonly string[]> =>
  (await askApi<Listed>(`${pathOf("list", {})}?status=blocked&limit=500`)).runs.map(({ run }) => run);

async function readBlocked(run: string): Promise<BlockedRead> {
  try {
    return { shown: await askApi<Shown>(pathOf("show", { run })) };
  } catch (error) {
    const { status, detail } = troubleOf(error);
    return status === 404 ? null : { run, why: detail };
  }
}

/** What this page has decided and the API lists no longer, although the run has not taken it yet. */
async function notTaken(next: AllNeeds): Promise<readonly Need[]> {
  const open = new Set(needsOf(next).map(({ id }) => id));
  const before = needs.peek() === null ? [] : needsOf(needs.peek() as AllNeeds);
  const decided = new Map(
    [...taking.peek(), ...before]
      .filter(({ id }) => !open.has(id) && fates.peek().get(id)?.kind === "accepted")
      .map((need) => [need.id, need]),
  );
  const kept = await Promise.all(
    [...decided.values()].map(async (need) => {
      const shown = await askApi<Shown>(pathOf("show", need)).catch(() => null);
      return isOpenIn(need, shown) ? [need] : [];
    }),
  );
  return kept.flat();
}
