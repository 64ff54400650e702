/** Who did what to the run, from where and why. */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { ask } from "../api/http.ts";
import { type Trouble, troubleOf } from "../api/problem.ts";
import { Command, Loading, Problem, When } from "../parts/basics.tsx";
import type { AuditEntry } from "../../operations/access/audit.ts";
import type { Shown } from "../../operations/views.ts";
import { shortJson } from "../../cli/render/words.ts";

export function Audit({ run }: { readonly run: Shown }) {
  const entries = useSignal<readonly AuditEntry[] | null>(null);
  const trouble = useSignal<Trouble | null>(null);
  useEffect(() => {
    ask<{ readonly entries: readonly AuditEntry[] }>(`/audit-log?run=${encodeURIComponent(run.run)}`)
      .then((page) => (entries.value = page.entries))
      .catch((error: unknown) => (trouble.value = troubleOf(error)));
  }, [run.run, run.version]);
  if (trouble.value !== null) return <Problem trouble={trouble.value} title="The audit log cannot be read" />;
  if (entries.value === null) return <Loading rows={4} />;
  return (
    <div class="page scrolls">
      <div class="inner">
        <section class="sheet card">
          <h2>Audit log</h2>
          {entries.value.length === 0 ? (
            <p class="quiet">No operator or client has changed this run.</p>
          ) : (
            <div class="wide">
              <table class="table">
                <thead>
                  <tr>
                    {["When", "Who", "Operation", "About", "Why", "Outcome", "From"].map((name) => (
                      <th key={name}>{name}</th>
                    ))}
                  </tr>
                </thead>
                <tbody>
                  {entries.value.map((entry) => (
                    <tr key={entry.id}>
                      <td class="quiet">
                        <When at={entry.at} />
                      </td>
                      <td>{entry.actor}</td>
                      <td>{entry.operation}</td>
                      <td>
                        <code>{shortJson(entry.details, 120)}</code>
                      </td>
                      <td>{entry.why ?? "–"}</td>
                      <td>{entry.outcome ?? "under way, or its process died"}</td>
                      <td class="quiet">{entry.from ?? "–"}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          )}
          <Command text={`npx cairn audit-log ${run.run}`} />
        </section>
      </div>
    </div>
  );
}
