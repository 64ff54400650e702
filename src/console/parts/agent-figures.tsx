/** On the page of an agent: its runs of the last day in figures, from the list that the page holds already. */
import { runFiguresOf } from "../model/agent-figures.ts";
import { now } from "../store/clock.ts";
import { hrefOf } from "../store/route.ts";
import { runs, runsCut } from "../store/runs.ts";
import { money } from "./run-row.tsx";

export function AgentFigures({ agent }: { readonly agent: string }) {
  if (runs.value === null) return null;
  const {
    runs: count,
    perHour,
    failedShare,
    failed,
    ended,
    meanUsd,
    mostUsd,
  } = runFiguresOf(runs.value.runs, {
    agent,
    now: now.value,
  });
  return (
    <section class="sheet card" aria-label="Last 24 hours">
      <h2>Last 24 hours</h2>
      <dl class="facts">
        <dt>runs</dt>
        <dd>
          {count}, {perHour < 10 ? perHour.toFixed(1) : Math.round(perHour)} an hour
        </dd>
        <dt>failed</dt>
        <dd>
          {failedShare === null ? (
            "none has ended"
          ) : (
            <>
              <a href={hrefOf(["runs"], { agent, status: "failed" })}>
                {failed} of {ended}
              </a>{" "}
              that ended ({Math.round(failedShare * 100)} %)
            </>
          )}
        </dd>
        <dt>cost of a run</dt>
        <dd>
          {meanUsd === null || mostUsd === null
            ? "none has ended"
            : `${money(meanUsd)} on average, ${money(mostUsd)} at most`}
        </dd>
      </dl>
      {runsCut.value ? <p class="small quiet">The list holds the newest runs only, and so do these figures.</p> : null}
    </section>
  );
}
