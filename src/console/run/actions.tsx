/**
 * The buttons of a run. What the server refuses in any case is not offered: the reason stands below, with what to type.
 */
import { type ActionName, actionsOf, describe } from "../model/actions.ts";
import { offered } from "../model/allowed.ts";
import { commandLine } from "../../render/words.ts";
import { Command, NotAllowed } from "../parts/basics.tsx";
import { caller } from "../store/caller.ts";
import type { Shown } from "../../operations/views.ts";
import { useSignal } from "@preact/signals";
import { documentOf, sendToApi, token } from "../api/http.ts";
import { pathOf } from "../model/commands.ts";
import { ApiError, UNREACHABLE, type ShownProblem, troubleOf } from "../api/problem.ts";

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

type Saving = "no" | "yes" | ShownProblem;

/**
 * Saves the export of a run. A link sends no token, so with a token the page asks for the export itself. A large export
 * of a deployment is at a signed URL, whose answer is saved by the browser: no script reads it.
 */
function Export({ run }: { readonly run: string }) {
  const saving = useSignal<Saving>("no");
  const path = pathOf("export", { run });
  if (token === null) {
    return (
      <a class="button" href={`.${path}`} download={`${run}.jsonl`}>
        Export
      </a>
    );
  }
  const save = (): void => {
    saving.value = "yes";
    saved(`${path}?redirect=false`, `${run}.jsonl`)
      .then(() => (saving.value = "no"))
      .catch((error: unknown) => (saving.value = troubleOf(error)));
  };
  return (
    <>
      <button type="button" disabled={saving.value === "yes"} onClick={save}>
        {saving.value === "yes" ? "Exporting …" : "Export"}
      </button>
      {typeof saving.value === "string" ? null : (
        <span class="bad small" role="alert">
          Not exported: {saving.value.detail}
        </span>
      )}
    </>
  );
}

async function saved(path: string, name: string): Promise<void> {
  const response = await sendToApi(path);
  const isDocument = /[/+]json\b/.test(response.headers.get("content-type") ?? "");
  if (!response.ok || isDocument) {
    const { location } = await documentOf<{ readonly location: string }>(response);
    return follow(location, "");
  }
  const bytes = await response.blob().catch(() => {
    throw new ApiError({ ...UNREACHABLE, detail: "The connection broke off, and nothing was saved. Try again." });
  });
  const url = URL.createObjectURL(bytes);
  follow(url, name);
  URL.revokeObjectURL(url);
}

/** Follows a link whose answer is an attachment, so the page stays. */
function follow(href: string, name: string): void {
  const link = document.createElement("a");
  Object.assign(link, { href, download: name });
  link.click();
}
