/** The firing of a schedule that started a run, as the run, its agent and its readers see it. Times are epoch milliseconds. */

export interface RunFiring {
  /** The schedule: the name of its agent. */
  readonly schedule: string;
  /** The time for which the firing was scheduled; by hand: when it was asked for. */
  readonly dueAt: number;
  /** The same of the firing that started the run before; null: none is known. Skipped and missed firings start no run. */
  readonly previousDueAt: number | null;
  /** The scheduler missed the time, and the run makes up for it. */
  readonly makesUp: boolean;
}
