/**
 * What a check is: a pure judgement of what was seen. A check whose needs are not met is `unknown` and says what it needs,
 * so that one thing that is missing is told once and not in every line below it.
 *
 * Nothing is `ok` that was not looked at.
 */
export type Status = "ok" | "warn" | "fail" | "unknown";

export interface Verdict {
  readonly status: Status;
  /** What was seen. */
  readonly why: string;
  /** A command to type or a setting to change; null where there is nothing to do, or something else first. */
  readonly mend: string | null;
}

export interface Check<Seen> {
  readonly id: string;
  /** What holds if it is ok. */
  readonly says: string;
  /** Ids of checks before it that have to be ok, or to warn only. */
  readonly needs?: readonly string[];
  /** Under --production what else only warns fails. */
  readonly strict?: true;
  readonly judge: (seen: Seen) => Verdict;
}

export interface Judged extends Verdict {
  readonly id: string;
  readonly says: string;
}

export function judgeAll<Seen>(
  checks: readonly Check<Seen>[],
  of: { readonly seen: Seen; readonly production: boolean },
): readonly Judged[] {
  const done = new Map<string, Judged>();
  for (const { id, says, needs = [], strict = false, judge } of checks) {
    const unmet = needs.find((need) => !isMet(done.get(need)));
    const verdict = unmet === undefined ? judge(of.seen) : needing(unmet);
    const isSterner = of.production && strict && verdict.status === "warn";
    done.set(id, { id, says, ...verdict, ...(isSterner ? { status: "fail" as const } : {}) });
  }
  return [...done.values()];
}

const isMet = (judged: Judged | undefined): boolean => judged?.status === "ok" || judged?.status === "warn";

export const ok = (why: string): Verdict => ({ status: "ok", why, mend: null });
export const warn = (why: string, mend: string): Verdict => ({ status: "warn", why, mend });
export const fail = (why: string, mend: string): Verdict => ({ status: "fail", why, mend });
export const unknown = (why: string, mend: string): Verdict => ({ status: "unknown", why, mend });

/** Nobody could look, and what to do is told there. */
export const needing = (id: string): Verdict => ({ status: "unknown", why: `needs ${id}`, mend: null });

const ORDER: readonly Status[] = ["fail", "warn", "unknown", "ok"];

/** The worst of them; ok for none. */
export const worstOf = (all: readonly Status[]): Status => ORDER.find((status) => all.includes(status)) ?? "ok";

/** How far two clocks may differ before it matters, and before leases and quiet are wrong. */
export function judgeGap(gapMs: number, of: { readonly skewMs: number; readonly whose: string }): Verdict {
  const { skewMs, whose } = of;
  const gap = Math.abs(gapMs);
  const side = gapMs > 0 ? "behind" : "ahead of";
  const why = `this clock is at least ${gap} ms ${side} ${whose}, and the protocol allows ${skewMs} ms`;
  const mend = "let a time service set the clock: timedatectl set-ntp true";
  if (gap > skewMs) return fail(why, mend);
  return gap > skewMs / 2 ? warn(why, mend) : ok(`no difference to ${whose} above ${Math.round(skewMs / 2)} ms`);
}

const DAMAGED_NAMED = 5;

/** Rows that cannot be decoded, each by its run. `seen`: what is told where there are none; `verify`: what to type about one. */
export function judgeDamaged(
  damaged: readonly { readonly run: string; readonly why: string }[],
  { seen, verify }: { readonly seen: string; readonly verify: (run: string) => string },
): Verdict {
  const [first] = damaged;
  if (first === undefined) return ok(seen);
  const named = damaged.slice(0, DAMAGED_NAMED).map(({ run, why }) => `${run}: ${why}`);
  const more = damaged.length > named.length ? [`and ${damaged.length - named.length} more`] : [];
  return fail([...named, ...more].join("; "), verify(first.run));
}

/** What a world found out about itself. */
export interface Diagnosis {
  readonly checks: readonly Judged[];
  /** What to know besides, which no check reads. */
  readonly hints: readonly string[];
}
