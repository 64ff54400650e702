/**
 * Who is to look at a run. It is told in a message, as a decision is, so it is kept with who said it and lost in no crash.
 * Each assignment has a number: of two that were said at once the first one counts, and whoever said the other is told.
 */
import { bounded } from "../codec/value.ts";
import { assignId } from "../protocol/ids.ts";
import { SIZES } from "../codec/limits.ts";
import type { State } from "../core/state.ts";
import type { Message } from "../ports/run-table.ts";
import type { World } from "../ports/world.ts";
import { type Row, hasEnded } from "../protocol/row.ts";
import { senderOf } from "../engine/context/inbox.ts";
import { type Gone, lookThenDeliver } from "./look-then-deliver.ts";
import { SegmentCache } from "../history/load.ts";
import { loadVouched } from "../history/vouch.ts";

type Assignment = NonNullable<State["assigned"]>;

export type Assigned =
  | { readonly kind: "accepted"; readonly to: string }
  /** They are the one already. */
  | { readonly kind: "same"; readonly to: string }
  /** Somebody else said otherwise in the same moment. */
  | { readonly kind: "crossed"; readonly to: string }
  | Gone;

export function assign(
  world: World,
  of: { readonly run: string; readonly to: string; readonly by: string },
): Promise<Assigned> {
  return lookThenDeliver<Assigned>(world, of.run, async (row) => {
    if (hasEnded(row)) return { kind: "late" };
    const to = bounded(of.to, SIZES.nameCharactersMax);
    const by = senderOf(of.by);
    const before = await assignmentOf(world, row);
    // Also of a sender that died before it learned that.
    if (before?.to === to) return { kind: "same", to };
    const asked = (before?.asked ?? 0) + 1;
    return {
      kind: "send",
      id: assignId(asked),
      body: { kind: "assign", asked, to, by },
      onDelivered: () => ({ kind: "accepted", to }),
      onDuplicate: async () => {
        const now = await world.table.read(of.run, world.clock.now());
        const standing = now === null ? null : await assignmentOf(world, now);
        return standing?.to === to ? { kind: "same", to } : { kind: "crossed", to: standing?.to ?? "somebody else" };
      },
    };
  });
}

async function assignmentOf(world: World, row: Row): Promise<Assignment | null> {
  const { run, born } = row;
  const { state } = await loadVouched(world, row, new SegmentCache());
  const sent = await world.table.inbox({ run, born, now: world.clock.now(), limit: SENT_MAX });
  return newest(state, sent);
}

/** An assignment that waits behind more messages than that is not seen yet. */
const SENT_MAX = 100;

/** The last one that was taken in or waits to be: a paused run takes in nothing. */
function newest({ assigned }: State, sent: readonly Message[]): Assignment | null {
  const told = sent.flatMap(({ body }) => (body.kind === "assign" ? [body] : []));
  return [...(assigned === undefined ? [] : [assigned]), ...told].reduce<Assignment | null>(
    (last, each) => (last === null || each.asked > last.asked ? each : last),
    null,
  );
}

export function assignedIn(
  state: State,
  sent: readonly Message[],
): { readonly to: string; readonly by: string } | null {
  const last = newest(state, sent);
  return last === null ? null : { to: last.to, by: last.by };
}
