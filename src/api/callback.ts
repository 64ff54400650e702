/** `POST /callbacks/{token}`: an outside service reports an event to one run. The token is the only right that it needs. */
import type { Json } from "../core/json.ts";
import { findCallback } from "../history/callbacks.ts";
import { performOperation } from "../operations/perform.ts";
import { OPERATIONS } from "../operations/table.ts";
import type { World } from "../ports/world.ts";
import { ApiProblem } from "./problem.ts";

/**
 * Returns whether the event is new; the same report again is not. `countRequest` counts it for the tenant of the run,
 * once the token is known to be right. Throws an `ApiProblem`.
 */
export async function callbackOf(
  world: World,
  { token, detail, from }: { readonly token: string; readonly detail: Json; readonly from: string | null },
  countRequest: (tenant: string) => Promise<void>,
): Promise<{ readonly accepted: true; readonly isNew: boolean }> {
  const callback = await findCallback(world, token);
  if (callback === null) throw unknown();
  const { id, run, born, event } = callback;
  const row = await world.table.read(run, world.clock.now());
  // The key of the run may have begun another run since.
  if (row === null || row.born !== born) throw unknown();
  await countRequest(row.tenant);
  const context = { world, by: `callback ${id}`, tenant: row.tenant, origin: { token: id, from }, agentOf: noAgent };
  const outcome = await performOperation(OPERATIONS.signal, context, { run, event, detail, id: `callback-${id}` });
  if (outcome.kind === "accepted" || outcome.kind === "duplicate")
    return { accepted: true, isNew: outcome.kind === "accepted" };
  if (outcome.kind === "missing") throw unknown();
  const { code, says } = OPERATIONS.signal.outcomes[outcome.kind];
  throw new ApiProblem({ status: 409, code: code ?? "Refused", detail: `the report was not taken: ${says}` });
}

/** The beat checks what is reported against the schema of the waiting tool. */
const noAgent = async (): Promise<null> => null;

const unknown = (): ApiProblem =>
  new ApiProblem({
    ...{ status: 404, code: "CallbackUnknown" },
    detail: "there is no such callback: it has expired, its run is gone, or it never was",
  });
