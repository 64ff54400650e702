/**
 * Cancels every live run of an agent, as a kill switch. Without a confirmation it only says which runs that would be. It
 * may be repeated: a run that was asked to end is passed over, so a repetition goes on where the last one stopped.
 *
 * It asks the runs that it finds. A run that is started meanwhile may be missed, so the starts have to be stopped first:
 * by the schedule, the caller, or the spend cap.
 */
import { RowNewer } from "../codec/row.ts";
import type { Status } from "../core/phases.ts";
import { sendRequest } from "../engine/loop/request.ts";
import type { ListedRow } from "../protocol/row.ts";
import type { World } from "../ports/world.ts";

export interface RunToCancel {
  readonly run: string;
  readonly status: Status;
}

/** `more`: there are more runs; the same request again goes on with them. */
export type CancelledAll =
  | { readonly kind: "notConfirmed"; readonly runs: readonly RunToCancel[]; readonly more: boolean }
  | {
      readonly kind: "cancelled";
      readonly runs: readonly RunToCancel[];
      /** Runs that could not be asked: their row is damaged, or of a newer version of cairn. */
      readonly failed: readonly string[];
      readonly more: boolean;
    };

/**
 * A run moves towards its end in this order. It may go back while the statuses are listed, and an index may lag behind
 * such a move, so those to which a run goes back are listed again at the end.
 */
const LIVE: readonly Status[] = ["queued", "running", "waiting", "paused", "blocked", "running", "waiting", "blocked"];

/** Runs that one request asks: as many as the API can within its time. */
export const CANCELLED_MAX = 200;
const PAGE = 500;
const AT_ONCE = 16;

export async function cancelAll(
  world: World,
  { tenant, agent, confirmed }: { readonly tenant: string; readonly agent: string; readonly confirmed: boolean },
): Promise<CancelledAll> {
  const { found, more } = await liveRuns(world, { tenant, agent });
  const runs = found.map(({ run, status }) => ({ run, status }));
  if (!confirmed) return { kind: "notConfirmed", runs, more };
  const failed: string[] = [];
  for (let at = 0; at < found.length; at += AT_ONCE) {
    const asked = await Promise.all(found.slice(at, at + AT_ONCE).map(({ run }) => cancelOne(world, run)));
    failed.push(...asked.flatMap((run) => run ?? []));
  }
  return { kind: "cancelled", runs: runs.filter(({ run }) => !failed.includes(run)), failed, more };
}

/** The runs that no cancel has reached yet, each once. */
async function liveRuns(
  world: World,
  { tenant, agent }: { readonly tenant: string; readonly agent: string },
): Promise<{ readonly found: readonly ListedRow[]; readonly more: boolean }> {
  const found = new Map<string, ListedRow>();
  for (const status of LIVE) {
    let after: string | null = null;
    do {
      const page = await world.table.list({ tenant, status, limit: PAGE, after, now: world.clock.now() });
      for (const row of page.rows) {
        if (row.agent !== agent || row.cancel) continue;
        if (found.size === CANCELLED_MAX && !found.has(row.run)) return { found: [...found.values()], more: true };
        found.set(row.run, row);
      }
      after = page.next;
    } while (after !== null);
  }
  return { found: [...found.values()], more: false };
}

/** Returns the run if it could not be asked; null if it was asked or has ended. */
async function cancelOne(world: World, run: string): Promise<string | null> {
  try {
    return (await sendRequest(world, { run, want: "cancel" })) === "unreadable" ? run : null;
  } catch (error) {
    if (error instanceof RowNewer) return run;
    throw error;
  }
}
