/** The filters of the list of runs. They stand in the address, so that a link or a reload restores them. */
import { PHASE_NAMES, type Phase } from "../../core/phases.ts";
import type { Summary } from "../../operations/views.ts";
import { GROUPS, type Group, groupOf } from "./groups.ts";

export interface Filters {
  /** Null: every group. */
  readonly group: Group | null;
  readonly agent: string | null;
  readonly version: string | null;
  /** What the run does or waits for. */
  readonly phase: Phase | null;
  /** A part of the ID or of the agent's name; empty: any. */
  readonly text: string;
  /** Runs that were created within this time, in hours; null: any. */
  readonly hours: number | null;
  /** Runs that spent more than this, in dollars; null: any. */
  readonly usdAbove: number | null;
  /** Runs that outlived the death of a process. */
  readonly takenOver: boolean;
}

export const NO_FILTERS: Filters = {
  ...{ group: null, agent: null, version: null, phase: null, text: "", hours: null, usdAbove: null, takenOver: false },
};

export function filtersFrom(query: URLSearchParams): Filters {
  const group = query.get("group");
  return {
    group: GROUPS.find((each) => each === group) ?? null,
    agent: query.get("agent"),
    version: query.get("version"),
    phase: PHASE_NAMES.find((each) => each === query.get("phase")) ?? null,
    text: query.get("text") ?? "",
    hours: positive(query.get("hours")),
    usdAbove: positive(query.get("above")),
    takenOver: query.get("takenOver") === "1",
  };
}

/** Only what differs from no filter, so that addresses stay short. */
export function queryOf({ group, agent, version, phase, text, hours, usdAbove, takenOver }: Filters): URLSearchParams {
  const query = new URLSearchParams();
  if (group !== null) query.set("group", group);
  if (agent !== null) query.set("agent", agent);
  if (version !== null) query.set("version", version);
  if (phase !== null) query.set("phase", phase);
  if (text !== "") query.set("text", text);
  if (hours !== null) query.set("hours", String(hours));
  if (usdAbove !== null) query.set("above", String(usdAbove));
  if (takenOver) query.set("takenOver", "1");
  return query;
}

export const changeFilters = (query: URLSearchParams, part: Partial<Filters>): URLSearchParams =>
  queryOf({ ...filtersFrom(query), ...part });

export function matches(run: Summary, filters: Filters, now: number): boolean {
  const { group, agent, version, phase, hours, usdAbove, takenOver } = filters;
  const text = filters.text.trim().toLowerCase();
  return (
    (group === null || groupOf(run) === group) &&
    (agent === null || run.agent === agent) &&
    (version === null || run.agentVersion === version) &&
    (phase === null || run.phase === phase) &&
    (text === "" || run.run.toLowerCase().includes(text) || run.agent.toLowerCase().includes(text)) &&
    (hours === null || run.createdAt >= now - hours * 3_600_000) &&
    (usdAbove === null || run.spent.usd > usdAbove) &&
    (!takenOver || run.takeovers > 0)
  );
}

function positive(text: string | null): number | null {
  const number = Number(text);
  return text !== null && Number.isFinite(number) && number > 0 ? number : null;
}
