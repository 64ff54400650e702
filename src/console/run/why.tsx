/** Why the run did what it did: each rule that fired and what it saw, first signals of failures, and the diagnosis. */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { ask } from "../api/http.ts";
import { runPath } from "../model/commands.ts";
import { When } from "../parts/basics.tsx";
import { hrefOf } from "../store/route.ts";
import { UNTOLD, tellEach } from "../../cli/render/timeline.ts";
import { crackWords, relative } from "../../cli/render/words.ts";
import type { Crack } from "../../core/crack.ts";
import type { Finding } from "../../operations/diagnose.ts";
import type { Shown, TimelineEntry } from "../../operations/views.ts";
import { now } from "../store/clock.ts";

const DECIDES: ReadonlySet<TimelineEntry["kind"]> = new Set([
  ...(["RecoveryDecided", "CheckFailed", "CrackSignalled", "TopologyMoved", "ApprovalRequested"] as const),
  ...(["HumanApprovalReceived", "ToolResultReconciled", "DecisionIgnored"] as const),
]);

export function Why({ run, entries }: { readonly run: Shown; readonly entries: readonly TimelineEntry[] }) {
  const findings = useSignal<readonly Finding[]>([]);
  useEffect(() => {
    ask<{ readonly findings: readonly Finding[] }>(`${runPath(run.run)}/diagnosis`)
      .then((shown) => (findings.value = shown.findings))
      .catch(() => (findings.value = []));
  }, [run.run, run.version]);
  const likely = findings.value.filter(({ evidence }) => evidence.length > 0);
  return (
    <div class="page scrolls">
      <div class="inner">
        <Signals run={run} />
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

function Decisions({ run, entries }: { readonly run: Shown; readonly entries: readonly TimelineEntry[] }) {
  const plain = { paint: (_: string, text: string): string => text, width: Infinity };
  const told = tellEach(UNTOLD, entries, plain).lines.filter(({ entry }) => DECIDES.has(entry.kind));
  return (
    <section class="sheet card">
      <h2>Decisions</h2>
      {told.length === 0 ? (
        <p class="quiet">No rule of recovery fired and no human decided: each beat followed from the one before.</p>
      ) : (
        <div class="wide">
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
              {told.map(({ entry, says }, index) => (
                <tr key={index}>
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
        </div>
      )}
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
