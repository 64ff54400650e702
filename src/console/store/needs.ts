/** What waits for a human: gates and questions of every run, unknown outcomes, and upgrades to accept. */
import { computed, signal } from "@preact/signals";
import type { WaitingPage } from "../../operations/approvals.ts";
import type { Shown } from "../../operations/views.ts";
import { ask } from "../api/http.ts";
import type { Trouble } from "../api/problem.ts";
import { runPath } from "../model/commands.ts";
import { type AllNeeds, type Need, inOrder, isOpenIn, needsOf } from "../model/needs.ts";
import { fates } from "./decided.ts";
import { poll } from "./poll.ts";
import { runs } from "./runs.ts";

const EVERY_MS = 2_000;
const PAGES_MAX = 10;
/** Runs that are read in full for their unknown outcomes and upgrades. */
const BLOCKED_MAX = 50;

export const needs = signal<AllNeeds | null>(null);
/** Decisions of this page that their runs have not taken yet. */
const taking = signal<readonly Need[]>([]);

/** What waits for a human, and what waits for its run to take it. */
export const allNeeds = computed(() =>
  needs.value === null ? null : inOrder([...needsOf(needs.value), ...taking.value]),
);

/** What the last read left out: runs that may wait, and blocked runs. */
export const needsCut = signal({ isWaitingCut: false, blockedCut: 0 });

export const needsTrouble = signal<Trouble | null>(null);

export const needsCount = computed(() => (needs.value === null ? 0 : needsOf(needs.value).length));

export const followNeeds = (signal: AbortSignal): Promise<void> =>
  poll(readNeeds, { everyMs: EVERY_MS, signal, trouble: needsTrouble });

async function readNeeds(): Promise<void> {
  const pages: WaitingPage[] = [];
  let after: string | null = null;
  do {
    const page: WaitingPage = await ask<WaitingPage>(
      `/approvals${after === null ? "" : `?after=${encodeURIComponent(after)}`}`,
    );
    pages.push(page);
    after = page.next;
  } while (after !== null && pages.length < PAGES_MAX);
  const ids = (runs.peek()?.runs ?? []).filter(({ status }) => status === "blocked").map(({ run }) => run);
  const shown = await Promise.all(
    ids.slice(0, BLOCKED_MAX).map(async (run) => ask<Shown>(runPath(run)).catch(() => null)),
  );
  const next: AllNeeds = {
    gates: pages.flatMap(({ gates }) => gates),
    questions: pages.flatMap(({ questions }) => questions),
    unreadable: pages.flatMap(({ unreadable }) => unreadable),
    blocked: shown.filter((run) => run !== null),
  };
  taking.value = await notTaken(next);
  needs.value = next;
  needsCut.value = { isWaitingCut: after !== null, blockedCut: Math.max(0, ids.length - BLOCKED_MAX) };
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
      const shown = await ask<Shown>(runPath(need.run)).catch(() => null);
      return isOpenIn(need, shown) ? [need] : [];
    }),
  );
  return kept.flat();
}
