/** An approval: the arguments exactly as they will run, and approve, change or deny. */
import { BUDGET } from "../../core/policy/extension.ts";
import { useSignal } from "@preact/signals";
import { visible, short } from "../../render/words.ts";
import type { Json } from "../../core/json.ts";
import type { WaitingGate } from "../../operations/approvals.ts";
import { type ConsoleAction, requestOf, pathOf } from "../model/commands.ts";
import { diff } from "../model/diff.ts";
import { jsonIn } from "../model/needs.ts";
import { jsonText, visibleText, jsonLine } from "../model/visible-text.ts";
import { sendDecision } from "../store/decided.ts";
import { type ArgsRead, useArgs } from "../store/omitted-args.ts";
import { AsCommand } from "./action-dialog.tsx";
import { When } from "./basics.tsx";
import { Arguments, CardHead, Deciding } from "./need-parts.tsx";
import { askApi } from "../api/http.ts";
import { useRead } from "../store/use-read.ts";
import type { EventPage } from "../../operations/event-page.ts";
import type { Shown } from "../../operations/views.ts";
import { readBefore } from "../model/read-before.ts";

type As = "approve" | "deny" | "edit";

function actionOf(
  { run, gate, call }: WaitingGate,
  { as, note, changed }: { readonly as: As; readonly note: string; readonly changed?: Json | undefined },
): ConsoleAction {
  const words = [as === "deny" ? "deny" : "approve", run, call, ...(note === "" ? [] : ["--note", note])];
  return {
    words: [...words, ...(as === "edit" ? ["--args", JSON.stringify(changed)] : [])],
    ...requestOf("decide", { run, gate, as, note: note === "" ? undefined : note, args: changed }),
  };
}

export function ApprovalCard({ gate: of }: { readonly gate: WaitingGate }) {
  const { run, gate, call, tool, reason, expiresAt } = of;
  const id = `${run} ${gate}`;
  const note = useSignal("");
  const edited = useSignal<string | null>(null);
  const isBudget = call === BUDGET;
  const read = useArgs(of);
  const action = (as: As, changed?: Json): ConsoleAction => actionOf(of, { as, note: note.value.trim(), changed });
  const typed = edited.value === null ? null : { text: edited.value, ...jsonIn(edited.value) };
  return (
    <>
      <CardHead
        title={
          isBudget ? (
            "More budget?"
          ) : (
            <>
              Approve <code class="name">{tool}</code>?
            </>
          )
        }
        about={of}
      >
        expires <When at={expiresAt} />
      </CardHead>
      <p>{visibleText(reason)}</p>
      <Background run={run} before={call} />
      {typed === null || read.kind !== "known" ? (
        <Arguments read={read} run={run} />
      ) : (
        <Edit args={read.args} typed={typed} onEdit={(text) => (edited.value = text)} />
      )}
      <Frozen gate={of} />
      <Deciding id={id} needs="decide" title="Approve, Deny">
        <label class="field">
          <span>Note (the model and the record see it)</span>
          <input value={note.value} autocomplete="off" onInput={(event) => (note.value = event.currentTarget.value)} />
        </label>
        {typed === null ? (
          <Answers
            read={read}
            isBudget={isBudget}
            onDecide={(as) => void sendDecision(id, action(as))}
            onEdit={(text) => (edited.value = text)}
          />
        ) : (
          <SendEdit
            typed={typed}
            onBack={() => (edited.value = null)}
            onSend={(json) => void sendDecision(id, action("edit", json))}
          />
        )}
        {typed?.ok === false ? null : (
          <AsCommand action={typed === null ? [action("approve"), action("deny")] : action("edit", typed.json)} />
        )}
      </Deciding>
    </>
  );
}

