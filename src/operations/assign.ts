/**
 * Assigns an operator to a run. The assignment is a message, so it survives a crash and records its author. Each one
 * has a number. If two operators assign at once, the first one counts, and the author of the other is told.
 */
import { bounded } from "../codec/value.ts";
import { assignId } from "../protocol/ids.ts";
import { SIZES } from "../codec/limits.ts";
import type { State } from "../core/state.ts";
import type { InboxMessage } from "../ports/inbox.ts";
import type { World } from "../ports/world.ts";
import { type Row, hasEnded } from "../protocol/row.ts";
import { senderOf } from "../engine/context/inbox.ts";
import { type Gone, checkThenDeliver } from "./look-then-deliver.ts";
import { SegmentCache } from "../history/load.ts";
import { loadVouched } from "../history/vouch.ts";

type Assignment = NonNullable<State["assigned"]>;

export type Assigned =
  | { readonly kind: "accepted"; readonly to: string }
  /** The run is assigned to this operator already. */
  | { readonly kind: "same"; readonly to: string }
  /** Another operator made a different assignment at the same moment. */
  | { readonly kind: "crossed"; readonly to: string }
  | Gone;

/** Sends the assignment and reports whether it counts. */
export function assign(
  world: World,
  request: { readonly run: string; readonly to: string; readonly by: string },
): Promise<Assigned> {
  return checkThenDeliver<Assigned>(world, request.run, async (row) => {
    if (hasEnded(row)) return { kind: "late" };
    const to = bounded(request.to, SIZES.nameCharactersMax);
    const by = senderOf(request.by);
    const before = await assignmentOf(world, row);
    // Also for a sender that crashed before it learned of its success.
    if (before?.to === to) return { kind: "same", to };
    const asked = (before?.number ?? 0) + 1;
    return {
      kind: "send",
      id: assignId(asked),
      body: { kind: "assign", number: asked, to, by },
      onDelivered: () => ({ kind: "accepted", to }),
      onDuplicate: async () => {
        const now = await world.table.read(request.run, world.clock.now());
        const standing = now === null ? null : await assignmentOf(world, now);
        return standing?.to === to ? { kind: "same", to } : { kind: "crossed", to: standing?.to ?? "another operator" };
      },
    };
  });
}

async function assignmentOf(world: World, row: Row): Promise<Assignment | null> {
  const { run, born } = row;
  const { state } = await loadVouched(world, row, new SegmentCache());
  const sent = await world.inbox.unread({ run, born, now: world.clock.now(), limit: SENT_MAX });
  return newest(state, sent);
}

/** How many inbox messages are read. An assignment behind more messages than that is not seen. */
const SENT_MAX = 100;

/** The last assignment, absorbed or still in the inbox: a paused run absorbs nothing. */
function newest({ assigned }: State, sent: readonly InboxMessage[]): Assignment | null {
  const told = sent.flatMap(({ body }) => (body.kind === "assign" ? [body] : []));
  return [...(assigned === undefined ? [] : [assigned]), ...told].reduce<Assignment | null>(
    (last, each) => (last === null || each.number > last.number ? each : last),
    null,
  );
}

/** The responsible operator, from the state and the inbox; null if there is none. */
export function assignedIn(
  state: State,
  sent: readonly InboxMessage[],
): { readonly to: string; readonly by: string } | null {
  const last = newest(state, sent);
  return last === null ? null : { to: last.to, by: last.by };
}
