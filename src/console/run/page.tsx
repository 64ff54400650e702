/** One run: what it is doing, why, what it did, what it costs, and the action that unblocks it. */
import { base } from "../api/http.ts";
import { cliOf } from "../model/commands.ts";
import { useEffect } from "preact/hooks";
import { type ActionName, describe } from "../model/actions.ts";
import { offered } from "../model/allowed.ts";
import { dollarsIn } from "../model/budget.ts";
import { groupOf } from "../model/groups.ts";
import { type RunVerdict, runVerdict } from "../model/verdict.ts";
import { jsonLine, visibleText } from "../model/visible-text.ts";
import { ActionDialog } from "../parts/action-dialog.tsx";
import { BudgetWarning, MeterBar } from "../parts/budget-bar.tsx";
import { Copy, Empty, Loading, MayBeOld, Problem, ShownJson, When, Command } from "../parts/basics.tsx";
import { Icon, Status } from "../parts/icons.tsx";
import { money, statusWord } from "../parts/run-row.tsx";
import { caller, mayDo } from "../store/caller.ts";
import { now } from "../store/clock.ts";
import { openAction } from "../store/open-action.ts";
import { go, hrefOf, route } from "../store/route.ts";
import { followShown, followed } from "../store/run.ts";
import type { Shown, TimelineEntry } from "../../operations/views.ts";
import type { Json } from "../../core/json.ts";
import { count, labelTexts, short, shortRun, titleWords } from "../../render/words.ts";
import { Actions } from "./actions.tsx";
import { Audit } from "./audit.tsx";
import { Cost } from "./cost.tsx";
import { Family } from "./family.tsx";
import { StateAt } from "./state.tsx";
import { Timeline } from "./timeline.tsx";
import { Transcript } from "./transcript.tsx";
import { Why } from "./why.tsx";
import type { LivePart } from "../model/live-text.ts";
import type { RunPlaces } from "../../ports/run-places.ts";

const TABS = {
  timeline: "Timeline",
  transcript: "Transcript and ledger",
  why: "Why",
  state: "State",
  cost: "Cost",
  family: "Children and messages",
  audit: "Audit log",
} as const;

type Tab = keyof typeof TABS;

export function RunPage() {
  const [, run = ""] = route.value.path;
  useEffect(() => {
    const stop = new AbortController();
    void followShown(run, stop.signal);
    return () => stop.abort();
  }, [run]);
  const { shown = null, entries = null, trouble = null } = followed.value?.run === run ? followed.value : {};
  if (shown === null) {
    return (
      <section class="page scrolls" aria-label="Run">
        {trouble === null ? <Loading rows={10} /> : <Unshown run={run} />}
      </section>
    );
  }
  const asked = route.value.query.get("tab");
  const tab: Tab = asked !== null && Object.hasOwn(TABS, asked) ? (asked as Tab) : "timeline";
  return (
    <section class="page run" aria-label="Run">
      <MayBeOld trouble={trouble} />
      <Head run={shown} entries={entries ?? []} />
      <nav class="tabs" aria-label="Views of the run">
        {Object.entries(TABS).map(([name, word]) => (
          <a key={name} href={hrefOf(["run", run], { tab: name })} aria-current={name === tab ? "page" : undefined}>
            {word}
          </a>
        ))}
      </nav>
      <LiveText />
      {entries === null ? <Loading /> : <View tab={tab} run={shown} entries={entries} />}
    </section>
  );
}

function View({ tab, ...of }: { readonly tab: Tab; readonly run: Shown; readonly entries: readonly TimelineEntry[] }) {
  switch (tab) {
    case "timeline":
      return <Timeline {...of} />;
    case "transcript":
      return <Transcript {...of} />;
    case "why":
      return <Why {...of} />;
    case "state":
      return <StateAt {...of} />;
    case "cost":
      return <Cost {...of} />;
    case "family":
      return <Family {...of} />;
    case "audit":
      return <Audit {...of} />;
  }
}

