/**
 * `cairn cancel RUN --compensate` and `cairn restart RUN`: compensate what a run did, newest first, before it ends or
 * begins again.
 *
 * A restart is the last resort, so the command shows its cost before it asks for confirmation.
 */
import { usd } from "../../core/policy/spending.ts";
import type { RunEffects } from "../../operations/compensate.ts";
import { OPERATIONS } from "../../operations/table.ts";
import { type UserError, EXIT } from "../../compose/user-error.ts";
import { refusedAs } from "../perform.ts";
import { reportRequested } from "../accepted.ts";
import type { Shell } from "../shell.ts";
import { type ReasonFlags, steeringRefused } from "./steer.ts";
import { commandLine, count } from "../../render/words.ts";
import { transportToRun } from "../choose-transport.ts";
import type { Transport } from "../transport.ts";

export interface RestartFlags extends ReasonFlags {
  readonly yes?: boolean;
}

/** `cairn cancel RUN --compensate`: requests the compensation of a run, then its end. */
export async function cancelAndUndo(
  shell: Shell,
  typed: { readonly run: string; readonly flags: ReasonFlags },
): Promise<number> {
  const { transport, run } = await transportToRun(shell, typed);
  const { why = "" } = typed.flags;
  const outcome = await transport.perform("cancel", { run, compensate: true, why });
  if (outcome.kind !== "accepted") throw refusal(transport, { run, kind: outcome.kind, next: "cancel" });
  const { effects } = outcome;
  const says = [`${run} will end after its effects are undone`, ...wordsOn(effects, "they stay as they are")];
  await reportRequested(shell, transport, {
    document: { run, want: "cancel", compensate: true, ...factsOf(effects) },
    says,
  });
  return EXIT.done;
}

/** `cairn restart RUN`: requests the compensation of a run, then its restart. Requires a confirmation. */
export async function restartRun(
  shell: Shell,
  typed: { readonly run: string; readonly flags: RestartFlags },
): Promise<number> {
  const { transport, run } = await transportToRun(shell, typed);
  const { yes: confirmed = false, why = "" } = typed.flags;
  const outcome = await transport.perform("restart", { run, confirmed, why });
  if (outcome.kind === "notConfirmed") {
    throw refusedAs(OPERATIONS.restart, outcome.kind, {
      facts: factsOf(outcome.effects),
      what: `a restart of ${run} discards its results so far`,
      why: wordsOn(outcome.effects, AGAIN).join("; "),
      next: `${commandLine(shell.argv)} --yes`,
    });
  }
  if (outcome.kind !== "accepted") throw refusal(transport, { run, kind: outcome.kind, next: "restart" });
  const { effects } = outcome;
  const says = [`${run} will begin again from its task after its effects are undone`, ...wordsOn(effects, AGAIN)];
  await reportRequested(shell, transport, { document: { run, want: "restart", ...factsOf(effects) }, says });
  return EXIT.done;
}

const REFUSED = {
  cancel: "cannot be cancelled any more",
  restart: "cannot be restarted any more",
} as const;

function refusal(
  transport: Transport,
  { run, kind, next }: { readonly run: string; readonly kind: string; readonly next: "cancel" | "restart" },
): UserError {
  const { command } = transport;
  if (kind === "notStarted") {
    const what = `run ${run} has not started, so it cannot be restarted`;
    return refusedAs(OPERATIONS[next], kind, { what, why: "no process has claimed it yet", next: command("work") });
  }
  if (kind === "duplicate") {
    const what = `this was requested before, and it is under way`;
    return refusedAs(OPERATIONS[next], kind, { what, why: "the first request counts", next: command("timeline", run) });
  }
  return steeringRefused(transport, { run, outcome: kind, what: REFUSED[next] });
}

const factsOf = ({ spent, undoable, standing }: RunEffects) => ({
  beats: spent.beats,
  microUsd: spent.microUsd,
  undoable,
  standing,
});

const AGAIN = "they may be done twice";

/** What the run spent and did, in words. `fate`: what becomes of effects without an undo. */
function wordsOn({ spent, undoable, standing }: RunEffects, fate: string): readonly string[] {
  const { microUsd, beats } = spent;
  return [
    `so far it used ${count(beats, "beat")} and $${usd(microUsd)}, which still count towards its budget`,
    undoable.length === 0
      ? "no effect has to be undone"
      : `to be undone, newest first: ${undoable.toReversed().join(", ")}`,
    ...(standing.length === 0 ? [] : [`these have no undo, and ${fate}: ${standing.join(", ")}`]),
  ];
}
