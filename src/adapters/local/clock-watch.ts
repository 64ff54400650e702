/**
 * The supervisor's watch over the clocks of its store: it stores what they show, and reports when one is not believed.
 */
import type { ClockDoubt } from "../../protocol/steadiness.ts";
import type { StoreClock } from "./clock.ts";
import type { SupervisorEvent } from "../../ports/supervisor-events.ts";

/** Returns a function to call at each poll. It reports only changes of the judgement. */
export function clockWatch(clock: StoreClock, onEvent: (event: SupervisorEvent) => void): () => void {
  let told: ClockDoubt["kind"] | null = null;
  return () => {
    clock.follow();
    const doubt = clock.doubt();
    const kind = doubt?.kind ?? null;
    if (kind === told) return;
    told = kind;
    onEvent(doubt === null ? { kind: "clockBelieved" } : { kind: "clockDoubted", doubt });
  };
}
