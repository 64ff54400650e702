/** One step that a generated history may take. */
import type { Event } from "../../src/core/event.ts";
import type { View } from "../../src/core/outstanding.ts";

export interface Move {
  readonly events: (size: number, pick: number) => readonly Event[];
  /** The outcome of a call: what released it is durable. */
  readonly performs?: boolean;
  readonly waitsUntil?: number;
  /** Somebody asks it of the run. */
  readonly asks?: Partial<Pick<View, "cancel" | "pause">>;
  /** It looks at the code that is deployed. */
  readonly looks?: boolean;
}
