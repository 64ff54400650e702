/** What the run costs: by model, by beat, and what its recoveries saved. */
import { useMemo } from "preact/hooks";
import { askApi } from "../api/http.ts";
import { grantedWords, meterWords } from "../../render/meters.ts";
import type { AwsShare as AwsBill } from "../../history/aws-share.ts";
import type { RunReceipt } from "../../history/run-receipt.ts";
import { receiptOf } from "../../history/receipt.ts";
import { count, grouped } from "../../render/words.ts";
import type { Shown, TimelineEntry } from "../../operations/views.ts";
import { LEVEL_WORDS, type MeterLevel, levelOf, shareOf } from "../model/budget.ts";
import { pathOf } from "../model/commands.ts";
import { Wide } from "../parts/basics.tsx";
import { MeterBar } from "../parts/budget-bar.tsx";
import { Icon } from "../parts/icons.tsx";
import { money } from "../parts/run-row.tsx";
import { StepChart } from "../parts/step-chart.tsx";
import { rowsOf } from "../model/beats.ts";
import { useRead } from "../store/use-read.ts";

export function Cost({ run, entries }: { readonly run: Shown; readonly entries: readonly TimelineEntry[] }) {
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
          <Wide label="Cost by model">
            <table class="table costs">
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
          </Wide>
        </section>
        <Budget run={run} />
        <AwsShare run={run} />
        <section class="sheet card">
          <h2>Cost of each beat</h2>
          <Chart entries={entries} />
        </section>
      </div>
    </div>
  );
}

/** Each limit of the run as it holds now, with what operators granted. */
function Budget({ run: { budget, granted } }: { readonly run: Shown }) {
  if (budget.length === 0) return null;
  return (
    <section class="sheet card">
      <h2>Budget</h2>
      <ul class="budget">
        {budget.map((each) => (
          <li key={each.meter}>
            <span>{meterWords(each)}</span>
            <MeterBar of={each} />
            <span class={LEVEL_CLASS[levelOf(each)]}>
              {levelOf(each) === "fine" ? null : <Icon name="needs" size={12} />}{" "}
              {LEVEL_WORDS[levelOf(each)] || `${Math.floor(shareOf(each) * 100)} % used`}
            </span>
          </li>
        ))}
      </ul>
      {granted === null ? null : <p class="quiet">Of this, operators granted {grantedWords(granted)}.</p>}
    </section>
  );
}

const LEVEL_CLASS: { readonly [L in MeterLevel]: string } = { fine: "quiet", near: "warn", used: "bad" };

/** What the run takes of AWS by item. No request is counted, so it is an estimate, and says from when its prices are. */
function AwsShare({ run }: { readonly run: Shown }) {
  const { value, trouble } = useRead(
    (signal) => askApi<{ readonly receipt: RunReceipt }>(pathOf("cost", run), { signal }),
    [run.run, run.beats, run.status],
  );
  const isHere = run.aws !== null;
  return (
    <section class="sheet card">
      <h2>{isHere ? "Services of AWS, estimated" : "On AWS it would take, estimated"}</h2>
      {trouble === null ? null : <p class="bad">It cannot be read: {trouble.detail}</p>}
      {value === null ? null : <AwsLines of={value.receipt.aws} />}
    </section>
  );
}

const AwsLines = ({ of: { lines, usd, region, pricesOf } }: { readonly of: AwsBill }) => (
  <>
    <Wide label="Services of AWS">
      <table class="table">
        <thead>
          <tr>
            <th>Item</th>
            <th class="end">Count</th>
            <th class="end">Cost</th>
          </tr>
        </thead>
        <tbody>
          {lines.map((line) => (
            <tr key={line.item}>
              <td>{line.item}</td>
              <td class="end">{Number.isInteger(line.count) ? grouped(line.count) : line.count.toFixed(3)}</td>
              <td class="end">{fraction(line.usd)}</td>
            </tr>
          ))}
          <tr>
            <td>
              <b>In all</b>
            </td>
            <td />
            <td class="end">
              <b>{fraction(usd)}</b>
            </td>
          </tr>
        </tbody>
      </table>
    </Wide>
    <p class="small quiet">
      Derived from the log of the run, not counted; list prices of {region} on {pricesOf}. It is not part of the cost
      above.
    </p>
  </>
);

/** A run takes fractions of a cent. */
const fraction = (usd: number): string => (usd > 0 && usd < 5e-7 ? "under $0.000001" : `$${usd.toFixed(6)}`);

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
