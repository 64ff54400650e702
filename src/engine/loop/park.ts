/**
 * What follows a beat: to store the token that wakes a parked execution, to end the execution of a run that waits for
 * long, and to start the next one.
 */
import { RowUnreadable } from "../../codec/row.ts";
import { ensure } from "../../core/ensure.ts";
import type { Attempt, Payload, Route, TaskResult } from "../../protocol/chain.ts";
import { type Row, hasEnded } from "../../protocol/row.ts";
import { NO_EXECUTION, type ParkOutcome, isAsleep, PARK } from "../../protocol/row-park.ts";
import type { World } from "../../ports/world.ts";
import { alarm } from "../../history/alarm.ts";
import { resolveAmbiguousWrite } from "../../history/resolve-ambiguous-write.ts";
import { findRow } from "../../history/damage.ts";
import { startExecution } from "../context/executions.ts";

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
    () => world.table.decide({ run, born, chain, epoch, entry: attempt, token, now: world.clock.now() }, PARK),
    // Schedule 16: compare the token, because the version matches another attempt's token too.
    (row) => (row.park?.token === token ? { kind: "parked", row } : null),
  );
  if (outcome.kind !== "parked") await world.chain.wake(token);
  return { kind: "park" };
}

/**
 * Ends the execution of a run that will wait for long: notes in the row that none waits, so that a wake-up starts the
 * next one. Returns the route of the beat that released the run.
 *
 * Schedule 174: a message comes after the release and before this write. Its sender found no park, so it woke nothing.
 * The write is refused, and the execution goes on with a beat.
 *
 * Schedule 176: a process freezes before this write, and its retry claims the run. The write is refused, since the epoch
 * has risen. A process that dies here leaves its chain to retry the beat, which claims the run again.
 */
export async function endExecution(
  world: Pick<World, "table" | "clock">,
  { run, born, chain, epoch, entry }: Row,
): Promise<Extract<Route, "asleep" | "beat" | "superseded">> {
  ensure(entry !== null, `run ${run} was released, and no entry claimed it`);
  const outcome = await resolveAmbiguousWrite<ParkOutcome>(
    () => world.table.decide({ run, born, chain, epoch, entry, token: NO_EXECUTION, now: world.clock.now() }, PARK),
    (row) => (isAsleep(row) && row.epoch === epoch ? { kind: "parked", row } : null),
  );
  if (outcome.kind === "parked") return "asleep";
  return outcome.kind === "woken" ? "beat" : "superseded";
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
