/** Starts a run of an agent: a form from the JSON Schema of its task, or JSON. The server checks the task. */
import { useSignal } from "@preact/signals";
import type { Json } from "../../core/json.ts";
import type { DescribedAgent } from "../../operations/agents.ts";
import { type ConsoleAction, requestOf } from "../model/commands.ts";
import { type FormField, formFields, filledIn, textFrom } from "../model/form.ts";
import { jsonIn } from "../model/needs.ts";
import { type ActionProgress, runIn, sendAction } from "../store/act.ts";
import { go } from "../store/route.ts";
import { AsCommand, Refused } from "./action-dialog.tsx";

export function StartForm({
  agent: { name, task },
  first,
}: {
  readonly agent: DescribedAgent;
  /** What the form holds at first; null: what the schema says. */
  readonly first: Json;
}) {
  const fields = formFields(task);
  const texts = useSignal<Readonly<Record<string, string>>>(
    Object.fromEntries((fields ?? []).map((field) => [field.name, textFrom(first, field.name) ?? field.first])),
  );
  const json = useSignal(first === null ? "{}" : JSON.stringify(first, null, 2));
  const isTyped = useSignal(false);
  const sent = useSignal<ActionProgress>({ kind: "no" });
  const filled = fields === null ? asFilled(json.value) : filledIn(fields, texts.value);
  const input = filled.ok ? filled.input : {};
  const action: ConsoleAction = {
    words: ["start", name, "--input", JSON.stringify(input)],
    ...requestOf("start", { agent: name, input }),
  };
  const start = async (): Promise<void> => {
    if (!filled.ok || sent.peek().kind === "sending") return;
    sent.value = { kind: "sending" };
    const answer = await sendAction(action);
    sent.value = answer;
    if (answer.kind === "accepted") go(["run", runIn(answer.outcome)]);
  };
  return (
    <form
      class="start"
      onInput={() => (isTyped.value = true)}
      onSubmit={(event) => {
        event.preventDefault();
        void start();
      }}
    >
      {fields === null ? (
        <label class="field">
          <span>Task (JSON)</span>
          <textarea
            rows={6}
            value={json.value}
            spellcheck={false}
            onInput={(event) => (json.value = event.currentTarget.value)}
          />
        </label>
      ) : (
        fields.map((field) => (
          <Field
            key={field.name}
            field={field}
            text={texts.value[field.name] ?? ""}
            onText={(text) => (texts.value = { ...texts.peek(), [field.name]: text })}
          />
        ))
      )}
      {filled.ok || !isTyped.value ? null : <p class="bad small">{filled.why}</p>}
      {sent.value.kind === "refused" ? <Refused trouble={sent.value.trouble} /> : null}
      <div class="line">
        <button type="submit" class="primary" disabled={!filled.ok || sent.value.kind === "sending"}>
          {sent.value.kind === "sending" ? "Starting…" : "Start"}
        </button>
      </div>
      <AsCommand action={action} />
    </form>
  );
}

function asFilled(text: string): ReturnType<typeof filledIn> {
  const parsed = jsonIn(text);
  return parsed.ok ? { ok: true, input: parsed.json as Readonly<Record<string, Json>> } : parsed;
}

function Field({
  field,
  text,
  onText,
}: {
  readonly field: FormField;
  readonly text: string;
  readonly onText: (text: string) => void;
}) {
  const { name, kind, must, says, choices } = field;
  return (
    <label class="field">
      <span>
        <b>{name}</b>
        {must ? "" : " (optional)"} {says}
      </span>
      {kind === "choice" ? (
        <select value={text} onChange={(event) => onText(event.currentTarget.value)}>
          {must ? null : <option value="">not given</option>}
          {choices.map((choice) => (
            <option key={choice}>{choice}</option>
          ))}
        </select>
      ) : kind === "boolean" ? (
        <input
          type="checkbox"
          checked={text === "true"}
          onChange={(event) => onText(String(event.currentTarget.checked))}
        />
      ) : kind === "json" ? (
        <textarea rows={3} value={text} spellcheck={false} onInput={(event) => onText(event.currentTarget.value)} />
      ) : (
        <input
          value={text}
          inputMode={kind === "number" ? "decimal" : "text"}
          autocomplete="off"
          onInput={(event) => onText(event.currentTarget.value)}
        />
      )}
    </label>
  );
}
