/**
 * Jobs of asynchronous models, as types: a request that its provider works on for minutes or hours, such as a batch. The
 * run only keeps the provider's reference, and parks. What changes the state is in `features/detached-calls/core.ts`.
 */
import type { Spent } from "./policy/budget.ts";
import type { RequestDigests } from "./request-digests.ts";
import type { Routed } from "./routed.ts";

/** The job as it is committed before its request leaves. */
interface Begun {
  /** The idempotency key. The provider keeps it with the job, so a lost reference can be found by it. */
  readonly key: string;
  /** `provider:model`, as the model names itself. */
  readonly model: string;
  /** The only invocation that may send the request of this job. */
  readonly epoch: number;
  /** The estimated cost. It is debited only if no reply says what the job cost. */
  readonly reserved: Partial<Spent>;
  readonly request: RequestDigests;
  /** Absent: it is the agent's own model. */
  readonly routed?: Routed;
}

/** What the state knows about the job that is out. Times are epoch milliseconds. */
export interface DetachedCall extends Begun {
  readonly at: number;
  /** The provider's name for the job; absent until it is known. */
  readonly reference?: string;
}

/**
 * How a job ended without a reply. `absent`: the provider has no job under the key. `failed`: it says that the job
 * failed, or refused it. `cancelled`: the run does not want it any more. `unsent`: its request never left. `lost`: it may
 * be paid for, and its reply cannot be had.
 */
export type DetachedCallEnd = "absent" | "failed" | "cancelled" | "unsent" | "lost";

/** The bodies of the events about jobs. */
export interface DetachedCallEvents {
  /** The request may leave once the commit of this event is durable. */
  DetachedCallBegun: Begun;
  /** The provider works on the job. `adopted`: the answer to the start was lost, and the job was found by its key. */
  DetachedCallSubmitted: { readonly key: string; readonly reference: string; readonly adopted?: true };
  DetachedCallEnded: { readonly key: string; readonly how: DetachedCallEnd; readonly why: string };
}
