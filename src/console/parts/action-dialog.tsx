/** Asks for what an action needs, shows what will happen and the same as commands, and sends it once. */
import { useSignal } from "@preact/signals";
import { type ComponentChildren, Fragment } from "preact";
import { base, token } from "../api/http.ts";
import type { ShownProblem } from "../api/problem.ts";
import { type ActionName, describe, effectEntries, forkableIn, isReady } from "../model/actions.ts";
import { type ConsoleAction, cliOf, curlOf } from "../model/commands.ts";
import type { Shown, TimelineEntry } from "../../operations/views.ts";
import { type ActionProgress, runIn, sendAction } from "../store/act.ts";
import { go } from "../store/route.ts";
import { readShown } from "../store/run.ts";
import { Command, ShownJson } from "./basics.tsx";
import { Dialog } from "./dialog.tsx";

export function ActionDialog({
  name,
  run,
  onClose,
  entries,
}: {
  readonly name: ActionName;
  readonly run: Shown;
  readonly entries: readonly TimelineEntry[];
  readonly onClose: () => void;
}) {
  const { title, says, field, isDangerous, request } = describe(name, run);
  const text = useSignal(field?.value ?? "");
  const sent = useSignal<ActionProgress>({ kind: "no" });
  /** The text that was sent last. */
  const about = useSignal("");
  // The answer to a fork is about one version: a confirmation must not go out for another one.
  const isOther = name === "fork" && about.value !== text.value.trim() && sent.value.kind !== "sending";
  const answer: ActionProgress = isOther ? { kind: "no" } : sent.value;
  const asks = asksToConfirm(answer);
  const action = request(text.value.trim(), asks !== null);
  const submit = async (): Promise<void> => {
    if (sent.peek().kind === "sending") return;
    sent.value = { kind: "sending" };
    about.value = text.peek().trim();
    const came = await sendAction(action);
    sent.value = came;
    if (came.kind !== "accepted") return;
    void readShown(run.run);
    if (name === "fork") go(["run", runIn(came.outcome)]);
    if (name === "purge") go(["runs"]);
    onClose();
  };
  const isBusy = answer.kind === "sending";
  return (
    <Dialog label={title} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <h2>{title}</h2>
        <p>{says}</p>
        {name === "undo" || name === "restart" ? <Effects entries={entries} /> : null}
        {field === null ? null : <Field {...field} text={text.value} onText={(value) => (text.value = value)} />}
        {asks === null ? null : <Confirm trouble={asks} />}
        {answer.kind === "refused" && asks === null ? <Refused trouble={answer.trouble} /> : null}
        <Choices
          label="It can be forked at"
          values={forkableAt(answer)}
          onChoice={(version) => (text.value = version)}
        />
        <AsCommand action={action} />
        <div class="foot">
          <button type="button" onClick={onClose}>
            Close
          </button>
          <button
            type="submit"
            class={isDangerous ? "danger" : "primary"}
            disabled={isBusy || (field?.must === true && !isReady(name, text.value, run))}
          >
            {isBusy ? "Sending…" : asks === null ? title : `${title} all the same`}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

const asksToConfirm = (sent: ActionProgress): ShownProblem | null =>
  sent.kind === "refused" && sent.trouble.code === "NotConfirmed" ? sent.trouble : null;

/** Values that the API named in its refusal. A click types one of them. */
function Choices({
  values,
  label,
  onChoice,
}: {
  readonly label: string;
  readonly values: readonly string[];
  readonly onChoice: (value: string) => void;
}) {
  if (values.length === 0) return null;
  return (
    <div class="line" role="group" aria-label={label}>
      <span class="quiet">{label}</span>
      {values.map((value) => (
        <button key={value} type="button" onClick={() => onChoice(value)}>
          {value}
        </button>
      ))}
    </div>
  );
}

export const Field = ({
  label,
  lines,
  text,
  charactersMax,
  onText,
}: {
  readonly label: string;
  readonly lines: 1 | 3;
  readonly charactersMax?: number;
  readonly text: string;
  readonly onText: (text: string) => void;
}) => (
  <label class="field">
    <span>{label}</span>
    {lines === 1 ? (
      <input
        value={text}
        maxLength={charactersMax}
        autocomplete="off"
        autofocus
        onInput={(event) => onText(event.currentTarget.value)}
      />
    ) : (
      <textarea rows={4} value={text} autofocus onInput={(event) => onText(event.currentTarget.value)} />
    )}
  </label>
);

/** What will be undone, the newest first, and what cannot be. */
function Effects({ entries }: { readonly entries: readonly TimelineEntry[] }) {
  const effects = effectEntries(entries);
  if (effects.length === 0) return <p class="quiet">The run has no effect that stands.</p>;
  return (
    <ol class="effects">
      {effects.map(({ call, tool, canUndo }) => (
        <li key={call}>
          <b>{tool}</b> <code>{call}</code>{" "}
          {canUndo ? (
            <span class="good">will be undone</span>
          ) : (
            <span class="warn">cannot be undone: it has no undo</span>
          )}
        </li>
      ))}
    </ol>
  );
}

const Confirm = ({ trouble: { detail, outcome } }: { readonly trouble: ShownProblem }) => (
  <div class="toast">
    <p>{detail}</p>
    {outcome === null ? null : <ShownJson of={withoutKind(outcome)} />}
  </div>
);

const forkableAt = (sent: ActionProgress): readonly string[] =>
  sent.kind === "refused" ? forkableIn(sent.trouble.outcome) : [];

const withoutKind = ({ kind: _, ...rest }: Readonly<Record<string, unknown>>): object => rest;

export const Refused = ({ trouble: { code, detail } }: { readonly trouble: ShownProblem }) => (
  <p class="toast bad" role="alert">
    {detail} <code>{code}</code>
  </p>
);

/** The same on the command line and by HTTP: of one action, or of each of several. */
export const AsCommand = (props: {
  readonly action: ConsoleAction | readonly ConsoleAction[];
  readonly children?: ComponentChildren;
}) => (
  <details>
    <summary>As a command</summary>
    {props.children}
    {[props.action].flat().map((action) => (
      <Fragment key={action.words.join(" ")}>
        <Command text={cliOf(action, base())} />
        <Command text={curlOf(action, { base: base(), hasToken: token !== null })} />
      </Fragment>
    ))}
  </details>
);
