/** Why the run did what it did: each rule that fired and what it saw, first signals of failures, and the diagnosis. */
import { useEffect, useMemo, useRef } from "preact/hooks";
import { askApi } from "../api/http.ts";
import { pathOf } from "../model/commands.ts";
import { DECISIONS } from "../model/decisions.ts";
import { Problem, When, Wide } from "../parts/basics.tsx";
import { useSome } from "../parts/some.tsx";
import { hrefOf, route } from "../store/route.ts";
import { useRead } from "../store/use-read.ts";
import { UNTOLD } from "../../render/story.ts";
import { tellEach } from "../../render/timeline.ts";
import { crackWords, relative } from "../../render/words.ts";
import type { Crack } from "../../core/crack.ts";
import type { DiagnosisLine } from "../../operations/diagnose.ts";
import type { Shown, TimelineEntry } from "../../operations/views.ts";
import { now } from "../store/clock.ts";

export function Why({ run, entries }: { readonly run: Shown; readonly entries: readonly TimelineEntry[] }) {
  const { value, trouble } = useRead(
    (signal) => askApi<{ readonly findings: readonly DiagnosisLine[] }>(pathOf("diagnose", run), { signal }),
    [run.run, run.version],
  );
  const likely = (value?.findings ?? []).filter(({ evidence }) => evidence.length > 0);
  return (
    <div class="page scrolls">
      <div class="inner">
        <Signals run={run} />
        {trouble === null ? null : <Problem trouble={trouble} title="The diagnosis cannot be read" />}
        {likely.length === 0 ? null : (
          <section class="sheet card">
            <h2>Diagnosis</h2>
            {likely.map(({ likely: name, observe, response, evidence }) => (
              <div key={name}>
                <h3>{name}</h3>
                <p class="quiet">{observe}</p>
                {evidence.map((each) => (
                  <p key={each}>{each}</p>
                ))}
                <p>
                  <b>First response:</b> {response}
                </p>
              </div>
            ))}
          </section>
        )}
        <Decisions run={run} entries={entries} />
      </div>
    </div>
  );
}

const PLAIN = { paint: (_: string, text: string): string => text, width: Infinity };

function Decisions({ run, entries }: { readonly run: Shown; readonly entries: readonly TimelineEntry[] }) {
  const told = useMemo(
    () => tellEach(UNTOLD, entries, PLAIN).lines.filter(({ entry }) => DECISIONS.has(entry.kind)),
    [entries],
  );
  const at = route.value.query.get("v");
  const picked = useRef<HTMLTableRowElement>(null);
  const { some, more } = useSome(told, at === null ? -1 : told.findIndex(({ entry }) => String(entry.version) === at));
  useEffect(() => picked.current?.scrollIntoView({ block: "center" }), [at, told.length > 0]);
  return (
    <section class="sheet card">
      <h2>Decisions</h2>
      {told.length === 0 ? (
        <p class="quiet">No rule of recovery fired and no human decided: each beat followed from the one before.</p>
      ) : (
        <Wide label="Decisions">
          <table class="table">
            <thead>
              <tr>
                <th>Version</th>
                <th>When</th>
                <th>What was decided, and why</th>
                <th>Rule</th>
              </tr>
            </thead>
            <tbody>
              {some.map(({ entry, says }, index) => (
                <tr
                  key={index}
                  class={String(entry.version) === at ? "picked-row" : ""}
                  ref={String(entry.version) === at ? picked : null}
                >
                  <td>
                    <a href={hrefOf(["run", run.run], { tab: "state", v: String(entry.version) })}>v{entry.version}</a>
                  </td>
                  <td class="quiet">
                    <When at={entry.at} />
                  </td>
                  <td>
                    {says}
                    {entry.kind === "RecoveryDecided" && !says.includes(entry.why) ? (
                      <p class="quiet">{entry.why}</p>
                    ) : null}
                  </td>
                  <td class="quiet">{entry.kind === "RecoveryDecided" ? entry.rule : "–"}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Wide>
      )}
      {more}
    </section>
  );
}

function Signals({ run: { cracks } }: { readonly run: Shown }) {
  const all = Object.entries(cracks);
  if (all.length === 0) return null;
  return (
    <section class="sheet card">
      <h2>First signals of a failure</h2>
      {all.map(([crack, { times, at, why }]) => (
        <div key={crack}>
          <h3 class="warn">
            It {crackWords(crack as Crack)}
            {times > 1 ? `, ${times} times` : ""}, {relative(at, now.value)}
          </h3>
          <p>{why}</p>
        </div>
      ))}
    </section>
  );
}
