/** One row of the list of runs. */
import type { Damaged } from "../../ports/run-table.ts";
import type { Summary } from "../../operations/views.ts";
import { budgetWords } from "../../render/meters.ts";
import { labelsText, shortRun, titleWords } from "../../render/words.ts";
import { dollarsIn } from "../model/budget.ts";
import { groupOf, phaseWords } from "../model/groups.ts";
import { now } from "../store/clock.ts";
import { hrefOf } from "../store/route.ts";
import { When } from "./basics.tsx";
import { BudgetWarning, MeterBar } from "./budget-bar.tsx";
import { Icon, Status } from "./icons.tsx";

interface RowPlace {
  readonly index: number;
  readonly top: number;
  readonly height: number;
}

const styleOf = ({ top, height }: RowPlace) => ({ transform: `translateY(${top}px)`, height: `${height}px` });

export const money = (usd: number): string => `$${usd < 0.01 && usd > 0 ? usd.toFixed(4) : usd.toFixed(2)}`;

/** A run that waits for a human says so, not only "waiting". */
export const statusWord = (run: Pick<Summary, "status" | "phase">): string =>
  groupOf(run) === "needs" ? "needs you" : run.status;

export const RunRow = ({ run, ...place }: { readonly run: Summary } & RowPlace) => (
  <div class="row" role="listitem" data-row={place.index} style={styleOf(place)}>
    <a href={hrefOf(["run", run.run])}>
      <Status group={groupOf(run)} word={statusWord(run)} />
      <span class="who">
        <Names run={run} />
      </span>
      <span class="phase cut" title={phaseWords(run, now.value)}>
        {phaseWords(run, now.value)}
      </span>
      <span class="beats end">{run.beats}</span>
      <span class="deaths end">
        {run.takeovers === 0 ? (
          <span class="quiet">–</span>
        ) : (
          <span class="warn" title={`taken over ${run.takeovers} times from a process that had died`}>
            <Icon name="bolt" size={12} /> {run.takeovers}
          </span>
        )}
      </span>
      <Cost run={run} />
      <When at={run.lastCheckpointAt} class="when end quiet" />
    </a>
  </div>
);

/** What the run is about with its agent, its ID and its labels; without a title, these alone. */
function Names({ run: { run, agent, ...about } }: { readonly run: Summary }) {
  const title = titleWords(about);
  const who = [title === "" ? "" : agent, shortRun(run), labelsText(about.labels)].filter((word) => word !== "");
  return (
    <>
      <b class="cut" title={title}>
        {title === "" ? agent : title}
      </b>
      <span class="mono quiet cut" title={[run, labelsText(about.labels)].join(" ").trim()}>
        {who.join(" ")}
      </span>
    </>
  );
}

/** The cost so far, and where the run has a limit: of how much. */
function Cost({ run: { spent, budget } }: { readonly run: Summary }) {
  const dollars = dollarsIn(budget);
  return (
    <span class="money end" title={budgetWords(budget)}>
      <BudgetWarning budget={budget} isShort /> {money(spent.usd)}
      {dollars === null ? null : (
        <>
          <span class="quiet"> of {money(dollars.limit)}</span>
          <MeterBar of={dollars} />
        </>
      )}
    </span>
  );
}

/** A run whose row cannot be read is a row that says so, and the others stay readable. */
export const DamagedRow = ({ damaged: { run, why }, ...place }: { readonly damaged: Damaged } & RowPlace) => (
  <div class="row damaged" role="listitem" data-row={place.index} style={styleOf(place)}>
    <a href={hrefOf(["run", run])}>
      <Status group="failed" word="damaged" />
      <span class="who">
        <span class="mono cut">{shortRun(run)}</span>
      </span>
      <span class="phase cut">{why}: run npx cairn verify on it</span>
    </a>
  </div>
);
