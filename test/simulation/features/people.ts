/** What people and services do to the features of a history without being asked to. */
import { type Sim, isCalm } from "../sim.ts";
import { reviseFact } from "./memory-tools.ts";
import { signalBlindly } from "./wait-people.ts";

/** How often each of them still may. */
export interface UnaskedLeft {
  signals: number;
  revisions: number;
  messages: number;
}

export const unaskedIn = ({ plan: { features } }: Pick<Sim, "plan">): UnaskedLeft => ({
  signals: features.waits?.signals ?? 0,
  revisions: features.memory?.revisions ?? 0,
  messages: features.chat?.messages ?? 0,
});

/** About one step in so many each of them does something. */
const ONE_IN = 30;

/** `say`: sends a message to the run. */
export function actUnasked(sim: Sim, run: string, say: () => void): void {
  const { unasked: left, chances } = sim;
  if (isCalm(sim)) return;
  if (left.signals > 0 && chances.features.oneIn(ONE_IN)) {
    left.signals -= 1;
    void signalBlindly(sim, run);
  }
  if (left.revisions > 0 && chances.features.oneIn(ONE_IN)) {
    left.revisions -= 1;
    void reviseFact(sim);
  }
  if (left.messages > 0 && chances.features.oneIn(ONE_IN)) {
    left.messages -= 1;
    say();
  }
}
