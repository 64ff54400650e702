/**
 * The fenced creation of child runs (rule C2 of `docs/protocol.md`). One transaction judges the parent's row and puts
 * the children's rows. A process that lost the parent can make no child, and a child that has reported is never made
 * again: a row that is absent may also be one that was removed after its report.
 */
import {
  type Changed,
  type Creation,
  type Refused,
  type Row,
  type RunRef,
  hasEnded,
  isExpired,
  newRow,
} from "./row.ts";

/** One child of a creation. */
export interface ChildCreation {
  readonly creation: Creation;
  /** The message ID of its report in the parent's inbox (`childEndId`). */
  readonly reportId: string;
  /** It works without a parent, and reports nothing. Its creation takes the ID of its report, so it is made once. */
  readonly isLeft: boolean;
}

/** Names the parent, in the epoch that may make these children. */
export interface ChildrenCreation extends RunRef {
  readonly epoch: number;
  readonly children: readonly ChildCreation[];
}

/** `exists`: an earlier copy of this creation made it. `reported`: it has ended, and its report was delivered. */
export type ChildAnswer =
  | Changed<"created">
  | Changed<"exists">
  | { readonly kind: "reported" }
  | { readonly kind: "unreadable"; readonly why: string };

/** `fenced`: the parent has ended, or another epoch holds it. Otherwise one answer for each child, in order. */
export type ChildrenOutcome =
  | { readonly kind: "made"; readonly children: readonly ChildAnswer[] }
  | Changed<"fenced">
  | Refused;

/** Whether the parent may make children in this epoch. */
export const mayMakeChildren = (parent: Row, { epoch }: { readonly epoch: number }): boolean =>
  parent.epoch === epoch && !hasEnded(parent);

/**
 * Decides about one child of a parent that may make it. A row that has expired was reported: its time to live starts
 * with its report.
 */
export function decideChild(
  found: Row | null,
  { isSeen, creation }: { readonly isSeen: boolean; readonly creation: Creation },
): Exclude<ChildAnswer, { readonly kind: "unreadable" }> {
  if (isSeen || (found !== null && isExpired(found, creation.now))) return { kind: "reported" };
  return found === null ? { kind: "created", row: newRow(creation) } : { kind: "exists", row: found };
}
