/** One action for the runs that match: which it asks is shown before the click, what came of each after it. */
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Summary } from "../../operations/views.ts";
import { describe } from "../model/actions.ts";
import { BULK_ACTIONS, BULK_MAX, type BulkAction, sendEach, whyNot } from "../model/bulk.ts";
import { type ActionProgress, sendAction } from "../store/act.ts";
import { mayDo } from "../store/caller.ts";
import { Field } from "./action-dialog.tsx";
import { Dialog } from "./dialog.tsx";

/** `runs` stays as it is while the dialog is open, so that a click means the runs that the operator has read. */
export function BulkDialog(props: { readonly runs: readonly Summary[]; readonly onClose: () => void }) {
  const runs = props.runs.slice(0, BULK_MAX);
  const offers = BULK_ACTIONS.filter(mayDo);
  const name = useSignal<BulkAction>(offers[0] ?? "pause");
  const why = useSignal("");
  const left = useSignal<ReadonlySet<string>>(new Set());
  const { sent, sendTo } = useSending();
  const asked = runs.filter((run) => whyNot(name.value, run) === null && !left.value.has(run.run));
  const { title, says, field, isDangerous } = describe(name.value, { run: "", version: 0 });
  const fates = sent.value;
  const done = [...(fates?.values() ?? [])].filter(({ kind }) => kind !== "sending");
  const refused = done.filter(({ kind }) => kind === "refused").length;
  return (
    <Dialog label="Act on runs" onClose={props.onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void sendTo(asked, name.peek(), why.peek().trim());
        }}
      >
        <h2>Act on runs</h2>
        <select
          aria-label="Action"
          disabled={fates !== null}
          value={name.value}
          onChange={(event) => (name.value = event.currentTarget.value as BulkAction)}
        >
          {offers.map((each) => (
            <option key={each} value={each}>
              {each}
            </option>
          ))}
        </select>
        <p>{says}</p>
        {field === null ? null : <Field {...field} text={why.value} onText={(value) => (why.value = value)} />}
        {props.runs.length > BULK_MAX ? (
          <p class="warn">
            These are the newest {BULK_MAX} of {props.runs.length}.
          </p>
        ) : null}
        <Choice
          {...{ runs, asked, fates, name: name.value }}
          onToggle={(run) => (left.value = toggled(left.peek(), run))}
        />
        <div class="foot">
          <span role="status">
            {fates === null ? "" : `${done.length} of ${asked.length} answered, ${refused} refused`}
          </span>
          <button type="button" onClick={props.onClose}>
            {fates !== null && done.length < asked.length ? "Stop" : "Close"}
          </button>
          {fates !== null ? null : (
            <button
              type="submit"
              class={isDangerous ? "danger" : "primary"}
              disabled={asked.length === 0 || (field?.must === true && why.value.trim() === "")}
            >
              {title} {asked.length}
            </button>
          )}
        </div>
      </form>
    </Dialog>
  );
}

/** Sends the action to each run once. A dialog that was closed sends no more. */
function useSending() {
  /** Null until the click. It never goes back, so no second click is invited. */
  const sent = useSignal<ReadonlyMap<string, ActionProgress> | null>(null);
  const stopped = useRef(false);
  useEffect(() => () => void (stopped.current = true), []);
  const sendTo = async (runs: readonly Summary[], name: BulkAction, text: string): Promise<void> => {
    if (sent.peek() !== null) return;
    const set = (run: string, fate: ActionProgress): void => void (sent.value = new Map(sent.peek()).set(run, fate));
    sent.value = new Map();
    const send = async (run: Summary): Promise<void> => {
      set(run.run, { kind: "sending" });
      set(run.run, await sendAction(describe(name, run).request(text, false)));
    };
    await sendEach(runs, send, () => stopped.current);
  };
  return { sent, sendTo };
}

/** The runs, each with a box, and why the action leaves it as it is or what came of it. */
const Choice = ({
  runs,
  name,
  asked,
  fates,
  onToggle,
}: {
  readonly runs: readonly Summary[];
  readonly asked: readonly Summary[];
  readonly fates: ReadonlyMap<string, ActionProgress> | null;
  readonly name: BulkAction;
  readonly onToggle: (run: string) => void;
}) => (
  <ul class="bulk">
    {runs.map((run) => {
      const why = whyNot(name, run);
      return (
        <li key={run.run}>
          <label>
            <input
              type="checkbox"
              checked={asked.includes(run)}
              disabled={fates !== null || why !== null}
              onChange={() => onToggle(run.run)}
            />
            <code>{run.run}</code> {run.agent}
          </label>{" "}
          <Fate why={why} sent={fates?.get(run.run)} />
        </li>
      );
    })}
  </ul>
);

const Fate = ({ why, sent }: { readonly why: string | null; readonly sent: ActionProgress | undefined }) => {
  if (sent?.kind === "refused") return <span class="bad">{sent.trouble.detail}</span>;
  if (sent !== undefined) return <span class="good">{sent.kind === "accepted" ? "accepted" : "sending…"}</span>;
  return <span class="quiet">{why ?? ""}</span>;
};

function toggled(set: ReadonlySet<string>, item: string): ReadonlySet<string> {
  const changed = new Set(set);
  if (!changed.delete(item)) changed.add(item);
  return changed;
}
