/**
 * Whether a commit has to survive a power loss before its invocation goes on. A process death loses no commit, whatever
 * is chosen here. A power loss ends every process and takes back the newest commits that nobody waited for.
 *
 * So it is enough to wait before something leaves that cannot be taken back: a call that acts outside, a model call that
 * a budget has to count, or news for a human. What is taken back was then only work of this machine, and it is repeated
 * as after any death (schedules 139 and 140).
 */
import { EFFECTS } from "../calls/effects.ts";
import type { State } from "../state.ts";
import { isModelOut } from "./model-out.ts";

/** `now`: durable before the commit returns. `later`: durable with the next commit that is durable at once. */
export type Durable = "now" | "later";

/** What a commit allows besides what its state says. */
export interface Allowed {
  /** Model calls that may leave before the next commit. */
  readonly modelCalls: number;
  /** The commit lets the run go: it ends or waits, and a human may be told so. */
  readonly release: boolean;
  /** Its next invocation is due at once, and the claim of that invocation is durable before it acts. */
  readonly isHandedOn: boolean;
}

export function durableAt(state: State, { modelCalls, isHandedOn, release }: Allowed): Durable {
  const isOut = state.open.some(({ intent }) => intent !== null && EFFECTS[intent.effect].actsOutside);
  return isOut || modelCalls > 0 || isModelOut(state) || (release && !isHandedOn) ? "now" : "later";
}
