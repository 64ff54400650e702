/** Agents: what each may do to the world, and a form that starts a run. */
import { useEffect } from "preact/hooks";
import { Empty, ShownJson, Loading, NotAllowed, Problem, Wide } from "../parts/basics.tsx";
import { AgentFigures } from "../parts/agent-figures.tsx";
import { StartForm } from "../parts/start-form.tsx";
import { agents, agentsTrouble, readAgents } from "../store/agents.ts";
import { mayDo } from "../store/caller.ts";
import { hrefOf, route } from "../store/route.ts";
import type { DescribedAgent } from "../../operations/agents.ts";
import { EFFECTS } from "../../core/calls/effects.ts";

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
      {mayDo("start") ? <StartForm key={of.name} agent={of} /> : <NotAllowed titles={["Start"]} />}
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
