/** The filters of the list of runs, which stand in the address. They offer what the list holds. */
import type { ComponentChildren } from "preact";
import { PHASES, PHASE_NAMES } from "../../core/phases.ts";
import type { Summary } from "../../operations/views.ts";
import { type Filters, changeFilters, filtersFrom } from "../model/filters.ts";
import { route, setQuery } from "../store/route.ts";
import { runs } from "../store/runs.ts";

export const change = (part: Partial<Filters>): void => setQuery(changeFilters(route.peek().query, part));

export function RunFilters({ children }: { readonly children: ComponentChildren }) {
  const filters = filtersFrom(route.value.query);
  const all = runs.value?.runs ?? [];
  const ofAgent = filters.agent === null ? all : all.filter(({ agent }) => agent === filters.agent);
  const phases = new Set(all.map(({ phase }) => phase));
  return (
    <div class="filters">
      <input
        class="text"
        type="search"
        data-filter
        aria-label="A part of the run ID or of the agent's name"
        placeholder="Run ID or agent"
        value={filters.text}
        onInput={(event) => change({ text: event.currentTarget.value })}
      />
      <Choice
        {...{ label: "Agent", any: "Every agent", value: filters.agent }}
        options={namesOf(all, "agent").map((name) => [name, name])}
        onPick={(agent) => change({ agent, version: null })}
      />
      <Choice
        {...{ label: "Agent version", any: "Every version", value: filters.version }}
        options={namesOf(ofAgent, "agentVersion").map((name) => [name, `Version ${name}`])}
        onPick={(version) => change({ version })}
      />
      <Choice
        {...{ label: "What it does", any: "Whatever it does", value: filters.phase }}
        options={PHASE_NAMES.filter((name) => phases.has(name)).map((name) => [name, PHASES[name].label])}
        onPick={(picked) => change({ phase: PHASE_NAMES.find((name) => name === picked) ?? null })}
      />
      <Choice
        {...{ label: "Time", any: "Any time", value: filters.hours === null ? null : String(filters.hours) }}
        options={[
          ["1", "Last hour"],
          ["24", "Last day"],
          ["168", "Last week"],
        ]}
        onPick={(hours) => change({ hours: hours === null ? null : Number(hours) })}
      />
      <label>
        <input
          type="checkbox"
          checked={filters.takenOver}
          onChange={(event) => change({ takenOver: event.currentTarget.checked })}
        />
        Outlived a process
      </label>
      {children}
    </div>
  );
}

const namesOf = (all: readonly Summary[], field: "agent" | "agentVersion"): readonly string[] =>
  [...new Set(all.map((run) => run[field]))].toSorted();

/** A value of the address that the list does not hold is offered too: it is what the list is filtered by. */
function Choice(of: {
  readonly label: string;
  readonly any: string;
  readonly value: string | null;
  readonly options: readonly (readonly [value: string, words: string])[];
  readonly onPick: (value: string | null) => void;
}) {
  const { value, options } = of;
  const isKnown = value === null || options.some(([each]) => each === value);
  return (
    <select
      aria-label={of.label}
      value={value ?? ""}
      onChange={(event) => of.onPick(event.currentTarget.value === "" ? null : event.currentTarget.value)}
    >
      <option value="">{of.any}</option>
      {[...options, ...(isKnown ? [] : [[value, value] as const])].map(([each, words]) => (
        <option key={each} value={each}>
          {words}
        </option>
      ))}
    </select>
  );
}
