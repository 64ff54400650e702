/** What the page of the health says: the worst first, and amounts in words. */
import type { HealthShown, SweeperSeen } from "../../operations/health.ts";
import type { WebhookView } from "../../operations/webhooks.ts";
import type { Judged } from "../../ports/diagnosis.ts";
import type { WorkersLoad } from "../../ports/supervision.ts";
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

/** What the workers of the process that answers have, one line for all and one for each. */
export function workersWords(load: WorkersLoad | null): readonly string[] {
  if (load === null) return ["This server drives no run itself, so it does not know what workers have."];
  const { processes, processesMax, free } = load;
  const atWork = processes.filter(({ tasks }) => tasks > 0).length;
  const started = `${count(processes.length, "process", "processes")} of ${processesMax} at most`;
  const each = processes.map(
    ({ pid, agent, tasks, waiting, free: own }) =>
      `Process ${pid}${agent === null ? "" : ` of ${agent}`}: ${count(tasks, "task")}, ${waiting} waiting for a model, ${count(own, "place")} free`,
  );
  return [`${started}, ${atWork} at work, ${count(free, "place")} free`, ...each];
}

/** What is known of the sweeper, one line each. */
export function sweeperWords({ sweeps, allAt, orphansAt }: SweeperSeen, now: number): readonly string[] {
  const all =
    allAt === null ? "No sweep has judged every live run yet." : `Every live run was judged ${relative(allAt, now)}.`;
  const orphans = orphansAt === null ? [] : [`Objects without a run were searched for ${relative(orphansAt, now)}.`];
  if (sweeps === null) return [all, ...orphans];
  const { lastAt, judged, nextAt } = sweeps;
  const last =
    lastAt === null
      ? "No sweep yet"
      : `Last sweep ${relative(lastAt, now)}, ${judged === null ? "which failed" : `with ${count(judged, "run")} due`}`;
  const next = nextAt <= now ? "as soon as a process is free" : relative(nextAt, now);
  return [`${last}; the next one ${next}.`, all, ...orphans];
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
