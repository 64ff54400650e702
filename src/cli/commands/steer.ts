/** `cairn send|pause|resume|cancel RUN`: sends a message to a run, or changes what it does next. */
import { randomUUID } from "node:crypto";
import { SIZES } from "../../codec/limits.ts";
import type { Request } from "../../protocol/row.ts";
import { hasText } from "../../core/message.ts";
import { OPERATIONS } from "../../operations/table.ts";
import { UserError, EXIT } from "../../compose/user-error.ts";
import { fileRefused, readFiles } from "../files.ts";
import { refusedAs } from "../perform.ts";
import { retyped, commandLine, short } from "../../render/words.ts";
import { reportRequested } from "../accepted.ts";
import { runUnreadable } from "./runs.ts";
import type { StoreFlags } from "../../compose/surroundings.ts";
import type { Shell } from "../shell.ts";
import { transportToRun } from "../choose-transport.ts";
import type { Transport } from "../transport.ts";

export interface SendFlags extends StoreFlags {
  readonly key?: string;
  /** Paths of the files of the message. */
  readonly file?: readonly string[];
  readonly stop?: true;
}

/** `cairn send RUN TEXT`: sends a message to the run's model. With `--key` a repeated command sends it once. */
export async function sendWords(
  shell: Shell,
  typed: { readonly run: string; readonly text: string; readonly flags: SendFlags },
): Promise<number> {
  if (!hasText(typed.text)) throw noText(typed.run);
  const files = readFiles(shell, typed.flags.file);
  const { transport, run } = await transportToRun(shell, typed);
  const id = typed.flags.key ?? randomUUID();
  const outcome = await transport.perform("send", {
    run,
    text: typed.text,
    files,
    id,
    stop: typed.flags.stop === true,
  });
  if (outcome.kind === "fileInvalid") throw fileRefused(shell, OPERATIONS.send, outcome.why);
  if (outcome.kind === "tooLarge") throw tooLarge(outcome.bytes);
  if (outcome.kind === "conflict") throw otherWords(shell, { run, id });
  const first = outcome.kind === "delivered";
  if (!first && outcome.kind !== "duplicate")
    throw steeringRefused(transport, { run, outcome: outcome.kind, what: "accepts no more messages" });
  const says = [first ? "sent" : "already sent before"];
  await reportRequested(shell, transport, { document: { run, message: id, delivered: first }, says });
  return EXIT.done;
}

const REFUSED: { readonly [W in Request["want"]]: string } = {
  pause: "cannot be paused any more",
  resume: "cannot be resumed any more",
  cancel: "cannot be cancelled any more",
};

const WISHES: { readonly [W in Request["want"]]: string } = {
  pause: "will pause after the current beat",
  resume: "will resume",
  cancel: "will end; it starts no new call",
};

export interface ReasonFlags extends StoreFlags {
  /** Why, for the audit log. */
  readonly why?: string;
}

/** `cairn pause|resume|cancel RUN`: requests a change, which takes effect at the next beat. */
export async function steerRun(
  shell: Shell,
  typed: { readonly run: string; readonly want: Request["want"]; readonly flags: ReasonFlags },
): Promise<number> {
  const { want, flags } = typed;
  const { why = "" } = flags;
  const { transport, run } = await transportToRun(shell, typed);
  const { kind: outcome } = await requested(transport, want, { run, why });
  if (outcome !== "requested") throw steeringRefused(transport, { run, outcome, what: REFUSED[want] });
  await reportRequested(shell, transport, {
    document: { run, want, requested: true },
    says: [`${run} ${WISHES[want]}`],
  });
  return EXIT.done;
}

const requested = (
  { perform }: Transport,
  want: Request["want"],
  said: { readonly run: string; readonly why: string },
): Promise<{ readonly kind: string }> => {
  if (want === "pause") return perform("pause", said);
  return want === "resume" ? perform("resume", said) : perform("cancel", said);
};

/** The error for an operation that the run refused. */
export function steeringRefused(
  transport: Transport,
  { run, outcome, what }: { readonly run: string; readonly outcome: string; readonly what: string },
): UserError {
  const { command } = transport;
  if (outcome === "missing") return transport.gone(run);
  if (outcome === "unreadable") return runUnreadable(run, command("verify", run));
  const why = "it has ended; its timeline shows how";
  return refusedAs(OPERATIONS.cancel, "late", { what: `run ${run} ${what}`, why, next: command("timeline", run) });
}

function otherWords(shell: Shell, { run, id }: { readonly run: string; readonly id: string }): UserError {
  return refusedAs(OPERATIONS.send, "conflict", {
    facts: { run },
    what: `the key ${short(id, 60)} was already used for another message to run ${run}`,
    why: "one key names one message, so this text was not sent; send it with another key, or without --key",
    next: retyped(shell, "--key", "ANOTHER_KEY"),
  });
}

function noText(run: string): UserError {
  const what = "the message cannot be sent";
  const next = commandLine(["send", run, "no flights before nine"]);
  return new UserError({ code: "Usage", exit: EXIT.usage, what, why: "it has no text", next });
}

function tooLarge(bytes: number): UserError {
  const why = `a message has ${SIZES.messageBytesMax} bytes at most`;
  const next = "npx cairn send RUN 'a shorter text, or where to find the full one'";
  return refusedAs(OPERATIONS.send, "tooLarge", { what: `the message has ${bytes} bytes`, why, next });
}
