/**
 * Signals an event to a run. A call that waits for it (`waitFor`) gets it. An event that comes before such a call is
 * kept, and the call finds it.
 */
import { SIZES } from "../codec/limits.ts";
import { canonical } from "../codec/canonical.ts";
import { TOO_DEEP, isTooDeep } from "../codec/to-json.ts";
import { bounded } from "../codec/value.ts";
import { endBeforeDecision } from "../features/approvals/core-ignored-decisions.ts";
import { callAwaiting, reasonToIgnore } from "../features/waits/core.ts";
import { isEventName } from "../core/ids.ts";
import type { Json } from "../core/json.ts";
import type { Value } from "../core/message.ts";
import { signalId } from "../protocol/ids.ts";
import { type Row, hasEnded } from "../protocol/row.ts";
import type { Agent } from "../ports/agent.ts";
import type { World } from "../ports/world.ts";
import { senderOf } from "../engine/context/inbox.ts";
import { toolFor } from "../engine/tools/tools.ts";
import { readInput } from "../features/waits/engine.ts";
import { loadAfterRedrive } from "../features/redrive/after-redrive.ts";
import { learnSecrets, redactionIn } from "../history/secrets.ts";
import { keepValue } from "../history/write-objects.ts";
import { SECRET } from "./answer.ts";
import { type Gone, checkThenDeliver } from "./look-then-deliver.ts";
import { messageIdOf } from "./steer.ts";
import { readableTimeline } from "./views.ts";

/** What the operation can learn about an event. */
export type Signalled =
  /** `call`: the call that waits for it; null: it is kept until a call waits for it. */
  | { readonly kind: "accepted"; readonly call: string | null }
  /** The event with this ID was signalled before. */
  | { readonly kind: "duplicate" }
  /** The ID belongs to another event, or to one with other detail. */
  | { readonly kind: "conflict" }
  /** The run takes no such event, or none now. */
  | { readonly kind: "refused"; readonly why: string }
  /** It fits, and does not end the wait. The run does not see it. */
  | { readonly kind: "interim" }
  /** The detail does not fit what the call asks for. */
  | { readonly kind: "detailInvalid"; readonly why: string }
  | Gone;

interface Said {
  readonly run: string;
  readonly event: string;
  readonly detail: Json;
  /** The same ID twice is one event. */
  readonly id: string;
  readonly by: string;
  /** The agent's code, if the sender has it. */
  readonly agent: Agent | null;
}

export function signal(world: World, said: Said): Promise<Signalled> {
  return checkThenDeliver<Signalled>(world, said.run, async (row) => {
    const { event, detail, agent } = said;
    const wrong = await wrongWith(world, said);
    if (wrong !== null) return { kind: "refused", why: wrong };
    const state = await loadAfterRedrive(world, row);
    const by = senderOf(said.by);
    const found = callAwaiting(state, event);
    const read = readInput(agent === null || found === undefined ? null : toolFor(agent, found), detail);
    const id = signalId(messageIdOf(world, said.id));
    // A known ID answers first: what the run took before is no new event, whatever it takes now.
    const unless = async (refusal: Signalled): Promise<Signalled> =>
      (await takenAs(world, { row, id, event, detail })) ?? refusal;
    if (!read.ok)
      return unless(read.isInterim ? { kind: "interim" } : { kind: "detailInvalid", why: bounded(read.why) });
    const value = await keepValue(world, row, { json: detail, inlineMax: SIZES.inputInlineBytesMax });
    const body = { kind: "signal", event, value, by } as const;
    const why = hasEnded(row) ? null : (endBeforeDecision(state, row) ?? reasonToIgnore(state, body));
    if (why !== null) return unless({ kind: "refused", why });
    return {
      kind: "send",
      id,
      body,
      onDelivered: () => ({ kind: "accepted", call: found?.call ?? null }),
      onDuplicate: () => ({ kind: "duplicate" }),
      onConflict: () => ({ kind: "conflict" }),
    };
  });
}

/** What an event is whose ID the run has taken in; null: it has taken none under this ID. */
async function takenAs(
  world: World,
  { row, id, event, detail }: Pick<Said, "event" | "detail"> & { readonly row: Row; readonly id: string },
): Promise<Extract<Signalled, { readonly kind: "duplicate" | "conflict" }> | null> {
  const { run, born } = row;
  const unread = await world.inbox.unread({ run, born, now: world.clock.now(), limit: SIZES.absorbMax });
  // What cannot be read of a damaged history must not turn a refusal into an error.
  const { entries: events } = await readableTimeline(world, { row, after: 0 });
  const absorbed = events.flatMap((each) =>
    each.kind === "MessageAbsorbed" && each.stage === "taken" ? [{ id: each.message, body: each.body }] : [],
  );
  const first = [...absorbed, ...unread].find((each) => each.id === id)?.body;
  if (first === undefined) return null;
  const value = await keepValue(world, row, { json: detail, inlineMax: SIZES.inputInlineBytesMax });
  const isSame = first.kind === "signal" && first.event === event && isEqual(first.value, value);
  return { kind: isSame ? "duplicate" : "conflict" };
}

/** What is stored has its members in another order than what is given. */
const isEqual = (one: Value, other: Value): boolean => canonical(one) === canonical(other);

async function wrongWith(world: World, { event, detail }: Said): Promise<string | null> {
  if (!isEventName(event)) return "the name of an event is 1 to 64 letters, digits and . _ : -";
  if (isTooDeep(detail)) return TOO_DEEP;
  await learnSecrets(world);
  const redaction = redactionIn(world);
  return redaction.text(event) === event && redaction.json(detail) === detail ? null : SECRET;
}
