/**
 * Checks of a deployment or store: pure functions from an observation to a verdict.
 *
 * A check whose prerequisite failed is `unknown` and names the prerequisite. So a missing resource is reported once,
 * not in every later check. A check is never `ok` without an observation.
 */
export type CheckStatus = "ok" | "warn" | "fail" | "unknown";

/** The result of one check. */
export interface CheckVerdict {
  readonly status: CheckStatus;
  /** The observation. */
  readonly why: string;
  /**
   * A command to type or a setting to change; null if there is nothing to do, or another check must be repaired first.
   */
  readonly mend: string | null;
}

/** A check. `judge` is pure: it judges an observation. */
export interface DiagnosisCheck<Seen> {
  readonly id: string;
  /** The statement that holds if the check is ok. */
  readonly says: string;
  /** IDs of earlier checks that must be ok, or at most warn. */
  readonly needs?: readonly string[];
  /** With --production, a warning of this check is a failure. */
  readonly strict?: true;
  readonly judge: (seen: Seen) => CheckVerdict;
}

/** A check's verdict, with the check's ID and statement. */
export interface Judged extends CheckVerdict {
  readonly id: string;
  readonly says: string;
}

/** Judges all checks in order. A check whose prerequisite failed is not judged. */
export function judgeAll<Seen>(
  checks: readonly DiagnosisCheck<Seen>[],
  { seen, production }: { readonly seen: Seen; readonly production: boolean },
): readonly Judged[] {
  const done = new Map<string, Judged>();
  for (const { id, says, needs = [], strict = false, judge } of checks) {
    const unmet = needs.find((need) => !isMet(done.get(need)));
    const verdict = unmet === undefined ? judge(seen) : needing(unmet);
    const isSterner = production && strict && verdict.status === "warn";
    done.set(id, { id, says, ...verdict, ...(isSterner ? { status: "fail" as const } : {}) });
  }
  return [...done.values()];
}

const isMet = (judged: Judged | undefined): boolean => judged?.status === "ok" || judged?.status === "warn";

export const ok = (why: string): CheckVerdict => ({ status: "ok", why, mend: null });
export const warn = (why: string, mend: string): CheckVerdict => ({ status: "warn", why, mend });
export const fail = (why: string, mend: string): CheckVerdict => ({ status: "fail", why, mend });
export const unknown = (why: string, mend: string): CheckVerdict => ({ status: "unknown", why, mend });

/** The verdict of a check whose prerequisite failed. The prerequisite's own verdict says what to do. */
export const needing = (id: string): CheckVerdict => ({ status: "unknown", why: `needs ${id}`, mend: null });

const ORDER: readonly CheckStatus[] = ["fail", "warn", "unknown", "ok"];

/** The worst status; `ok` for an empty list. */
export const worstOf = (all: readonly CheckStatus[]): CheckStatus =>
  ORDER.find((status) => all.includes(status)) ?? "ok";

/** Judges the difference between two clocks. A larger difference than `skewMs` makes leases and settle times unsafe. */
export function judgeGap(
  gapMs: number,
  { skewMs, whose }: { readonly skewMs: number; readonly whose: string },
): CheckVerdict {
  const gap = Math.abs(gapMs);
  const side = gapMs > 0 ? "behind" : "ahead of";
  const why = `this clock is at least ${gap} ms ${side} ${whose}, and the protocol allows ${skewMs} ms`;
  const mend = "let a time service set the clock: timedatectl set-ntp true";
  if (gap > skewMs) return fail(why, mend);
  return gap > skewMs / 2 ? warn(why, mend) : ok(`it differs from ${whose} by at most ${Math.round(skewMs / 2)} ms`);
}

const DAMAGED_NAMED = 5;

/**
 * Judges rows that cannot be decoded, each with its run ID. `seen`: the observation if there are none; `verify`: the
 * command to type for a damaged run.
 */
export function judgeDamaged(
  damaged: readonly { readonly run: string; readonly why: string }[],
  { seen, verify }: { readonly seen: string; readonly verify: (run: string) => string },
): CheckVerdict {
  const [first] = damaged;
  if (first === undefined) return ok(seen);
  const named = damaged.slice(0, DAMAGED_NAMED).map(({ run, why }) => `${run}: ${why}`);
  const more = damaged.length > named.length ? [`and ${damaged.length - named.length} more`] : [];
  return fail([...named, ...more].join("; "), verify(first.run));
}

/** The result of all checks of a world. */
export interface Diagnosis {
  readonly checks: readonly Judged[];
  /** Further facts to know, which no check covers. */
  readonly hints: readonly string[];
}

/** What `cairn doctor` finds, where the server can look. */
export interface ExaminedStore {
  /** The version of cairn that made the checks. */
  readonly cairn: string;
  readonly world: string;
  readonly checks: readonly Judged[];
}