const Unshown = ({ run }: { readonly run: string }) => {
  const trouble = followed.value?.trouble ?? null;
  if (trouble === null) return null;
  if (trouble.status !== 404) return <Problem isPage trouble={trouble} title="This run cannot be shown" />;
  return (
    <Empty isPage title="There is no such run" command={cliOf({ words: ["show", run] }, base())}>
      It may have been purged, or it belongs to another tenant or store. <a href={hrefOf(["runs"])}>Show the runs</a>
    </Empty>
  );
};

function Head({ run, entries }: { readonly run: Shown; readonly entries: readonly TimelineEntry[] }) {
  useEffect(() => () => void (openAction.value = null), [run.run]);
  const verdict = runVerdict(run, now.value);
  return (
    <header class="run-head">
      <div class="line">
        <h1>{run.agent}</h1>
        <span>{titleWords(run)}</span>
        <Status group={groupOf(run)} word={statusWord(run)} />
        <span class="line tight quiet">
          <code class="cut">{run.run}</code>
          <Copy text={run.run} />
        </span>
      </div>
      <div class={`verdict ${groupOf(run)}`}>
        <p role="status">{visibleText(verdict.says)}</p>
        <Primary run={run} verdict={verdict} onAction={(name) => (openAction.value = name)} />
      </div>
      <TaskAndResult run={run} />
      <Facts run={run} />
      <Places aws={run.aws} />
      <Actions run={run} primary={verdict.action} onAction={(name) => (openAction.value = name)} />
      {openAction.value === null ? null : (
        // Another action is another dialog, and not the one before with other words.
        <ActionDialog
          key={openAction.value}
          name={openAction.value}
          run={run}
          entries={entries}
          onClose={() => (openAction.value = null)}
        />
      )}
    </header>
  );
}

/** The one action that unblocks the run. */
function Primary({
  verdict,
  run,
  onAction,
}: {
  readonly run: Shown;
  readonly verdict: RunVerdict;
  readonly onAction: (name: ActionName) => void;
}) {
  const { action } = verdict;
  if (action === null) return null;
  if (action === "review" || action === "answer" || action === "reconcile") {
    const words = { review: "Review and decide", answer: "Answer", reconcile: "Reconcile" }[action];
    return (
      <button type="button" class="primary" onClick={() => go(["needs"], { run: run.run })}>
        {words}
      </button>
    );
  }
  return (
    <button
      type="button"
      class="primary"
      disabled={offered(action, caller.value) !== "yes"}
      onClick={() => onAction(action)}
    >
      {describe(action, run).title}
    </button>
  );
}

/** What it was asked and what came of it, without a search for them in a view. */
const TaskAndResult = ({ run: { task, result, agent, run, inProgress } }: { readonly run: Shown }) => (
  <dl class="facts task">
    <dt>task</dt>
    <dd>
      <Excerpt value={task} />
      {inProgress || !mayDo("start") ? null : (
        <>
          {" "}
          <a href={hrefOf(["agents", agent], { from: run })}>Start again with this input</a>
        </>
      )}
    </dd>
    {result === null ? null : (
      <>
        <dt>result</dt>
        <dd>
          <Excerpt value={result} />
        </dd>
      </>
    )}
  </dl>
);

const EXCERPT_CHARACTERS = 160;

/** Its beginning; a click shows the rest. */
function Excerpt({ value }: { readonly value: Json }) {
  const words = jsonLine(value);
  if (words.length <= EXCERPT_CHARACTERS) return <code>{visibleText(words)}</code>;
  return (
    <details>
      <summary>
        <code>{visibleText(short(words, EXCERPT_CHARACTERS))}</code>
      </summary>
      <ShownJson of={value} />
    </details>
  );
}

