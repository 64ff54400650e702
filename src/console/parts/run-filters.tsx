/** The filters of the list of runs, which stand in the address. They offer what the list holds. */
import type { ComponentChildren } from "preact";
import { CRACK_NAMES } from "../../core/crack.ts";
import { PHASES, PHASE_NAMES } from "../../core/phases.ts";
import type { Summary } from "../../operations/views.ts";
import { labelTexts, shortRun } from "../../render/words.ts";
import { type Filters, changeFilters, filtersFrom } from "../model/filters.ts";
import { caller } from "../store/caller.ts";
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
        aria-label="A part of the run ID, of the agent's name, of the title, of the key, or of a label"
        placeholder="Run ID, agent, title, key or label"
        value={filters.text}
        onInput={(event) => change({ text: event.currentTarget.value })}
      />
      <div class="picks">
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
        <More filters={filters} all={all} />
        <label>
          <input
            type="checkbox"
            checked={filters.takenOver}
            onChange={(event) => change({ takenOver: event.currentTarget.checked })}
          />
          Went on after a crash
        </label>
      </div>
      {children}
    </div>
  );
}

/** Where each run has a label of its own, the search finds the others. */
const CHOICES_MAX = 200;

/** The newest that differ, in order. */
const choicesIn = (words: readonly string[]): readonly string[] => [...new Set(words)].slice(0, CHOICES_MAX).toSorted();

/** Filters that few lists need, so they appear if a run of the list has what they ask for, or the address names them. */
function More({ filters, all }: { readonly filters: Filters; readonly all: readonly Summary[] }) {
  const schedules = [...new Set(all.flatMap(({ agent, isScheduled }) => (isScheduled ? [agent] : [])))].toSorted();
  const cracks = CRACK_NAMES.filter((name) => all.some(({ signals }) => signals.includes(name)));
  const labels = choicesIn(all.flatMap((run) => labelTexts(run.labels)));
  // An older server says no parent.
  const parents = choicesIn(all.flatMap(({ parent }) => parent ?? []));
  const usd = filters.usdAbove;
  return (
    <>
      {schedules.length === 0 && filters.schedule === null ? null : (
        <Choice
          {...{ label: "Schedule", any: "With or without schedule", value: filters.schedule }}
          options={schedules.map((name) => [name, `Schedule of ${name}`])}
          onPick={(schedule) => change({ schedule })}
        />
      )}
      {labels.length === 0 && filters.label === null ? null : (
        <Choice
          {...{ label: "Label", any: "With or without label", value: filters.label }}
          options={labels.map((each) => [each, each])}
          onPick={(label) => change({ label })}
        />
      )}
      {parents.length === 0 && filters.parent === null ? null : (
        <Choice
          {...{ label: "Parent", any: "Of any parent", value: filters.parent }}
          options={parents.map((each) => [each, `Child of ${shortRun(each)}`])}
          onPick={(parent) => change({ parent })}
        />
      )}
      {cracks.length === 0 && filters.crack === null ? null : (
        <Choice
          {...{ label: "First signal", any: "With or without signs of trouble", value: filters.crack }}
          options={cracks.map((name) => [name, name])}
          onPick={(picked) => change({ crack: CRACK_NAMES.find((name) => name === picked) ?? null })}
        />
      )}
      <Choice
        {...{ label: "Cost", any: "Any cost", value: usd === null ? null : String(usd) }}
        options={["0.01", "0.1", "1", "10"].map((dollars) => [dollars, `Above $${dollars}`])}
        onPick={(picked) => change({ usdAbove: picked === null ? null : Number(picked) })}
      />
      {caller.value?.isOperator === true || filters.tenant !== null ? (
        <input
          class="tenant"
          type="text"
          aria-label="Tenant"
          placeholder={`Tenant (${caller.value?.tenant ?? "yours"})`}
          value={filters.tenant ?? ""}
          onChange={(event) => change({ tenant: event.currentTarget.value.trim() || null })}
        />
      ) : null}
    </>
  );
}

const namesOf = (all: readonly Summary[], field: "agent" | "agentVersion"): readonly string[] =>
  [...new Set(all.map((run) => run[field]))].toSorted();

/** A value of the address that the list does not hold is offered too: it is what the list is filtered by. */
function Choice({
  value,
  options,
  label,
  onPick,
  any,
}: {
  readonly label: string;
  readonly any: string;
  readonly value: string | null;
  readonly options: readonly (readonly [value: string, words: string])[];
  readonly onPick: (value: string | null) => void;
}) {
  const isKnown = value === null || options.some(([each]) => each === value);
  return (
    <select
      aria-label={label}
      value={value ?? ""}
      onChange={(event) => onPick(event.currentTarget.value === "" ? null : event.currentTarget.value)}
    >
      <option value="">{any}</option>
      {[...options, ...(isKnown ? [] : [[value, value] as const])].map(([each, words]) => (
        <option key={each} value={each}>
          {words}
        </option>
      ))}
    </select>
  );
}
