/** The filters of the list of runs. They stand in the address, so that a link or a reload restores them. */
import { CRACK_NAMES, type Crack } from "../../core/crack.ts";
import { PHASE_NAMES, type Phase } from "../../core/phases.ts";
import type { Summary } from "../../operations/views.ts";
import { labelTexts, labelsText, titleWords } from "../../render/words.ts";
import { GROUPS, type Group, groupOf } from "./groups.ts";

export interface Filters {
  /** Null: every group. */
  readonly group: Group | null;
  readonly agent: string | null;
  readonly version: string | null;
  /** What the run does or waits for. */
  readonly phase: Phase | null;
  /** The agent whose schedule started it. */
  readonly schedule: string | null;
  /** A label that its start gave it, such as `team=ops`. */
  readonly label: string | null;
  /** The run that started it. */
  readonly parent: string | null;
  /** A first signal of a failure that it gave. */
  readonly crack: Crack | null;
  /** The tenant whose runs are listed; null: that of the caller. The server filters by it. */
  readonly tenant: string | null;
  /** A part of the ID, of the agent's name, of the title with the key, or of the labels; empty: any. */
  readonly text: string;
  /** Runs that were created within this time, in hours; null: any. */
  readonly hours: number | null;
  /** Runs that spent more than this, in dollars; null: any. */
  readonly usdAbove: number | null;
  /** Runs that outlived the death of a process. */
  readonly takenOver: boolean;
}

export const NO_FILTERS: Filters = {
  group: null,
  agent: null,
  version: null,
  phase: null,
  schedule: null,
  crack: null,
  tenant: null,
  label: null,
  parent: null,
  text: "",
  hours: null,
  usdAbove: null,
  takenOver: false,
};

export function filtersFrom(query: URLSearchParams): Filters {
  const group = query.get("group");
  return {
    group: GROUPS.find((each) => each === group) ?? null,
    agent: query.get("agent"),
    version: query.get("version"),
    phase: PHASE_NAMES.find((each) => each === query.get("phase")) ?? null,
    schedule: query.get("schedule"),
    label: query.get("label"),
    parent: query.get("parent"),
    crack: CRACK_NAMES.find((each) => each === query.get("crack")) ?? null,
    tenant: query.get("tenant"),
    text: query.get("text") ?? "",
    hours: positive(query.get("hours")),
    usdAbove: positive(query.get("above")),
    takenOver: query.get("takenOver") === "1",
  };
}

/** Only what differs from no filter, so that addresses stay short. */
export function queryOf({ text, hours, usdAbove, takenOver, ...named }: Filters): URLSearchParams {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(named)) if (value !== null) query.set(name, value);
  if (text !== "") query.set("text", text);
  if (hours !== null) query.set("hours", String(hours));
  if (usdAbove !== null) query.set("above", String(usdAbove));
  if (takenOver) query.set("takenOver", "1");
  return query;
}

export const changeFilters = (query: URLSearchParams, part: Partial<Filters>): URLSearchParams =>
  queryOf({ ...filtersFrom(query), ...part });

export function matches(run: Summary, filters: Filters, now: number): boolean {
  const { group, agent, version, phase, schedule, label, parent, crack, hours, usdAbove, takenOver } = filters;
  const text = filters.text.trim().toLowerCase();
  return (
    (group === null || groupOf(run) === group) &&
    (agent === null || run.agent === agent) &&
    (version === null || run.agentVersion === version) &&
    (phase === null || run.phase === phase) &&
    (schedule === null || (run.isScheduled && run.agent === schedule)) &&
    (label === null || labelTexts(run.labels).includes(label)) &&
    (parent === null || run.parent === parent) &&
    (crack === null || run.signals.includes(crack)) &&
    (text === "" ||
      `${run.run} ${run.agent} ${titleWords(run)} ${labelsText(run.labels)}`.toLowerCase().includes(text)) &&
    (hours === null || run.createdAt >= now - hours * 3_600_000) &&
    (usdAbove === null || run.spent.usd > usdAbove) &&
    (!takenOver || run.takeovers > 0)
  );
}

/** Whether a run that cannot be read is shown. Its ID alone is known, so it may be what each other filter asks for. */
export const mayMatch = ({ run }: Pick<Summary, "run">, { text }: Filters): boolean =>
  run.toLowerCase().includes(text.trim().toLowerCase());

function positive(text: string | null): number | null {
  const number = Number(text);
  return text !== null && Number.isFinite(number) && number > 0 ? number : null;
}
