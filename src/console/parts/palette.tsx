/** Ctrl K: finds pages, agents and runs by a part of their name. */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { actionsOf, describe } from "../model/actions.ts";
import { offered } from "../model/allowed.ts";
import { type Findable, findAmong } from "../model/find.ts";
import { phaseWords } from "../model/groups.ts";
import { agents, readAgents } from "../store/agents.ts";
import { caller } from "../store/caller.ts";
import { now } from "../store/clock.ts";
import { openAction } from "../store/open-action.ts";
import { go, route } from "../store/route.ts";
import { followed } from "../store/run.ts";
import { runs } from "../store/runs.ts";
import { Dialog } from "./dialog.tsx";
import { paletteShown } from "./keys.ts";

const PAGES: readonly Findable[] = [
  { title: "Runs", says: "page", path: ["runs"] },
  { title: "Needs me", says: "page: approvals, questions, unknown outcomes", path: ["needs"] },
  { title: "Failed runs", says: "filter", path: ["runs"], query: { group: "failed" } },
  { title: "Runs that outlived a process", says: "filter", path: ["runs"], query: { takenOver: "1" } },
  { title: "Schedules", says: "page", path: ["schedules"] },
  { title: "Agents", says: "page: tools, start a run", path: ["agents"] },
  { title: "Health", says: "page: checks, spend, webhooks", path: ["health"] },
  { title: "Settings", says: "page: theme, token", path: ["settings"] },
];

export function Palette() {
  const text = useSignal("");
  const at = useSignal(0);
  useEffect(readAgents, []);
  const found = findAmong([...actionsFound(), ...PAGES, ...agentsFound(), ...runsFound()], text.value);
  const close = (): void => {
    paletteShown.value = false;
  };
  const open = (each: Findable | undefined): void => {
    if (each === undefined) return;
    close();
    if (each.action === undefined) go(each.path, each.query);
    else openAction.value = each.action;
  };
  const pressed = (event: KeyboardEvent): void => {
    if (event.key === "ArrowDown") at.value = Math.min(found.length - 1, at.value + 1);
    else if (event.key === "ArrowUp") at.value = Math.max(0, at.value - 1);
    else if (event.key === "Enter") open(found[at.value]);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog label="Find" onClose={close}>
      <div class="palette">
        <input
          type="text"
          role="combobox"
          aria-label="Find a run, an agent or a page"
          aria-expanded="true"
          aria-controls="found"
          aria-activedescendant={found.length === 0 ? undefined : `found-${at.value}`}
          placeholder="Run ID, agent or page"
          autocomplete="off"
          autofocus
          onInput={(event) => {
            text.value = event.currentTarget.value;
            at.value = 0;
          }}
          onKeyDown={pressed}
        />
        <ul id="found" role="listbox" aria-label="Found">
          {found.map((each, index) => (
            <li
              key={`${each.path.join("/")} ${each.title}`}
              id={`found-${index}`}
              role="option"
              aria-selected={index === at.value}
              onClick={() => open(each)}
              onMouseMove={() => (at.value = index)}
            >
              <span class="cut">{each.title}</span>
              <span class="cut quiet small">{each.says}</span>
            </li>
          ))}
        </ul>
        {found.length === 0 ? <p class="quiet none">No page, agent or run has this in its name.</p> : null}
      </div>
    </Dialog>
  );
}

/** The actions of the run that the page shows. */
function actionsFound(): readonly Findable[] {
  const [page, run = ""] = route.value.path;
  const shown = page === "run" && followed.value?.run === run ? followed.value.shown : null;
  if (shown === null) return [];
  const possible = actionsOf(shown).filter((action) => offered(action, caller.value) === "yes");
  return possible.map((action) => ({
    title: describe(action, shown).title,
    says: `action: ${describe(action, shown).says}`,
    path: ["run", run],
    action,
  }));
}

const agentsFound = (): readonly Findable[] =>
  (agents.value?.agents ?? []).map(({ name, version }) => ({
    title: name,
    says: `agent, version ${version}: start a run`,
    path: ["agents", name],
  }));

const runsFound = (): readonly Findable[] =>
  (runs.value?.runs ?? []).map((run) => ({
    title: run.run,
    says: `${run.agent}: ${phaseWords(run, now.peek())}`,
    path: ["run", run.run],
  }));
