/** A question of a run: what it asks, what fits, and the answer. */
import { useSignal } from "@preact/signals";
import type { Json } from "../../core/json.ts";
import type { WaitingQuestion } from "../../operations/approvals.ts";
import { type ConsoleAction, requestOf } from "../model/commands.ts";
import { answerIn } from "../model/needs.ts";
import { visibleText } from "../model/visible-text.ts";
import { sendDecision } from "../store/decided.ts";
import { useArgs } from "../store/omitted-args.ts";
import { AsCommand } from "./action-dialog.tsx";
import { ShownJson, When } from "./basics.tsx";
import { Arguments, CardHead, Deciding } from "./need-parts.tsx";

export function QuestionCard({ question: of }: { readonly question: WaitingQuestion }) {
  const { run, call, tool, schema, until, refused, asked } = of;
  const id = `${run} ${call} ${asked}`;
  const text = useSignal("");
  const answer = answerIn(text.value, schema);
  const action = (result: Json): ConsoleAction => ({
    words: ["answer", run, call, "--result", JSON.stringify(result)],
    ...requestOf("answer", { run, call, result }),
  });
  const read = useArgs(of);
  const question = read.kind === "known" ? (read.args as { readonly question?: unknown } | null)?.question : null;
  return (
    <>
      <CardHead
        title={
          <>
            <code class="name">{tool}</code> asks you
          </>
        }
        about={of}
      >
        {until === null ? null : (
          <>
            until <When at={until} />
          </>
        )}
      </CardHead>
      {typeof question === "string" ? <p class="asks">{visibleText(question)}</p> : <Arguments read={read} run={run} />}
      {refused === null ? null : <p class="toast bad">The last answer did not fit: {refused}</p>}
      <Deciding id={id} needs="answer" title="Answer">
        <label class="field">
          <span>Answer</span>
          <textarea rows={3} value={text.value} onInput={(event) => (text.value = event.currentTarget.value)} />
        </label>
        {schema === null ? null : (
          <details>
            <summary>What fits</summary>
            <ShownJson of={schema} />
          </details>
        )}
        {text.value !== "" && !answer.ok ? <p class="bad small">{answer.why}</p> : null}
        <div class="line">
          <button
            type="button"
            class="primary"
            disabled={text.value === "" || !answer.ok}
            onClick={() => answer.ok && void sendDecision(id, action(answer.json))}
          >
            Answer
          </button>
        </div>
        <AsCommand action={action(answer.ok ? answer.json : "…")} />
      </Deciding>
    </>
  );
}
