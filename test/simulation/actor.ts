/**
 * Whoever acts in a history: a process of the chain, or somebody outside with a process of their own. It goes on one
 * step at a time when the scheduler lets it, by a clock that is off, until it dies; a crash is a promise that never
 * settles.
 */
import type { Phase } from "../../src/core/phases.ts";
import type { Clock } from "../../src/ports/world.ts";
import { judgedClock } from "./clock-jumps.ts";
import { type Sim, drawClockOffset } from "./sim.ts";

export class Actor {
  readonly name: string;
  readonly isPerson: boolean;
  /** By what its own clock says. */
  readonly clock: Clock;
  isDead = false;
  isFrozen = false;
  /** A task is in its hands. */
  isBusy = false;
  /** Its current task, counted over all of them; 0 for people. */
  task = 0;
  /** When it is killed with its task, by the true time. */
  deadline = 0;
  /** Of the run as this process knows it; null outside of a beat. */
  phase: Phase | null = null;
  /** Bytes came back to it that were not those that were stored. */
  sawDamage = false;
  /** Calls of tools that are under way in it. */
  calling = 0;
  /** The chain takes its attempt for dead. */
  giveUpOn = (): void => undefined;
  readonly #sim: Sim;
  readonly #ended: (() => void)[] = [];

  constructor(sim: Sim, kind: "process" | "person") {
    this.#sim = sim;
    sim.born += 1;
    this.isPerson = kind === "person";
    this.name = `${this.isPerson ? "a" : "p"}${sim.born}`;
    this.clock = judgedClock(sim, { ...sim.clock, after: this.#after.bind(this) }, drawClockOffset(sim));
    sim.actors.add(this);
  }

  /** Waits for the scheduler: whatever others do may happen in between. */
  readonly pause = (): Promise<void> =>
    new Promise((resolve) => {
      if (!this.isDead) this.#sim.turns.push({ owner: this, go: resolve });
    });

  readonly note = (text: string): void => this.#sim.record.note(this.name, text);

  /** From here on none of its promises settles. */
  die(): void {
    if (this.isDead) return;
    this.isDead = true;
    const { actors, turns } = this.#sim;
    actors.delete(this);
    for (const mine of turns.filter(({ owner }) => owner === this)) turns.splice(turns.indexOf(mine), 1);
    for (const tell of this.#ended.splice(0)) tell();
  }

  whenDead(call: () => void): void {
    this.#ended.push(call);
  }

  /** Its timers fire only while it lives, and when it thaws if it was frozen. */
  #after(delayMs: number, call: () => void): () => void {
    return this.#sim.clock.after(delayMs, () => {
      if (this.isDead) return;
      if (this.isFrozen) this.#sim.turns.push({ owner: this, go: call });
      else call();
    });
  }
}
