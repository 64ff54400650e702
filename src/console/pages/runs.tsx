/** The runs: what each does, what it costs, and which need a human. */
import { base } from "../api/http.ts";
import { cliOf } from "../model/commands.ts";
import { useSignal } from "@preact/signals";
import { Fragment } from "preact";
import { useEffect } from "preact/hooks";
import { BulkDialog } from "../parts/bulk-dialog.tsx";
import { Empty, Loading, MayBeOld, Problem } from "../parts/basics.tsx";
import { RunFilters, change } from "../parts/run-filters.tsx";
import { RunRows } from "../parts/run-rows.tsx";
import { BULK_ACTIONS } from "../model/bulk.ts";
import { NO_FILTERS, filtersFrom, matches, queryOf } from "../model/filters.ts";
import { GROUPS, GROUP_WORDS, groupCounts } from "../model/groups.ts";
import type { Summary } from "../../operations/views.ts";
import { mayDo } from "../store/caller.ts";
import { now } from "../store/clock.ts";
import { agents, readAgents } from "../store/agents.ts";
import { hrefOf, route, setQuery } from "../store/route.ts";
import { runs, runsTrouble } from "../store/runs.ts";

export function Runs() {
  const list = runs.value;
  if (list === null) {
    return (
      <section class="page" aria-label="Runs">
        <Head />
        {runsTrouble.value === null ? (
          <Loading rows={9} />
        ) : (
          <Problem trouble={runsTrouble.value} title="The runs cannot be read" />
        )}
      </section>
    );
  }
  return (
    <section class="page" aria-label="Runs">
      <Head />
      <MayBeOld trouble={runsTrouble.value} />
      <RunRows none={<NoRuns />} />
    </section>
  );
}

function Head() {
  const filters = filtersFrom(route.value.query);
  const counts = groupCounts(runs.value?.runs ?? []);
  return (
    <div class="runs-head">
      <h1>Runs</h1>
      <div class="groups" role="group" aria-label="Groups">
        <button type="button" aria-pressed={filters.group === null} onClick={() => change({ group: null })}>
          All <b>{runs.value?.runs.length ?? "–"}</b>
        </button>
        {GROUPS.filter((group) => group !== "cancelled" || counts.cancelled > 0).map((group) => (
          <button
            key={group}
            type="button"
            class={group === "needs" && counts.needs > 0 ? "calls" : ""}
            aria-pressed={filters.group === group}
            onClick={() => change({ group: filters.group === group ? null : group })}
          >
            {GROUP_WORDS[group]} <b>{runs.value === null ? "–" : counts[group]}</b>
          </button>
        ))}
      </div>
      <RunFilters>
        <Bulk />
      </RunFilters>
    </div>
  );
}

/** Acts on the runs that match the filters when it is clicked. */
function Bulk() {
  const chosen = useSignal<readonly Summary[] | null>(null);
  const choose = (): void => {
    const filters = filtersFrom(route.peek().query);
    chosen.value = (runs.peek()?.runs ?? []).filter((run) => matches(run, filters, now.peek()));
  };
  if (!BULK_ACTIONS.some(mayDo)) return null;
  return (
    <>
      <button type="button" disabled={(runs.value?.runs.length ?? 0) === 0} onClick={choose}>
        Act on these runs…
      </button>
      {chosen.value === null ? null : <BulkDialog runs={chosen.value} onClose={() => (chosen.value = null)} />}
    </>
  );
}

/** So many agents an empty list names. */
const NAMED_MAX = 5;

function NoRuns() {
  useEffect(readAgents, []);
  const named = agents.value?.agents.slice(0, NAMED_MAX) ?? [];
  const example = named[0]?.name ?? "AGENT";
  const isFiltered = route.value.query.size > 0;
  if (!isFiltered) {
    return (
      <Empty title="There is no run yet" command={cliOf({ words: ["start", example, "--input", "{}"] }, base())}>
        Each run appears here when it starts. Start one on the page of an agent
        {named.length === 0 ? null : (
          <>
            {" "}
            (
            {named.map(({ name }, index) => (
              <Fragment key={name}>
                {index === 0 ? "" : ", "}
                <a href={hrefOf(["agents", name])}>{name}</a>
              </Fragment>
            ))}
            )
          </>
        )}
        , by the API, or with:
      </Empty>
    );
  }
  return (
    <Empty title="No run matches these filters">
      <button type="button" onClick={() => setQuery(queryOf(NO_FILTERS))}>
        Show every run
      </button>
    </Empty>
  );
}
