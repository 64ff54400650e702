/** One possible step of a generated history. */
import type { Event } from "../../../src/core/event.ts";
import type { View } from "../../../src/core/outstanding.ts";

export interface WalkOperation {
  readonly events: (size: number, pick: number) => readonly Event[];
  /** The outcome of a call whose release is durable. */
  readonly performs?: boolean;
  readonly waitsUntil?: number;
  /** A request from outside. */
  readonly asks?: Partial<Pick<View, "cancel" | "pause">>;
  /** An operation that reads the deployed code. */
  readonly looks?: boolean;
  /** The invocation that records this releases the run: what comes later is done by the next one. */
  readonly releases?: boolean;
}

export const operation = (...events: readonly Event[]): WalkOperation => ({ events: () => events });
