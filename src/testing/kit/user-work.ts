/**
 * The user code that is at work in a process of a test: tools, probes, models, checks. The virtual clock stands still for
 * it, since it may do real I/O. Each piece has its own patience: a call that follows a slow one does not hang at once.
 */
import { performance } from "node:perf_hooks";

/** A piece of work that takes longer than this, in real milliseconds, hangs. */
export const PATIENCE_MS = 2_000;

export class UserWork {
  readonly #begun = new Set<{ readonly at: number }>();
  readonly #now: () => number;

  /** `now`: the real time in milliseconds. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Whether some piece is at work, hanging or not. */
  get isAny(): boolean {
    return this.#begun.size > 0;
  }

  /** Whether some piece is at work that does not hang: virtual time has to wait for it. */
  get holdsClock(): boolean {
    const now = this.#now();
    return [...this.#begun].some(({ at }) => now - at <= PATIENCE_MS);
  }

  async during<T>(work: () => Promise<T>): Promise<T> {
    const piece = { at: this.#now() };
    this.#begun.add(piece);
    try {
      return await work();
    } finally {
      this.#begun.delete(piece);
    }
  }
}