/** Nothing is approved while its arguments are read, and nothing is changed that is not shown. */
const Answers = ({
  read,
  isBudget,
  onDecide,
  onEdit,
}: {
  readonly read: ArgsRead;
  readonly isBudget: boolean;
  readonly onDecide: (as: "approve" | "deny") => void;
  readonly onEdit: (text: string) => void;
}) => {
  return (
    <div class="line">
      <button
        type="button"
        class="primary"
        data-key="a"
        disabled={read.kind === "reading"}
        onClick={() => onDecide("approve")}
      >
        Approve
      </button>
      <button type="button" class="danger" data-key="d" onClick={() => onDecide("deny")}>
        Deny
      </button>
      {isBudget || read.kind !== "known" ? null : (
        <button type="button" onClick={() => onEdit(jsonText(read.args))}>
          Change the arguments
        </button>
      )}
    </div>
  );
};

type Typed = { readonly text: string } & ReturnType<typeof jsonIn>;

/** The changed arguments, and what differs from the model's. The server checks them against the schema of the tool. */
function Edit({
  typed,
  onEdit,
  args,
}: {
  readonly args: unknown;
  readonly typed: Typed;
  readonly onEdit: (text: string) => void;
}) {
  return (
    <>
      <label class="field">
        <span>Arguments that run instead (JSON)</span>
        <textarea
          rows={8}
          value={typed.text}
          spellcheck={false}
          onInput={(event) => onEdit(event.currentTarget.value)}
        />
      </label>
      {typed.ok ? (
        <ul class="diff small">
          {diff(args, typed.json).map(({ path, before, after }) => (
            <li key={path}>
              <code>
                {path}: <span class="removed">− {oneLine(before)}</span> <span class="added">+ {oneLine(after)}</span>
              </code>
            </li>
          ))}
        </ul>
      ) : (
        <p class="bad small">{typed.why}</p>
      )}
    </>
  );
}

const oneLine = (value: unknown): string => (value === undefined ? "absent" : visible(JSON.stringify(value)));

function SendEdit({
  typed,
  onSend,
  onBack,
}: {
  readonly typed: Typed;
  readonly onBack: () => void;
  readonly onSend: (json: Json) => void;
}) {
  return (
    <div class="line">
      <button type="button" class="primary" disabled={!typed.ok} onClick={() => typed.ok && onSend(typed.json)}>
        Approve with these arguments
      </button>
      <button type="button" onClick={onBack}>
        Back to the model's arguments
      </button>
    </div>
  );
}

function Frozen({ gate: { call, planHash, argsHash, assigned } }: { readonly gate: WaitingGate }) {
  const isBudget = call === BUDGET;
  return (
    <p class="small quiet">
      {isBudget
        ? "On denial the run ends."
        : "These arguments are frozen: exactly they run. On denial the call does not run, and the model is told so."}{" "}
      plan <code>{planHash.slice(0, 12)}</code>, arguments <code>{argsHash.slice(0, 12)}</code>
      {assigned === null ? "" : `, assigned to ${assigned.to}`}
    </p>
  );
}

const TASK_CHARACTERS = 300;
const RESULT_CHARACTERS = 200;

/** What a human who decides has to know of the run: its task, and what its tools gave before the call. */
function Background({ run, before }: { readonly run: string; readonly before: string }) {
  const { value } = useRead(
    async (signal) => {
      const [shown, page] = await Promise.all([
        askApi<Pick<Shown, "task">>(pathOf("show", { run }), { signal }),
        askApi<EventPage>(pathOf("timeline", { run }), { signal }),
      ]);
      return { task: shown.task, read: readBefore(page.entries, before) };
    },
    [run, before],
  );
  // Without it the card has all that a decision needs, so no reason is shown.
  if (value === null) return null;
  return (
    <dl class="facts small">
      <dt>task</dt>
      <dd>{visibleText(short(jsonLine(value.task), TASK_CHARACTERS))}</dd>
      {value.read.map(({ call, tool, says }) => [
        <dt key={call}>
          {tool} <code>{call}</code>
        </dt>,
        <dd key={`${call} result`}>{visibleText(short(says, RESULT_CHARACTERS))}</dd>,
      ])}
    </dl>
  );
}
