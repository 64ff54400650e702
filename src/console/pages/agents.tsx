/** Agents: what each may do to the world, and a form that starts a run. */
import { useEffect } from "preact/hooks";
import { Empty, ShownJson, Loading, NotAllowed, Problem, Wide } from "../parts/basics.tsx";
import { askApi } from "../api/http.ts";
import { pathOf } from "../model/commands.ts";
import { useRead } from "../store/use-read.ts";
import { shortRun } from "../../render/words.ts";
import type { Shown as RunShown } from "../../operations/views.ts";
import { StartForm } from "../parts/start-form.tsx";
import { agents, agentsTrouble, readAgents } from "../store/agents.ts";
import { mayDo } from "../store/caller.ts";
import { hrefOf, route } from "../store/route.ts";
import type { DescribedAgent } from "../../operations/agents.ts";
import { EFFECTS } from "../../core/calls/effects.ts";
import { runFiguresOf } from "../model/agent-figures.ts";
import { now } from "../store/clock.ts";
import { runs, runsCut } from "../store/runs.ts";
import { money } from "../parts/run-row.tsx";

export function Agents() {
  useEffect(readAgents, []);
  const [, name] = route.value.path;
  const one = agents.value?.agents.find((each) => each.name === name);
  return (
    <section class="page scrolls" aria-label="Agents">
      <div class="inner">
        <h1>{one === undefined ? "Agents" : one.name}</h1>
        {agents.value === null ? <NotYet /> : <Shown one={one} />}
      </div>
    </section>
  );
}

const NotYet = () =>
  agentsTrouble.value === null ? (
    <Loading rows={4} />
  ) : (
    <Problem trouble={agentsTrouble.value} title="The agents cannot be read" />
  );

function Shown({ one }: { readonly one: DescribedAgent | undefined }) {
  if (one !== undefined) return <Agent of={one} />;
  const [, name] = route.value.path;
  const { agents: all = [], broken = [] } = agents.value ?? {};
  return (
    <>
      {broken.map((why) => (
        <p key={why} class="toast bad">
          {why}
        </p>
      ))}
      {name === undefined ? null : (
        <p class="toast bad">
          No agent <code>{name}</code> can be started here.
        </p>
      )}
      {all.length === 0 ? (
        <Empty title="No agent can be started here" command="npx cairn init my-project">
          The agents of cairn.config.ts appear here. This makes a project with one:
        </Empty>
      ) : (
        <ul class="agents">
          {all.map(({ name, version, topology, tools, schedule }) => (
            <li key={name}>
              <a class="sheet card" href={hrefOf(["agents", name])}>
                <span class="line">
                  <b class="grow">{name}</b>
                  <span class="quiet">version {version}</span>
                </span>
                <span class="quiet small">
                  {topology}, {tools.map(({ tool }) => tool).join(", ") || "no tools"}
                  {schedule === null ? "" : `, ${schedule.every}`}
                </span>
              </a>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

/** The form is empty, or has the task of the run that the address names. */
function StartAs({ agent }: { readonly agent: DescribedAgent }) {
  const from = route.value.query.get("from");
  const read = (signal: AbortSignal) => askApi<RunShown>(pathOf("show", { run: from ?? "" }), { signal });
  const { value, trouble } = useRead(from === null ? null : read, [from]);
  if (from !== null && value === null && trouble === null) return <Loading rows={2} />;
  const hasFiles = (value?.files ?? []).some(({ source }) => source === "task");
  return (
    <>
      {trouble === null ? null : (
        <p class="toast bad">
          The task of {from} cannot be read: {trouble.detail}
        </p>
      )}
      {value === null ? null : (
        <p class="toast">
          With the task of <a href={hrefOf(["run", value.run])}>{shortRun(value.run)}</a>
          {hasFiles ? ", without its files" : ""}. What was redacted in it has to be typed again.
        </p>
      )}
      <StartForm key={`${agent.name} ${value?.run ?? ""}`} agent={agent} first={value?.task ?? null} />
    </>
  );
}

const Agent = ({ of }: { readonly of: DescribedAgent }) => (
  <>
    <p class="quiet">
      Version {of.version}, topology {of.topology}
      {of.schedule === null ? "" : `, starts itself: ${of.schedule.every} (${of.schedule.timezone})`}.{" "}
      <a href={hrefOf(["runs"], { agent: of.name })}>Its runs</a>
    </p>
    <AgentFigures agent={of.name} />
    <section class="sheet card">
      <h2>Start a run</h2>
      {mayDo("start") ? <StartAs agent={of} /> : <NotAllowed titles={["Start"]} />}
    </section>
    <section class="sheet card">
      <h2>What follows if a process dies in a tool</h2>
      <Wide label="Tools">
        <table class="table">
          <thead>
            <tr>
              <th>Tool</th>
              <th>Effect</th>
              <th>After a death in the call</th>
            </tr>
          </thead>
          <tbody>
            {of.tools.map(({ tool, effect }) => (
              <tr key={tool}>
                <td>
                  <code>{tool}</code>
                </td>
                <td>{effect}</td>
                <td>{EFFECTS[effect].inWords}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Wide>
    </section>
    <section class="sheet card">
      <details>
        <summary>JSON Schema of its task</summary>
        <ShownJson of={of.task} />
      </details>
    </section>
  </>
);

/** On the page of an agent: its runs of the last day in figures, from the list that the page holds already. */
function AgentFigures({ agent }: { readonly agent: string }) {
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
