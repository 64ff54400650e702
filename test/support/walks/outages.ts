/** Operations of a provider outage, for the walks of `random-walks.ts`. */
import type { Event } from "../../../src/core/event.ts";
import type { View } from "../../../src/core/outstanding.ts";
import type { State } from "../../../src/core/state.ts";
import { decided } from "../states/states-and-events.ts";

/** The model failed and is called again. */
export function retryOf({ outage }: State, { now }: View, pick: number): readonly Event[] {
  const attempts = (outage?.attempts ?? 0) + 1;
  const bare = { since: outage?.since ?? now, attempts };
  const known = { ...bare, notBefore: now + 2_000 };
  const ways = [
    decided({ kind: "retry", at: now + 1_000, outage: bare }),
    decided({ kind: "retry", at: now + 1_000, outage: known }),
    decided({ kind: "retry", at: now, outage: { ...known, model: 1, alarmed: true } }),
  ];
  return ways.slice(pick % ways.length).slice(0, 1);
}
