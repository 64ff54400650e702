/**
 * `POST /callbacks/{token}`: an outside service reports an event to one run. The token is the only right that it needs.
 *
 * A report that the run refused does not use up the link: what comes after it counts as the next report, under the next
 * number. One report at a time is judged, so two that come at once are not both taken: the second one is a conflict.
 */
import { alteredNumbers } from "../codec/json-numbers.ts";
import { SIZES } from "../codec/limits.ts";
import type { Json } from "../core/json.ts";
import { findCallback } from "../features/waits/callbacks.ts";
import { performOperation } from "../operations/perform.ts";
import { OPERATIONS } from "../operations/table.ts";
import { timeline } from "../operations/views.ts";
import type { Agent } from "../ports/agent.ts";
import type { World } from "../ports/world.ts";
import { ApiProblem, badJson, problemAs, requestInvalid, wrongIn } from "./problem.ts";

interface Report {
  readonly token: string;
  readonly detail: Json;
  readonly from: string | null;
}

interface ReportOptions {
  /** Counts the request for the tenant of the run, once the token is known to be right. */
  readonly countRequest: (tenant: string) => Promise<void>;
  /** The code of an agent, by whose schema the report is judged; null where it is not available. */
  readonly agentOf: (name: string) => Promise<Agent | null>;
}

/** Returns whether the event is new; the same report again is not. Throws an `ApiProblem`. */
export async function callbackOf(
  world: World,
  { token, detail, from }: Report,
  { countRequest, agentOf }: ReportOptions,
): Promise<{ readonly accepted: true; readonly isNew: boolean }> {
  const callback = await findCallback(world, token);
  if (callback === null) throw unknown();
  const { id, run, born, event } = callback;
  const row = await world.table.read(run, world.clock.now());
  // The key of the run may have begun another run since.
  if (row === null || row.born !== born) throw unknown();
  await countRequest(row.tenant);
  const by = `callback ${id}`;
  const context = { world, by, tenant: row.tenant, origin: { token: id, from }, agentOf };
  const send = (count: number) => {
    const number = count > 0 ? `-${count}` : "";
    return performOperation(OPERATIONS.signal, context, { run, event, detail, id: `callback-${id}${number}` });
  };
  let outcome = await send(0);
  if (outcome.kind === "duplicate" || outcome.kind === "conflict") {
    const refused = await refusedOf(world, { run, by });
    if (refused > 0) outcome = await send(refused);
  }
  const { kind } = outcome;
  if (kind === "accepted" || kind === "duplicate" || kind === "interim")
    return { accepted: true, isNew: kind !== "duplicate" };
  if (kind === "missing") throw unknown();
  const { says } = OPERATIONS.signal.outcomes[kind];
  const why = "why" in outcome ? ` ${outcome.why}` : kind === "conflict" ? ` ${ONE_AT_A_TIME}` : "";
  throw problemAs(OPERATIONS.signal, kind, { detail: `the report was not taken: ${says}${why}` });
}

/** How many reports of this link the run has refused, or taken without an effect. */
async function refusedOf(world: World, { run, by }: { readonly run: string; readonly by: string }): Promise<number> {
  const events = (await timeline(world, { run, after: 0 })) ?? [];
  return events.filter((event) => (event.kind === "InputRefused" || event.kind === "InputIgnored") && event.by === by)
    .length;
}

/** The detail of a report: JSON, the fields of a form, or null if the body is empty. Throws an `ApiProblem`. */
export function reportIn(contentType: string, text: string): Json {
  if (text.trim() === "") return null;
  const type = contentType.split(";")[0]?.trim().toLowerCase() ?? "";
  if (type === "application/x-www-form-urlencoded") return fieldsOf(new URLSearchParams(text));
  // Many services name no type, or call their JSON text.
  if (!/^(|text\/plain|application\/json|[\w.+-]+\/[\w.+-]+\+json)$/.test(type)) throw otherType(type);
  const altered = alteredNumbers(text, SIZES.issuesMax);
  if (altered.length > 0) throw requestInvalid(wrongIn(altered, "#"));
  try {
    return JSON.parse(text) as Json;
  } catch {
    throw badJson();
  }
}

/** A field that comes more than once is a list. */
const fieldsOf = (form: URLSearchParams): Json =>
  Object.fromEntries(
    [...new Set(form.keys())].map((name) => {
      const values = form.getAll(name);
      return [name, values.length === 1 ? (values[0] ?? "") : values];
    }),
  );

const otherType = (type: string): ApiProblem =>
  new ApiProblem({
    status: 415,
    code: "MediaTypeUnsupported",
    detail: `the content type of the report is ${type}: send JSON (also +json), or a form that is urlencoded`,
  });

const ONE_AT_A_TIME =
  "an earlier report to this link was taken, or the run has not judged it yet; then send this one again";

const unknown = (): ApiProblem =>
  new ApiProblem({
    status: 404,
    code: "CallbackUnknown",
    detail: "there is no such callback: it has expired, its run is gone, or it never was",
  });
