/**
 * The writes of the run table. A decision of `protocol/` gives the row that results, and `swapWrite` writes what differs
 * from the row that it was given, on condition that this row is still the stored one. So each rule of the protocol is
 * written once, as a pure function. Messages and operator requests are written as expressions, since they must not wait
 * for a row that stands still.
 */
import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import { ensure } from "../../../core/ensure.ts";
import type { RunRef, Request, Row } from "../../../protocol/row.ts";
import { CHANGING_FIELDS, type ChangingField } from "../../../protocol/row-decision.ts";
import {
  type AttributeChange,
  type Fragment,
  all,
  flag,
  number,
  raise,
  remove,
  set,
  setOrRemove,
  textValue,
} from "./expression.ts";
import * as is from "./fragments.ts";
import { type Layout, type RowAttribute, rowValues } from "./item.ts";
import { dueOf } from "./keys.ts";

export interface Write {
  readonly condition: Fragment;
  readonly changes: readonly AttributeChange[];
}

/**
 * The attributes that tell the states of a row apart. Every write but those of the message lane changes at least one of
 * them, in every version of cairn: a claim, a hand-over and a redrive raise the epoch, a commit raises the version, a
 * park stores its token and entry, a delivered end sets `endNotified`, and the word about a restored run sets
 * `restored`. Epoch and version never fall, `endNotified` is taken back only by a redrive, and no mark of a restore comes
 * back. So if all of them are as they were, no other attribute outside the lane has changed either.
 *
 * Schedule 110: an older process writes between the read and the write of a newer one. It knows no revision counter that
 * it would have to raise, but it changes one of these.
 */
const MARKS: readonly RowAttribute[] = [
  ...(["born", "format", "epoch", "version", "endNotified", "restored"] as const),
  ...(["parkToken", "parkExecution", "parkEpoch", "parkRetry"] as const),
];

/**
 * The message lane: what messages and operator requests write, on a row that may change at any moment.
 *
 * Schedule 111: fifty messages arrive while a beat commits. If these attributes were marks, each message would refuse
 * the commit, and the commit each message.
 */
const LANE: readonly RowAttribute[] = CHANGING_FIELDS;

/** How a decision depends on the message lane. */
export interface LaneDependence {
  /** The decision holds only for these values. */
  readonly reads?: readonly ChangingField[];
  /** The decision replaces these values, whatever they are. */
  readonly replaces?: readonly ChangingField[];
}

/** How the two rows of a write are laid out. The row before is taken to be in the first shard. */
export interface Layouts {
  readonly entriesOf?: (row: Row) => Layout["names"];
  /** How many shards the written row may be in. A row that is in another shard moves with this write. */
  readonly shards?: number;
}

/** The write that turns `before` into `after`, if the stored row still has the marks of `before`. */
export function swapWrite(
  before: Row,
  after: Row,
  { reads = [], replaces = [] }: LaneDependence = {},
  { entriesOf = () => null, shards = 1 }: Layouts = {},
): Write {
  const from = rowValues(before, { names: entriesOf(before) ?? null });
  const to = rowValues(after, { names: entriesOf(after) ?? null, shards });
  const attributes = Object.keys(to) as readonly RowAttribute[];
  const changed = attributes.filter((each) => !isSame(from[each], to[each]));
  const replaced: readonly RowAttribute[] = replaces;
  ensure(
    changed.some((each) => MARKS.includes(each)),
    `a write of ${before.run} would change none of its marks`,
  );
  ensure(
    changed.every((each) => !LANE.includes(each) || replaced.includes(each)),
    `a write of ${before.run} would change what only messages and requests write`,
  );
  const written = attributes.filter((each) => changed.includes(each) || replaced.includes(each));
  return {
    condition: all(marksAre(from), ...reads.map((each) => is.same(each, from[each]))),
    changes: written.flatMap((each) => setOrRemove(each, to[each])),
  };
}

/** The stored row differs from this one in its message lane at most. */
export const unchanged = (row: Row): Fragment => marksAre(rowValues(row));

const marksAre = (values: ReturnType<typeof rowValues>): Fragment =>
  all(...MARKS.map((mark) => is.same(mark, values[mark])));

/** A decision that keeps the journal keeps its very bytes, so they are rarely compared. */
const isSame = (one: AttributeValue | null, other: AttributeValue | null): boolean =>
  one?.B === undefined || other?.B === undefined
    ? JSON.stringify(one) === JSON.stringify(other)
    : one.B === other.B || Buffer.compare(one.B, other.B) === 0;

/** Schedule 144: the next sweep wakes the run if the sender dies before it does. */
const dueNow = ({ run }: Pick<RunRef, "run">): AttributeChange => set("due", textValue(dueOf(0, run)));

/** Schedule 14: a resume clears the pause; a cancel leaves it as it is. */
export function requestWrite(request: Request): Write {
  const wanted: Readonly<Record<Request["want"], readonly AttributeChange[]>> = {
    cancel: [set("cancel", flag)],
    pause: [set("pause", flag)],
    resume: remove("pause"),
  };
  return {
    condition: all(is.present(request), is.notTerminal(request)),
    changes: [raise("wakeCount"), ...wanted[request.want], dueNow(request)],
  };
}

/**
 * The row's part of a delivery. A later deadline stays. Messages of one moment have one deadline, and none is refused.
 */
export function wakeWrite(wake: RunRef & { readonly deadline: number }, assumed: Row | null): Write {
  const isLater = assumed === null || assumed.deadline <= wake.deadline;
  return {
    condition: all(
      is.present(wake),
      is.notTerminal(wake),
      isLater ? is.deadlineNotAfter(wake.deadline) : is.deadlineNotBefore(wake.deadline),
    ),
    changes: [raise("wakeCount"), ...(isLater ? [set("deadline", number(wake.deadline))] : []), dueNow(wake)],
  };
}
