/**
 * Operators who redrive a run whose processes died too often: each of their attempts can die or lose its answers, as those
 * of anybody. What that may change of an end is in `checkers.ts`.
 */
import { canonical } from "../../src/codec/canonical.ts";
import type { Row } from "../../src/protocol/row.ts";
import { redrive } from "../../src/operations/redrive.ts";
import { retryUntilAcknowledged } from "./operator-attempts.ts";
import type { ObservedHistory } from "./observed-history.ts";
import type { Sim } from "./sim.ts";

/** The run is over; true if it may not stay so. */
export function redriveIfFailed(sim: Sim): boolean {
  if (sim.isRedriving) return true;
  const [row] = sim.world.store.rows.values();
  if (row?.status !== "failed" || sim.redrivesLeft === 0) return false;
  sim.redrivesLeft -= 1;
  sim.isRedriving = true;
  const wish = { run: row.run, by: "operator", why: `redrive ${sim.redrivesLeft}` };
  void retryUntilAcknowledged(sim, { act: async (world) => (await redrive(world, wish)).kind, mayGiveUp: () => true })
    .then((outcome) => {
      sim.record.reached.add(`redrive ${outcome ?? "unheard"}`);
      sim.record.note("operator", `redrives it → ${outcome ?? "unheard"}`);
    })
    .finally(() => {
      sim.isRedriving = false;
    });
  return true;
}

export const REDRIVE_CELLS = ["redrive redriven", "redrive NotInfrastructure", "redriven and completed"];

/** What of redrives a history met, for the reach table. */
export function redriveCells({ events, history }: ObservedHistory): readonly string[] {
  const isDone = events("RunEnded").at(-1)?.event.status === "completed";
  return history.plan.redrives > 0 && isDone && events("RunRedriven").length > 0 ? ["redriven and completed"] : [];
}

/** The one change of an end: the next epoch and execution, no time to live, and who wanted that; nothing else. */
export function isRedrive(before: Row, row: Row): boolean {
  const { redrive: note, ...is } = row;
  const { status, statusSince, deadline } = is;
  const expected = {
    ...before,
    ...{ status: "running", statusSince, deadline, epoch: before.epoch + 1, chain: before.chain + 1 },
    ...{ chainClaims: 0, claimedAt: statusSince, deaths: 0, storeOutage: null },
    ...{ endNotified: false, expiresAtSec: null, wakeAt: null },
  };
  const isFailed = before.status === "failed" && status === "running";
  return isFailed && note !== undefined && canonical(is) === canonical(expected);
}
