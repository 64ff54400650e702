/** A call whose outcome is unknown: what was sent, the evidence, and the four answers with what each does. */
import { useSignal } from "@preact/signals";
import type { Json } from "../../core/json.ts";
import type { Shown, UnknownCall } from "../../operations/views.ts";
import { type ConsoleAction, requestOf } from "../model/commands.ts";
import { type ShownDocument, jsonIn, unknownId } from "../model/needs.ts";
import { now } from "../store/clock.ts";
import { sendDecision } from "../store/decided.ts";
import { TOO_LONG } from "../store/omitted-args.ts";
import { AsCommand } from "./action-dialog.tsx";
import { When } from "./basics.tsx";
import { Arguments, CardHead, Deciding } from "./need-parts.tsx";

const ANSWERS = {
  succeeded: {
    word: "It happened",
    does: "The run takes the result below as the result of the call, and goes on.",
    waits: false,
  },
  failed: {
    word: "It did not happen",
    does: "The model is told that the call failed, and decides what to do.",
    waits: true,
  },
  retry: { word: "Run it again", does: "It did not happen: the call runs again under its key.", waits: true },
  compensate: {
    word: "Undo everything",
    does: "This call and all other effects of the run are undone, the newest first.",
    waits: false,
  },
} as const;

type Answer = keyof typeof ANSWERS;

function actionOf(
  { run, call }: { readonly run: string; readonly call: string },
  { as, note, returned }: { readonly as: Answer; readonly note: string; readonly returned: { readonly result?: Json } },
): ConsoleAction {
  return {
    words: [
      "reconcile",
      run,
      call,
      "--as",
      as,
      ...("result" in returned ? ["--result", JSON.stringify(returned.result)] : []),
      ...(note === "" ? [] : ["--note", note]),
    ],
    ...requestOf("reconcile", { run, call, as, note: note === "" ? undefined : note, ...returned }),
  };
}

export function UnknownCard({ run: shown, call: of }: { readonly run: Shown; readonly call: UnknownCall }) {
  const { run } = shown;
  const { call, tool, args, reconcilableFrom, undo, toolGone, did } = of;
  const id = unknownId(run, of);
  const isOmitted = (shown as ShownDocument).omitted?.includes("#/unknown/*/args") === true;
  const chosen = useSignal<Answer>("succeeded");
  const note = useSignal("");
  const result = useSignal("null");
  const parsed = jsonIn(result.value);
  const isEarly = ANSWERS[chosen.value].waits && reconcilableFrom > now.value;
  const isResult = chosen.value === "succeeded";
  const returned = isResult && parsed.ok ? { result: parsed.json } : {};
  const action = actionOf({ run, call }, { as: chosen.value, note: note.value.trim(), returned });
  return (
    <>
      <CardHead
        title={
          <>
            Did <code class="name">{tool}</code> happen?
          </>
        }
        about={shown}
      />
      <p>{whyAsked(of)}</p>
      {did.map((line) => (
        <p>Its run: {line}</p>
      ))}
      <Evidence call={of} />
      <Arguments read={isOmitted ? TOO_LONG : { kind: "known", args, parsed: null }} run={run} />
      {toolGone ? <p class="toast bad">Its agent has no such tool any more.</p> : null}
      <Deciding id={id} needs="reconcile" title="Reconcile">
        <Answers id={id} undo={undo} chosen={chosen.value} onChoose={(each) => (chosen.value = each)} />
        {isResult ? (
          <label class="field">
            <span>What it returned (JSON)</span>
            <textarea
              rows={2}
              value={result.value}
              spellcheck={false}
              onInput={(event) => (result.value = event.currentTarget.value)}
            />
          </label>
        ) : null}
        <label class="field">
          <span>Note (for the record)</span>
          <input value={note.value} autocomplete="off" onInput={(event) => (note.value = event.currentTarget.value)} />
        </label>
        {isEarly ? (
          <p class="warn">
            Too early: its request may still take effect. This answer can be given <When at={reconcilableFrom} />.
          </p>
        ) : null}
        <div class="line">
          <button
            type="button"
            class="primary"
            disabled={isEarly || (isResult && !parsed.ok)}
            onClick={() => void sendDecision(id, action)}
          >
            Reconcile: {ANSWERS[chosen.value].word.toLowerCase()}
          </button>
        </div>
        <AsCommand action={action} />
      </Deciding>
    </>
  );
}

const Answers = ({
  undo,
  chosen,
  id,
  onChoose,
}: {
  readonly id: string;
  readonly undo: boolean;
  readonly chosen: Answer;
  readonly onChoose: (answer: Answer) => void;
}) => (
  <fieldset class="answers">
    <legend>Your answer</legend>
    {(Object.keys(ANSWERS) as readonly Answer[])
      .filter((each) => each !== "compensate" || undo)
      .map((each) => (
        <label key={each} class={chosen === each ? "chosen" : ""}>
          <input type="radio" name={id} checked={chosen === each} onChange={() => onChoose(each)} />
          <span>
            <b>{ANSWERS[each].word}</b> {ANSWERS[each].does}
          </span>
        </label>
      ))}
  </fieldset>
);

const Evidence = ({ call: { key, business, reconcilableFrom, otherwise } }: { readonly call: UnknownCall }) => (
  <dl class="facts">
    <dt>key</dt>
    <dd>
      <code>{key}</code> {business ? "the agent's own" : ""}
    </dd>
    <dt>may still take effect</dt>
    <dd>
      {reconcilableFrom > now.value ? (
        <>
          yes; that is over <When at={reconcilableFrom} />
        </>
      ) : (
        "no longer"
      )}
    </dd>
    <dt>without an answer</dt>
    <dd>
      {
        {
          ask: "it keeps waiting",
          tell: "the model is told",
          fail: "the run fails",
          compensate: "all effects are undone",
        }[otherwise]
      }
    </dd>
  </dl>
);

/** Why a human is asked about the call. */
function whyAsked({ unbegun, lostTime, did, approval, undoes, byHand }: UnknownCall): string {
  if (undoes !== undefined) {
    const why = byHand === true ? "No tool can undo it" : "Its undo gave no answer";
    return `${undoes} is to be undone. ${why}: "It happened" says that it is undone, "It did not happen" leaves its effect.`;
  }
  if (unbegun !== null) return `It was agreed, and it did not happen: ${unbegun}`;
  if (lostTime) {
    const restored =
      "This run was restored from a backup, and this may have happened in between. Look for this key in the external service.";
    return approval === undefined
      ? restored
      : `${restored} It also needs approval: ${approval}. To run it again approves it.`;
  }
  if (did.length > 0) return "What its run did is not known in full. Look for it in the external service.";
  return "The process died or the answer was lost after the request was sent. Look for this key in the external service.";
}
