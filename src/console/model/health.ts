/** What the page of the health says: the worst first, and amounts in words. */
import type { HealthShown } from "../../operations/health.ts";
import type { WebhookView } from "../../operations/webhooks.ts";
import type { Judged } from "../../ports/diagnosis.ts";
import { count, relative } from "../../render/words.ts";

const WORST = ["fail", "warn", "unknown", "ok"];

export const worstFirst = (checks: readonly Judged[]): readonly Judged[] =>
  checks.toSorted((one, other) => WORST.indexOf(one.status) - WORST.indexOf(other.status));

export function liveWords({ live, isMore }: Pick<HealthShown, "live" | "isMore">): string {
  const counts = Object.entries(live);
  const all = counts.reduce((sum, [, each]) => sum + each, 0);
  if (all === 0) return "none";
  return `${all}${isMore ? " or more" : ""}: ${counts.map(([status, each]) => `${each} ${status}`).join(", ")}`;
}

interface SpendRow {
  readonly title: string;
  /** In dollars. */
  readonly used: number;
  readonly cap: number;
}

/** What was spent in each period that has a cap. */
export function spendRows({ spend, tenant }: Pick<HealthShown, "spend" | "tenant">): readonly SpendRow[] {
  const ofAll = spend === null ? [] : [{ title: "All runs today (UTC)", used: spend.todayUsd, cap: spend.capUsd }];
  if (tenant === null) return ofAll;
  const { name, limits, day, month } = tenant;
  const periods = [
    { title: `Tenant ${name} today (UTC)`, used: day.microUsd, cap: limits.day?.microUsd },
    { title: `Tenant ${name} this month (UTC)`, used: month.microUsd, cap: limits.month?.microUsd },
  ];
  const ofTenant = periods.flatMap(({ title, used, cap }) =>
    cap === undefined ? [] : [{ title, used: used / 1e6, cap: cap / 1e6 }],
  );
  return [...ofAll, ...ofTenant];
}

/** Whether requests go to the endpoint. */
export function circuitWords({ circuit, removedAt }: Pick<WebhookView, "circuit" | "removedAt">, now: number): string {
  if (removedAt !== null)
    return "The config names it no longer: nothing is sent there. Move what waits, or it expires.";
  const { isOpen, failures, why, nextAt } = circuit;
  if (failures === 0) return "It accepts requests.";
  const failed = `${count(failures, "request")} failed in a row: ${why ?? "no answer"}.`;
  if (!isOpen) return failed;
  const next = nextAt === null || nextAt <= now ? "with the next sweep" : relative(nextAt, now);
  return `${failed} One notification at a time tries it, again ${next}.`;
}
