/**
 * Fences: a parent takes a late child from the process that holds it, and the same child run goes on in its next
 * execution. So its keys stay. One transaction judges the parent's row and writes the child's
 * (`docs/contributing/families-model.md`).
 */
import { type Changed, type RunRef, type Refused, type Row, FORMAT, hasEnded, isExpired } from "./row.ts";

/** Names the parent, in the epoch that may fence this child. */
export interface ChildFence extends RunRef {
  readonly epoch: number;
  /** The run ID of the child. */
  readonly child: string;
  /** How often the parent has asked for the child, with this request. */
  readonly dispatch: number;
}

/**
 * `fenced`: `parked` is the token of the execution that waited for the child. `already`: an earlier copy of the request
 * did it. `ended`: its report comes, or is in the inbox. `gone`: the parent has no such child any more.
 * `childUnreadable`: nothing was changed.
 */
export type FenceAnswer =
  | (Changed<"fenced"> & { readonly parked: string | null })
  | Changed<"already">
  | Changed<"ended">
  | { readonly kind: "gone" }
  | { readonly kind: "childUnreadable"; readonly why: string };

/** `refused`: the parent has ended, or another epoch holds it. */
export type FenceOutcome = FenceAnswer | Changed<"refused"> | Refused;

/** How often the parent of a run has asked for it, in its row, or in the entry of its parent. */
export const dispatchIn = ({ dispatch = 1 }: Pick<Row, "dispatch">): number => dispatch;

/**
 * Decides about the child of a parent that may fence it (`mayMakeChildren`).
 *
 * Schedule 251: a boss fences its child and dies before it hears so. Its next process sends the request again, and would
 * take the child from the healthy process. So the request has a number, and the row keeps it.
 *
 * Schedule 252: a worker freezes in a request, and is fenced. Its successor must know until when that request may land,
 * so the fence raises `effectsSettleAt` to the lease that it ends. The epoch rises, so no commit of the frozen one lands.
 *
 * A fence is no evidence of a death, and no takeover: the process may only be slow.
 */
export function decideFence(child: Row | null, fence: ChildFence): FenceAnswer {
  if (child === null || !isChildOf(child, fence)) return { kind: "gone" };
  if (child.format !== FORMAT) return { kind: "childUnreadable", why: "another version of cairn wrote it" };
  if (hasEnded(child)) return { kind: "ended", row: child };
  if (dispatchIn(child) >= fence.dispatch) return { kind: "already", row: child };
  return {
    kind: "fenced",
    parked: child.park?.token ?? null,
    row: {
      ...child,
      dispatch: fence.dispatch,
      epoch: child.epoch + 1,
      chain: child.chain + 1,
      chainClaims: 0,
      claimedAt: fence.now,
      owner: null,
      leaseUntil: null,
      park: null,
      effectsSettleAt: Math.max(child.effectsSettleAt, child.owner === null ? 0 : (child.leaseUntil ?? 0)),
    },
  };
}

/** A child that works without a parent has none that may fence it. An expired row is absent. */
const isChildOf = (child: Row, { run, born, now }: ChildFence): boolean =>
  child.parent?.run === run && child.parent.born === born && !isExpired(child, now);
