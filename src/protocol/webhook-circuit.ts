/**
 * The circuit of one webhook endpoint: whether requests go to it. After several failures in a row it opens. Then one
 * notification after another probes the endpoint, with growing pauses, and the first answer closes the circuit.
 */
export interface WebhookCircuit {
  /** Attempts that failed in a row. */
  readonly failures: number;
  /** When the first of them failed, epoch milliseconds. */
  readonly since: number;
  /** An open circuit sends nothing before this time. */
  readonly nextAt: number;
  /** When it closed last, by an answer or by hand. What failed before is due at once. */
  readonly recoveredAt: number;
  /** Why the last attempt failed; null after a success. */
  readonly why: string | null;
}

export const CLOSED: WebhookCircuit = { failures: 0, since: 0, nextAt: 0, recoveredAt: 0, why: null };

const FAILURES_MAX = 5;
const PROBE_MS = { first: 5_000, last: 300_000 } as const;

export const isOpen = ({ failures }: WebhookCircuit): boolean => failures >= FAILURES_MAX;

/** The circuit, unless an operator closed it by hand later than it closed by itself. */
export const asWished = (circuit: WebhookCircuit, closedByHandAt: number): WebhookCircuit =>
  closedByHandAt > circuit.recoveredAt ? { ...CLOSED, recoveredAt: closedByHandAt } : circuit;

/** The circuit after attempts that ran side by side. `now`: when they ended, epoch milliseconds. */
export function circuitAfter(
  before: WebhookCircuit,
  {
    failed,
    succeeded,
    why,
    now,
  }: {
    readonly failed: number;
    readonly succeeded: number;
    readonly why: string | null;
    readonly now: number;
  },
): WebhookCircuit {
  if (succeeded > 0) return { ...CLOSED, recoveredAt: isOpen(before) ? now : before.recoveredAt };
  if (failed === 0) return before;
  const failures = before.failures + failed;
  const since = before.failures === 0 ? now : before.since;
  const probes = isOpen(before) ? before.failures - FAILURES_MAX + 1 : 0;
  const waitMs = Math.min(PROBE_MS.last, PROBE_MS.first * 2 ** Math.min(probes, 10));
  return { ...before, failures, since, nextAt: now + waitMs, why };
}
