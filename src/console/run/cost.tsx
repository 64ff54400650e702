/** What the run costs: by model, by beat, and what its recoveries saved. */
import { useMemo } from "preact/hooks";
import { receiptOf } from "../../history/receipt.ts";
import { count, grouped } from "../../cli/render/words.ts";
import type { Shown, TimelineEntry } from "../../operations/views.ts";
import { money } from "../parts/run-row.tsx";
import { StepChart } from "../parts/step-chart.tsx";
import { rowsOf } from "../model/beats.ts";

export function Cost({ entries }: { readonly run: Shown; readonly entries: readonly TimelineEntry[] }) {
  const { lines, total, takeovers, spared } = receiptOf(entries);
  return (
    <div class="page scrolls">
      <div class="inner">
        <section class="sheet card">
          <h2>{money(total.usd)} so far</h2>
          <p>
            {takeovers === 0
              ? "No process died. A restart from the beginning would cost this again."
              : `The run was taken over ${count(takeovers, "time")} from a process that had died. Without checkpoints it would have paid ${money(spared.usd)} and made ${count(spared.toolCalls, "tool call")} again.`}
          </p>
          <div class="wide">
            <table class="table">
              <thead>
                <tr>
                  <th>For</th>
                  <th class="end">Times</th>
                  <th class="end">Tokens in</th>
                  <th class="end">Tokens out</th>
                  <th class="end">Cost</th>
                </tr>
              </thead>
              <tbody>
                {lines.map((line) => (
                  <tr key={line.for}>
                    <td>{line.for}</td>
                    <td class="end">{grouped(line.times)}</td>
                    <td class="end">{grouped(line.tokensIn)}</td>
                    <td class="end">{grouped(line.tokensOut)}</td>
                    <td class="end">{money(line.usd)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </section>
        <section class="sheet card">
          <h2>Cost of each beat</h2>
          <Chart entries={entries} />
        </section>
      </div>
    </div>
  );
}

function Chart({ entries }: { readonly entries: readonly TimelineEntry[] }) {
  const beats = useMemo(() => rowsOf(entries).filter((row) => row.kind === "beat"), [entries]);
  if (beats.length === 0) return <p class="quiet">The chart begins with the first beat.</p>;
  const dollarsOf = beats.map(({ model }) => model.microUsd / 1e6);
  const most = dollarsOf.reduce((best, usd, index) => (usd > (dollarsOf[best] ?? 0) ? index : best), 0);
  const words = (index: number): string => {
    const tokens = grouped(beats[index]?.model.tokens ?? 0);
    const upTo = dollarsOf.slice(0, index + 1).reduce((sum, usd) => sum + usd, 0);
    return `Beat ${index + 1}: ${money(dollarsOf[index] ?? 0)}, ${tokens} tokens. All beats up to it: ${money(upTo)}.`;
  };
  return (
    <StepChart
      {...{ label: "Cost of each beat", values: dollarsOf, words }}
      unit="Dollars by beat."
      format={(usd) => `$${Number(usd.toPrecision(3))}`}
      rests={`${count(beats.length, "beat")}; the dearest is beat ${most + 1} with ${money(dollarsOf[most] ?? 0)}.`}
    />
  );
}
