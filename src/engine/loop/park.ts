/**
 * What a chain asks for between beats: to store the token that wakes a parked execution, and to start the next
 * execution.
 */
import { RowUnreadable } from "../../codec/row.ts";
import type { Attempt, Payload, TaskResult } from "../../protocol/chain.ts";
import { hasEnded } from "../../protocol/row.ts";
import type { ParkOutcome } from "../../protocol/row-park.ts";
import type { World } from "../../ports/world.ts";
import { alarm } from "../../history/alarm.ts";
import { resolveAmbiguousWrite } from "../../history/resolve-ambiguous-write.ts";
import { findRow } from "../../history/damage.ts";
import { startExecution } from "./executions.ts";

/**
 * Stores the token that the execution waits on. If the row refuses it, the execution is woken at once. A message that
 * came before the token was stored could not wake it.
 */
export async function park(
  world: Pick<World, "table" | "chain" | "clock">,
  { payload, attempt, token }: { payload: Payload; attempt: Attempt; token: string },
): Promise<Extract<TaskResult, { readonly kind: "park" }>> {
  const { run, born, chain, epoch } = payload;
  const outcome = await resolveAmbiguousWrite<ParkOutcome>(
    () => world.table.park({ run, born, chain, epoch, entry: attempt, token, now: world.clock.now() }),
    // Schedule 16: compare the token, because the version matches another attempt's token too.
    (row) => (row.park?.token === token ? { kind: "parked", row } : null),
  );
  if (outcome.kind !== "parked") await world.chain.wake(token);
  return { kind: "park" };
}

/**
 * Starts the execution that the run has moved to (continue-as-new). Does nothing if the run has moved on or ended
 * meanwhile.
 */
export async function renew(world: World, { run, born, chain }: Payload): Promise<TaskResult> {
  const row = await findRow(world, run, world.clock.now());
  if (row instanceof RowUnreadable) alarm(world, run, { what: "Unreadable", why: row.message });
  else if (row !== null && row.born === born && row.chain === chain && !hasEnded(row)) {
    await startExecution(world, row);
  }
  return { kind: "renew" };
}
