/** Delivers a request of an operator or a parent run: pause, resume or cancel. */
import { RowNewer, RowUnreadable } from "../../codec/row.ts";
import { findRow } from "../../history/damage.ts";
import { resolveAmbiguousWrite } from "../../history/resolve-ambiguous-write.ts";
import { wakeRun } from "../context/executions.ts";
import type { World } from "../../ports/world.ts";
import type { Request, RequestOutcome } from "../../protocol/row.ts";

/**
 * Writes the request into the row and wakes the run if it is parked. Once acknowledged, the request will be carried
 * out: the next commit of the run sees it. Throws `RowNewer` if the run needs a newer version of cairn.
 */
export async function sendRequest(
  world: World,
  request: { readonly run: string; readonly want: Request["want"] },
): Promise<Exclude<RequestOutcome["kind"], "newer">> {
  const row = await findRow(world, request.run, world.clock.now());
  if (row === null) return "missing";
  if (row instanceof RowNewer) throw row;
  if (row instanceof RowUnreadable) return "unreadable";
  const { run, born } = row;
  const asked = { run, born, want: request.want };
  const outcome = await resolveAmbiguousWrite<RequestOutcome>(
    () => world.table.request({ ...asked, now: world.clock.now() }),
    () => null,
  );
  if (outcome.kind === "newer") throw new RowNewer(run, outcome);
  const after = await world.table.read(run, world.clock.now());
  if (after !== null) await wakeRun(world, after);
  return outcome.kind;
}
