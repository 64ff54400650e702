/** Who did what to the run, from where and why. */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { askApi, base } from "../api/http.ts";
import { type ShownProblem, troubleOf } from "../api/problem.ts";
import { withEntries } from "../model/audit-list.ts";
import { cliOf, pathOf } from "../model/commands.ts";
import { Command, Loading, Problem, When, Wide } from "../parts/basics.tsx";
import type { AuditEntry, AuditPage } from "../../operations/access/audit.ts";
import type { Shown } from "../../operations/views.ts";
import { originBeside, shortJson, visible } from "../../render/words.ts";

const pageAfter = (run: string, after: string | null): Promise<AuditPage> =>
  askApi<AuditPage>(
    `${pathOf("auditLog", {})}?run=${encodeURIComponent(run)}${after === null ? "" : `&after=${encodeURIComponent(after)}`}`,
  );

/** The log of the run as far as it was read. */
function useLog({ run, version }: Shown) {
  const entries = useSignal<readonly AuditEntry[] | null>(null);
  /** The cursor behind the entries; null: these are all. */
  const next = useSignal<string | null>(null);
  const trouble = useSignal<ShownProblem | null>(null);
  const read = async (after: string | null): Promise<void> => {
    try {
      const page = await pageAfter(run, after);
      if (after !== null || entries.peek() === null) next.value = page.next;
      entries.value = withEntries(entries.peek() ?? [], page.entries);
      trouble.value = null;
    } catch (error) {
      trouble.value = troubleOf(error);
    }
  };
  useEffect(() => void read(null), [run, version]);
  return { entries, next, trouble, readAgain: () => void read(null), showOlder: () => void read(next.peek()) };
}

export function Audit({ run }: { readonly run: Shown }) {
  const { entries, next, trouble, readAgain, showOlder } = useLog(run);
  if (entries.value === null && trouble.value === null) return <Loading rows={4} />;
  return (
    <div class="page scrolls">
      <div class="inner">
        {trouble.value === null ? null : (
          <>
            <Problem trouble={trouble.value} title="The audit log cannot be read" />
            <button type="button" onClick={readAgain}>
              Read it again
            </button>
          </>
        )}
        <section class="sheet card">
          <h2>Audit log</h2>
          {entries.value === null ? null : <Entries of={entries.value} />}
          {next.value === null ? null : (
            <p>
              <button type="button" onClick={showOlder}>
                Show older entries
              </button>
            </p>
          )}
          <Command text={cliOf({ words: ["audit-log", run.run] }, base())} />
        </section>
      </div>
    </div>
  );
}

const Entries = ({ of }: { readonly of: readonly AuditEntry[] }) =>
  of.length === 0 ? (
    <p class="quiet">No operator or client has changed this run.</p>
  ) : (
    <Wide label="Entries of the audit log">
      <table class="table">
        <thead>
          <tr>
            {["When", "Who", "Operation", "About", "Why", "Outcome", "From"].map((name) => (
              <th key={name}>{name}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {of.map((entry) => (
            <tr key={entry.id}>
              <td class="quiet">
                <When at={entry.at} />
              </td>
              <td>{entry.actor}</td>
              <td>{entry.operation}</td>
              <td>
                <code>{visible(shortJson(entry.details, 120))}</code>
              </td>
              <td>{entry.why ?? "–"}</td>
              <td>{entry.outcome ?? "under way, or its process died"}</td>
              <td class="quiet">{originBeside(entry) ?? "–"}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Wide>
  );
