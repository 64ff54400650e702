/** The processes of a simulated family. */
import type { TaskResult } from "../../src/protocol/chain.ts";

/** One process, and the task in its hands. */
export class Process {
  readonly name: string;
  /** The run that it works for; empty: it sweeps. */
  readonly run: string;
  isDead = false;
  isFrozen = false;
  /** The chain is told that it died, or that it does not answer. */
  giveUpOn: (isDeath: boolean) => void = () => undefined;

  constructor(name: string, run: string) {
    [this.name, this.run] = [name, run];
  }
}

/** The result of a task, or null without one. `isDeath`: the process is known to be dead. */
export type Heard = (result: TaskResult | null, isDeath: boolean) => void;
