/**
 * Saves the export of a run. A link sends no token, so with a token the page asks for the export itself. A large export of
 * a deployment is at a signed URL, whose answer is saved by the browser: no script reads it.
 */
import { useSignal } from "@preact/signals";
import { documentOf, sendToApi, token } from "../api/http.ts";
import { pathOf } from "../model/commands.ts";
import { ApiError, UNREACHABLE, type ShownProblem, troubleOf } from "../api/problem.ts";

type Saving = "no" | "yes" | ShownProblem;

export function Export({ run }: { readonly run: string }) {
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
