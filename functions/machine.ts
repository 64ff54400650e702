/** What the machine asks for and what it is answered, where that is not the chain's own task or result. */
import { LIVE, type MachineInput, nextInput } from "../src/adapters/aws/machine/machine-input.ts";
import type { Reply, Task } from "../src/protocol/chain.ts";
import type { Entry } from "../src/protocol/entry.ts";

type Beat = Extract<Task, { readonly kind: "beat" }>;
type Rescue = Extract<Task, { readonly kind: "rescue" }>;

/** A beat as the machine asks for it. */
export interface AskedBeat extends Beat {
  /** This is the function of all agents, in the place of the one of the run's agent, which is not there. */
  readonly shared?: boolean;
}

export const readBeat = ({ kind, payload, attempt }: AskedBeat): Beat => ({ kind, payload, attempt });

/**
 * The input of the next beat; `code` is the version of this one. Any other route is thrown.
 *
 * The version of the shared function says nothing of the function of the agent, which the next beat calls: its alias is
 * called again, whichever version it is by then.
 */
export function answerBeat(
  { shared = false }: Pick<AskedBeat, "shared">,
  { reply, code }: { readonly reply: Reply; readonly code: string },
): MachineInput {
  return nextInput(reply, shared ? LIVE : code);
}

/** A Rescue as the state machine requests it, since a template of its language cannot leave out what is unknown. */
export interface AskedRescue extends Omit<Rescue, "dead"> {
  /** Its retry is null if no process is known to have died. */
  readonly dead: Omit<Entry, "retry"> & { readonly retry: number | null };
}

export function readRescue({ kind, payload, dead }: AskedRescue): Rescue {
  const { retry, ...entry } = dead;
  return { kind, payload, dead: retry === null ? null : { ...entry, retry } };
}