function Facts({ run }: { readonly run: Shown }) {
  const dollars = dollarsIn(run.budget);
  const { spent, beats, takeovers, agentVersion, version, startedBy, createdAt, lastCheckpointAt, parent } = run;
  return (
    <ul class="run-facts">
      <li>
        <b>{money(spent.usd)}</b>{" "}
        {dollars === null ? null : (
          <>
            of {money(dollars.limit)} <MeterBar of={dollars} />{" "}
          </>
        )}
        <BudgetWarning budget={run.budget} beside="usd" />
      </li>
      <li>{count(spent.tokensIn + spent.tokensOut, "token")}</li>
      <li>
        {count(beats, "beat")}, version {version}
      </li>
      <li class={takeovers > 0 ? "warn" : ""}>
        {takeovers > 0 ? <Icon name="bolt" size={12} /> : null} {count(takeovers, "takeover")}
      </li>
      <li>
        started <When at={createdAt} />
        {startedBy === null ? "" : ` by ${startedBy}`}
      </li>
      {run.firing == null ? null : (
        <li>
          due <When at={run.firing.dueAt} />
          {run.firing.makesUp ? ", makes up for a missed time" : ""}
        </li>
      )}
      <li>
        checkpoint <When at={lastCheckpointAt} />
      </li>
      <li>agent version {agentVersion}</li>
      {labelTexts(run.labels).map((label) => (
        <li key={label}>
          <a href={hrefOf(["runs"], { label })}>{label}</a>
        </li>
      ))}
      {run.assigned === null ? null : <li>assigned to {run.assigned.to}</li>}
      {parent === null ? null : (
        <li>
          child of{" "}
          <a href={hrefOf(["run", parent])} title={parent}>
            <code>{shortRun(parent)}</code>
          </a>
        </li>
      )}
      {run.standing.length === 0 ? null : <li>still stands: {run.standing.join(", ")}</li>}
      {run.forkedFrom === null ? null : (
        <li>
          <a href={hrefOf(["run", run.forkedFrom.run])}>forked at version {run.forkedFrom.version}</a>
        </li>
      )}
    </ul>
  );
}

const LOST = {
  takeover: "Lost with its process. Another process takes over, and asks the model again.",
  noReply: "Lost: the call failed or broke off, and the model is asked again.",
} as const;

/** The reply that streams now, marked as not final. It is kept nowhere: a page that opens later does not have it. */
function LiveText() {
  const step = followed.value?.live ?? null;
  if (step === null) return null;
  return (
    <section class={`live-text ${step.lost === null ? "" : "lost"}`} aria-label="What the model says now">
      <p class="small quiet" role="status">
        {step.lost === null ? "The model speaks. This is not final until it is recorded." : LOST[step.lost]}
      </p>
      <div class="live-words" tabIndex={0} role="region" aria-label="Its words">
        {step.parts.map((part, index) => (
          <Words key={index} part={part} />
        ))}
        {step.isCut ? <p class="quiet">…the rest comes with the reply</p> : null}
      </div>
    </section>
  );
}

const Words = ({ part: { kind, tool, text } }: { readonly part: LivePart }) =>
  kind === "call" ? (
    <p>
      <span class="quiet">calls</span> <b>{tool ?? "a tool"}</b> <code>{visibleText(text)}</code>
    </p>
  ) : (
    <p class={kind === "reasoning" ? "quiet" : ""}>{visibleText(text)}</p>
  );

/** Where the run is in the services of AWS. In other worlds there is nothing to open. */
function Places({ aws }: { readonly aws: RunPlaces | null }) {
  if (aws === null) return null;
  const { executionArn, executionUrl, objects, table, rowKey, logsQuery, logGroups } = aws;
  return (
    <details class="places">
      <summary>In AWS</summary>
      <dl class="facts">
        <dt>Execution</dt>
        <dd>
          {executionUrl === null ? null : (
            <a href={executionUrl} target="_blank" rel="noopener noreferrer">
              Open in Step Functions
            </a>
          )}
          <Command text={executionArn} />
        </dd>
        <dt>Objects</dt>
        <dd>
          <Command text={objects} />
        </dd>
        <dt>Row</dt>
        <dd>
          <Command text={`aws dynamodb get-item --table-name ${table} --key '${rowKey}'`} />
        </dd>
        <dt>Log</dt>
        <dd>
          <Command text={logsQuery} />
          <p class="small quiet">A query of CloudWatch Logs Insights, for the groups {logGroups.join(", ")}</p>
        </dd>
      </dl>
    </details>
  );
}
