/** `cairn reconcile RUN CALL`: the operator decides the result of a call whose outcome is unknown. */
import type { Answer } from "../../core/event.ts";
import { OPERATIONS } from "../../operations/table.ts";
import type { Reconciled } from "../../operations/reconcile.ts";
import { UserError, EXIT } from "../../compose/user-error.ts";
import { readJson } from "../input.ts";
import { reportAccepted } from "../accepted.ts";
import { refusedAs } from "../perform.ts";
import { readLedger } from "./show.ts";
import type { StoreFlags } from "../../compose/surroundings.ts";
import type { Shell } from "../shell.ts";
import { commandLine, relative, timeOfDay } from "../../render/words.ts";
import { transportToRun } from "../choose-transport.ts";
import type { Transport } from "../transport.ts";

export interface ReconcileFlags extends StoreFlags {
  readonly as: Answer["as"];
  readonly result?: string;
  readonly note?: string;
}

export async function reconcileCall(
  shell: Shell,
  typed: { readonly run: string; readonly call: string; readonly flags: ReconcileFlags },
): Promise<number> {
  const { call, flags } = typed;
  if (flags.result !== undefined && flags.as !== "succeeded") throw resultWithout(shell, flags.as);
  const result = flags.result === undefined ? null : await readJson(shell, { option: "--result", text: flags.result });
  const { transport, run } = await transportToRun(shell, typed);
  const { as, note = null } = flags;
  const outcome = await transport.perform("reconcile", {
    run,
    call,
    as,
    result,
    note,
  });
  if (outcome.kind === "stale") throw await stale(transport, { run, call, unknown: outcome.unknown });
  if (outcome.kind !== "accepted") throw refusal({ transport, run, call, outcome });
  await report(shell, { transport, run, call, as });
  return EXIT.done;
}

async function report(
  shell: Shell,
  {
    transport,
    run,
    call,
    as,
  }: { readonly transport: Transport; readonly run: string; readonly call: string; readonly as: Answer["as"] },
): Promise<void> {
  const says = `accepted: ${call} of ${run} ${COMES_TO[as]}`;
  await reportAccepted(shell, transport, { document: { run, call, as }, says });
}

const COMES_TO: { readonly [A in Answer["as"]]: string } = {
  succeeded: "succeeded",
  failed: "failed",
  retry: "will run again",
  compensate: "is to be undone, and so are all other effects of the run",
};

interface Refusal {
  readonly transport: Transport;
  readonly run: string;
  readonly call: string;
  readonly outcome: Exclude<Reconciled, { readonly kind: "accepted" | "stale" }>;
}

function refusal({ transport, run, call, outcome }: Refusal): UserError {
  const now = transport.now();
  const look = transport.command("show", run);
  const refused = (words: Parameters<typeof refusedAs>[2]): UserError =>
    refusedAs(OPERATIONS.reconcile, outcome.kind, words);
  switch (outcome.kind) {
    case "tooEarly": {
      const { reconcilableFrom } = outcome;
      return refused({
        what: `it is too early to say that ${call} did not happen`,
        why: `until ${timeOfDay(reconcilableFrom, now)} (${relative(reconcilableFrom, now)}) its request may still take effect; only --as succeeded is accepted before`,
        next: look,
        facts: { reconcilableFrom },
      });
    }
    case "noUndo": {
      const what = `${outcome.tool} (${call}) has no undo, so cairn cannot compensate it`;
      const why =
        "its tool declares none; reconcile the call as succeeded or failed, or restart the run and repeat its cost";
      return refused({ what, why, next: transport.command("restart", run) });
    }
    case "refused":
      return refused({ what: "the result cannot be kept", why: outcome.why, next: look });
    case "duplicate": {
      const { answer } = outcome;
      const what = `${call} was reconciled already`;
      const why =
        answer === null ? "the first answer counts" : `the first answer counts: ${answer.by} says ${answer.as}`;
      return refused({ what, why, next: look });
    }
    case "late": {
      const why = "an ended run cannot be reconciled; its ledger shows what is known of the call";
      return refused({ what: `run ${run} has ended`, why, next: look });
    }
    case "missing":
      return transport.gone(run);
  }
}

/**
 * The error for a call whose outcome is not unknown. It says what the ledger knows about the call, an earlier decision
 * included.
 */
async function stale(
  transport: Transport,
  { run, call, unknown }: { readonly run: string; readonly call: string; readonly unknown: readonly string[] },
): Promise<UserError> {
  const calls = await readLedger(transport, run);
  const entry = calls.find((each) => each.call === call);
  const next = transport.command("ledger", run);
  if (entry === undefined) {
    const known = calls.map((each) => each.call);
    const why = known.length === 0 ? "it has not called any tool" : `its calls are: ${known.join(", ")}`;
    const what = `run ${run} has no call ${call}`;
    return new UserError({ code: "CallUnknown", exit: EXIT.notFound, what, why, next, facts: { known } });
  }
  const what = `${call} does not wait for a reconciliation`;
  const known = `the status of ${entry.tool} (${call}) is ${entry.status}, and the evidence is: ${entry.evidence}`;
  const isOver = entry.status === "unknown" && !unknown.includes(call);
  const why = isOver ? `the answer came too late, since the run is to end: ${known}` : known;
  return refusedAs(OPERATIONS.reconcile, "stale", { what, why, next, facts: { unknown } });
}

function resultWithout(shell: Shell, as: string): UserError {
  const what = `--result gives what a successful call returned, so it does not go with --as ${as}`;
  const at = shell.argv.findIndex((word) => word.startsWith("--result"));
  const words = shell.argv.filter((_, index) => index !== at && index !== at + (shell.argv[at] === "--result" ? 1 : 0));
  const why = "only --as succeeded takes a result";
  return new UserError({ code: "Usage", exit: EXIT.usage, what, why, next: commandLine(words) });
}
