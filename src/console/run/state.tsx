/** The state of the run at any version, and what changed since another one. */
import { useSignal } from "@preact/signals";
import { Fragment } from "preact";
import { useMemo } from "preact/hooks";
import { askApi } from "../api/http.ts";
import { pathOf } from "../model/commands.ts";
import { type JsonChange, diff } from "../model/diff.ts";
import { ActionDialog } from "../parts/action-dialog.tsx";
import { ShownJson, Loading, Problem, Wide } from "../parts/basics.tsx";
import { useSome } from "../parts/some.tsx";
import { mayDo } from "../store/caller.ts";
import { route, setQuery } from "../store/route.ts";
import { useRead } from "../store/use-read.ts";
import type { SnapshotShown } from "../../operations/snapshot.ts";
import type { Shown, TimelineEntry } from "../../operations/views.ts";
import { count, grouped, shortJson, visible } from "../../render/words.ts";
import type { Json as JsonValue } from "../../core/json.ts";

interface Both {
  readonly at: number;
  readonly against: number;
  readonly now: SnapshotShown["state"];
  readonly before: SnapshotShown["state"] | null;
}

export function StateAt({ run, entries }: { readonly run: Shown; readonly entries: readonly TimelineEntry[] }) {
  const forks = useSignal(false);
  const at = Math.min(run.version, numberOf("v") ?? run.version);
  const against = Math.min(run.version, numberOf("against") ?? Math.max(1, at - 1));
  const { value: both, trouble } = useRead(
    async (signal): Promise<Both> => {
      const read = async (version: number) =>
        (await askApi<SnapshotShown>(pathOf("snapshot", { run: run.run, version }), { signal })).state;
      const [state, before] = await Promise.all([read(at), against >= 1 && against !== at ? read(against) : null]);
      return { at, against, now: state, before };
    },
    [run.run, at, against],
  );
  return (
    <div class="page scrolls">
      <div class="inner">
        <section class="sheet card">
          <div class="line">
            <Version name="v" label="Version" value={at} max={run.version} />
            <Version name="against" label="Compared with" value={against} max={run.version} />
            {mayDo("fork") ? (
              <button type="button" onClick={() => (forks.value = true)}>
                Fork from version {at}
              </button>
            ) : null}
          </div>
          {trouble === null ? null : <Problem trouble={trouble} title="This version cannot be shown" />}
          {both === null ? <Loading rows={4} /> : <Changes {...both} />}
        </section>
        {both === null ? null : (
          <section class="sheet card">
            <h2>State at version {both.at}</h2>
            {Object.entries(both.now).map(([field, value]) => (
              <Field key={field} name={field} value={value} />
            ))}
          </section>
        )}
      </div>
      {forks.value ? (
        <ActionDialog
          name="fork"
          run={{ ...run, version: at }}
          entries={entries}
          onClose={() => (forks.value = false)}
        />
      ) : null}
    </div>
  );
}

function numberOf(name: string): number | null {
  const text = route.value.query.get(name) ?? "";
  return /^\d{1,9}$/.test(text) ? Number(text) : null;
}

const Version = ({
  label,
  max,
  value,
  name,
}: {
  readonly name: string;
  readonly label: string;
  readonly value: number;
  readonly max: number;
}) => (
  <label class="field">
    <span>
      {label}, 1 to {max}
    </span>
    <input
      type="number"
      min={1}
      max={max}
      value={value}
      onChange={(event) => {
        const query = new URLSearchParams(route.peek().query);
        query.set(name, event.currentTarget.value);
        setQuery(query);
      }}
    />
  </label>
);

function Changes({ now, before, against }: Both) {
  const changes = useMemo(() => (before === null ? [] : diff(before, now)), [before, now]);
  const { some, more } = useSome(changes);
  if (before === null) return <p class="quiet">Choose another version to compare with.</p>;
  return (
    <>
      <h2>
        {count(changes.length, "change")} since version {against}
      </h2>
      <Wide label="Changes">
        <table class="table diff">
          <tbody>
            {some.map((change) => (
              <tr key={change.path}>
                <td>
                  <code>{breakable(change.path)}</code>
                </td>
                <td>
                  <ChangeOf change={change} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Wide>
      {more}
    </>
  );
}

/** A long name breaks between its words, and not inside of one. */
const breakable = (path: string) =>
  path.split(/(?<=[.\]])|(?<=[a-z])(?=[A-Z])/).map((part, index) => (
    <Fragment key={index}>
      {index === 0 ? null : <wbr />}
      {part}
    </Fragment>
  ));

const text = (value: unknown): string => (value === undefined ? "" : visible(shortJson(value as JsonValue, 400)));

const ChangeOf = ({ change: { kind, before, after } }: { readonly change: JsonChange }) => (
  <>
    {kind === "added" ? null : (
      <code class="removed">
        <span aria-label="before">− </span>
        {text(before)}
      </code>
    )}
    {kind === "changed" ? <br /> : null}
    {kind === "removed" ? null : (
      <code class="added">
        <span aria-label="after">+ </span>
        {text(after)}
      </code>
    )}
  </>
);

function Field({ name, value }: { readonly name: string; readonly value: unknown }) {
  const open = useSignal(false);
  if (typeof value !== "object" || value === null || Object.keys(value).length === 0)
    return (
      <p>
        <code class="quiet">{name}</code> <code>{text(value)}</code>
      </p>
    );
  return (
    <details onToggle={(event) => (open.value = event.currentTarget.open)}>
      <summary>
        <code>{name}</code> {count(Object.keys(value).length, Array.isArray(value) ? "item" : "field")}
      </summary>
      {open.value ? <Part value={value} /> : null}
    </details>
  );
}

/** A browser takes long to lay out more text than this. */
const SHOWN_CHARACTERS = 200_000;

function Part({ value }: { readonly value: unknown }) {
  const json = JSON.stringify(value, null, 2);
  const left = json.length - SHOWN_CHARACTERS;
  return (
    <>
      <ShownJson of={left > 0 ? json.slice(0, SHOWN_CHARACTERS) : json} />
      {left > 0 ? (
        <p class="quiet">{grouped(left)} more characters are left out: npx cairn snapshot RUN VERSION has all.</p>
      ) : null}
    </>
  );
}
