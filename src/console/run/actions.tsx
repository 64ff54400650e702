/** The buttons of a run. What the server refuses in any case is not offered: the reason stands below, with what to type. */
import { type ActionName, actionsOf, describe } from "../model/actions.ts";
import { offered } from "../model/allowed.ts";
import { commandLine } from "../../render/words.ts";
import { Command, NotAllowed } from "../parts/basics.tsx";
import { caller } from "../store/caller.ts";
import type { Shown } from "../../operations/views.ts";
import { Export } from "./export.tsx";

export function Actions({
  run,
  primary,
  onAction,
}: {
  readonly run: Shown;
  /** The action that the head of the page shows already; null: none. */
  readonly primary: string | null;
  readonly onAction: (name: ActionName) => void;
}) {
  const names = actionsOf(run);
  const without = (why: "server" | "caller"): readonly ActionName[] =>
    names.filter((name) => offered(name, caller.value) === why);
  const titles = without("caller").map((name) => describe(name, run).title);
  return (
    <>
      <div class="line tight actions">
        {names
          .filter((name) => name !== primary && offered(name, caller.value) === "yes")
          .map((name) => (
            <button
              key={name}
              type="button"
              class={describe(name, run).isDangerous ? "danger" : ""}
              onClick={() => onAction(name)}
            >
              {describe(name, run).title}
            </button>
          ))}
        <Export run={run.run} />
      </div>
      <NotAllowed titles={titles} />
      {without("server").map((name) => (
        <NotHere key={name} name={name} run={run} />
      ))}
    </>
  );
}

/** The server has no route for it: an operator does it with rights of their own. */
const NotHere = ({ name, run }: { readonly name: ActionName; readonly run: Shown }) => (
  <details class="small">
    <summary>{describe(name, run).title} is not possible here</summary>
    <p>
      No function of this deployment may do it, so that a fault in one of them cannot. Type it with your own rights on
      AWS, where CAIRN_WORLD=aws and the names of the deployment are set:
    </p>
    <Command text={commandLine(describe(name, run).request("", false).words)} />
  </details>
);
