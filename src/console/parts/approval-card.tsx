/** An approval: the arguments exactly as they will run, and approve, change or deny. */
import { useSignal } from "@preact/signals";
import { BUDGET } from "../../core/policy/extension.ts";
import type { WaitingGate } from "../../operations/approvals.ts";
import { type Action, runPath } from "../model/commands.ts";
import { diff } from "../model/diff.ts";
import { jsonIn } from "../model/needs.ts";
import { decide } from "../store/decided.ts";
import { AsCommand } from "./action-dialog.tsx";
import { Json, When } from "./basics.tsx";
import { CardHead, Deciding } from "./need-parts.tsx";

type As = "approve" | "deny" | "edit";

function actionOf(
  { run, gate, call }: WaitingGate,
  of: { readonly as: As; readonly note: string; readonly changed?: unknown },
): Action {
  const { as, note, changed } = of;
  const words = [as === "deny" ? "deny" : "approve", run, call, ...(note === "" ? [] : ["--note", note])];
  return {
    words: [...words, ...(as === "edit" ? ["--args", JSON.stringify(changed)] : [])],
    ...{ method: "POST", path: `${runPath(run)}/approvals/${encodeURIComponent(gate)}` },
    body: { as, ...(note !== "" && { note }), ...(as === "edit" && { args: changed }) },
  };
}

export function ApprovalCard({ gate: of }: { readonly gate: WaitingGate }) {
  const { run, agent, gate, call, tool, reason, args, expiresAt } = of;
  const id = `${run} ${gate}`;
  const note = useSignal("");
  const edited = useSignal<string | null>(null);
  const isBudget = call === BUDGET;
  const action = (as: As, changed?: unknown): Action => actionOf(of, { as, note: note.value.trim(), changed });
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
        run={run}
        agent={agent}
      >
        expires <When at={expiresAt} />
      </CardHead>
      <p>{reason}</p>
      {edited.value === null ? (
        <Json of={args} />
      ) : (
        <Edit args={args} edited={edited.value} onEdit={(text) => (edited.value = text)} />
      )}
      <Frozen gate={of} />
      <Deciding id={id}>
        <label class="field">
          <span>Note (the model and the record see it)</span>
          <input value={note.value} autocomplete="off" onInput={(event) => (note.value = event.currentTarget.value)} />
        </label>
        {edited.value === null ? (
          <div class="line">
            <button type="button" class="primary" data-key="a" onClick={() => void decide(id, action("approve"))}>
              Approve
            </button>
            <button type="button" class="danger" data-key="d" onClick={() => void decide(id, action("deny"))}>
              Deny
            </button>
            {isBudget ? null : (
              <button type="button" onClick={() => (edited.value = JSON.stringify(args, null, 2))}>
                Change the arguments
              </button>
            )}
          </div>
        ) : (
          <SendEdit
            text={edited.value}
            onBack={() => (edited.value = null)}
            onSend={(json) => void decide(id, action("edit", json))}
          />
        )}
        <AsCommand action={action("approve")} />
      </Deciding>
    </>
  );
}

/** The changed arguments, and what differs from the model's. The server checks them against the schema of the tool. */
function Edit(of: { readonly args: unknown; readonly edited: string; readonly onEdit: (text: string) => void }) {
  const parsed = jsonIn(of.edited);
  return (
    <>
      <label class="field">
        <span>Arguments that run instead (JSON)</span>
        <textarea
          rows={8}
          value={of.edited}
          spellcheck={false}
          onInput={(event) => of.onEdit(event.currentTarget.value)}
        />
      </label>
      {parsed.ok ? (
        <ul class="diff small">
          {diff(of.args, parsed.json).map(({ path, before, after }) => (
            <li key={path}>
              <code>
                {path}: <span class="removed">− {JSON.stringify(before) ?? "absent"}</span>{" "}
                <span class="added">+ {JSON.stringify(after) ?? "absent"}</span>
              </code>
            </li>
          ))}
        </ul>
      ) : (
        <p class="bad small">{parsed.why}</p>
      )}
    </>
  );
}

function SendEdit(of: {
  readonly text: string;
  readonly onBack: () => void;
  readonly onSend: (json: unknown) => void;
}) {
  const parsed = jsonIn(of.text);
  return (
    <div class="line">
      <button type="button" class="primary" disabled={!parsed.ok} onClick={() => parsed.ok && of.onSend(parsed.json)}>
        Approve with these arguments
      </button>
      <button type="button" onClick={of.onBack}>
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
