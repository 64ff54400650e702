/** The requests and answers of the state machine where they differ from the chain's own tasks and results. */
import { type MachineInput, nextInput } from "../src/adapters/aws/machine-input.ts";
import type { Reply, Task } from "../src/protocol/chain.ts";
import type { Entry } from "../src/protocol/entry.ts";

type Beat = Extract<Task, { readonly kind: "beat" }>;
type Rescue = Extract<Task, { readonly kind: "rescue" }>;

/**
 * The input of the next beat; `code` is the version of this one. Any other route is thrown. An execution keeps the
 * definition with which it began. One that began before routes were errors reads the route in the reply; its attempts
 * do not name `died`.
 */
export function answerBeat(
  { attempt }: Pick<Beat, "attempt">,
  { reply, code }: { readonly reply: Reply; readonly code: string },
): MachineInput | Reply {
  return "died" in attempt ? nextInput(reply, code) : reply;
}

/** A Rescue as the state machine requests it, since a template of its language cannot leave out what is unknown. */
export interface AskedRescue extends Omit<Rescue, "dead"> {
  /**
   * Its retry is null if no process is known to have died. Absent in executions that began before chains reported
   * deaths.
   */
  readonly dead?: Omit<Entry, "retry"> & { readonly retry: number | null };
}

export function readRescue({ kind, payload, dead }: AskedRescue): Rescue {
  const { retry = null, ...entry } = dead ?? { execution: "", epoch: 0 };
  return { kind, payload, dead: retry === null ? null : { ...entry, retry } };
}
