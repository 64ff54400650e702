/** `cairn answer RUN CALL` and `cairn signal RUN EVENT`: give a call that waits what it waits for. */
import type { AnswerDelivered } from "../../operations/answer.ts";
import type { Signalled } from "../../operations/signal.ts";
import { OPERATIONS } from "../../operations/table.ts";
import type { UserError } from "../../compose/user-error.ts";
import { readJson } from "../input.ts";
import { refusedAs } from "../perform.ts";
import { retyped, shortJson } from "../../render/words.ts";
import { reportAccepted } from "../accepted.ts";
import type { StoreFlags } from "../../compose/surroundings.ts";
import type { Shell } from "../shell.ts";
import { agentOf } from "./approve.ts";
import { transportToRun } from "../choose-transport.ts";
import type { Transport } from "../transport.ts";

const SHOWN_MAX = 200;

/** `cairn answer RUN CALL --result JSON`: a human answers a question of the run. */
export async function answerCall(
  shell: Shell,
  typed: { readonly run: string; readonly call: string; readonly flags: StoreFlags & { readonly result: string } },
): Promise<number> {
  const { call, flags } = typed;
  const result = await readJson(shell, { option: "--result", text: flags.result });
  const { transport, run } = await transportToRun(shell, typed);
  const local = { agentOf: agentLoader(transport, run) };
  const outcome = await transport.perform("answer", { run, call, result }, local);
  if (outcome.kind !== "accepted") throw answerRefused(shell, transport, { run, call, outcome });
  const { stage } = outcome;
  await reportAccepted(shell, transport, {
    document: { run, call, result, stage },
    says: `answered: ${call} of ${run}`,
  });
  return 0;
}

/** `cairn signal RUN EVENT --detail JSON`: an event that the run waits for, or will wait for. */
export async function signalEvent(
  shell: Shell,
  typed: {
    readonly run: string;
    readonly event: string;
    readonly flags: StoreFlags & { readonly detail?: string; readonly key?: string };
  },
): Promise<number> {
  const { event, flags } = typed;
  const detail = flags.detail === undefined ? null : await readJson(shell, { option: "--detail", text: flags.detail });
  const { transport, run } = await transportToRun(shell, typed);
  const local = { agentOf: agentLoader(transport, run) };
  const outcome = await transport.perform("signal", { run, event, detail, id: flags.key ?? null }, local);
  if (outcome.kind === "accepted" || outcome.kind === "duplicate") {
    const call = outcome.kind === "accepted" ? outcome.call : null;
    const first = outcome.kind === "accepted";
    const takes = call === null ? "no call waits for it yet, so it is kept" : `${call} waits for it`;
    const says = first ? `signalled: ${event} to ${run}; ${takes}` : `${event} was signalled to ${run} before`;
    await reportAccepted(shell, transport, { document: { run, event, call, delivered: first }, says });
    return 0;
  }
  if (outcome.kind === "interim") {
    const says = `${event} is an interim report for ${run}: the call waits on, and the run does not see it`;
    await reportAccepted(shell, transport, { document: { run, event, call: null, delivered: false }, says });
    return 0;
  }
  throw signalRefused(shell, transport, { run, event, outcome });
}

/** Loads the code of the run's agent, if it is here, so that what does not fit is refused before it is sent. */
const agentLoader =
  ({ opened, perform }: Transport, run: string) =>
  async (name: string): ReturnType<typeof agentOf> => {
    const found = opened === null ? null : await perform("show", { run });
    return opened !== null && found?.kind === "shown" ? agentOf(opened, name, found.shown.agentVersion) : null;
  };

function answerRefused(
  shell: Shell,
  transport: Transport,
  {
    run,
    call,
    outcome,
  }: { readonly run: string; readonly call: string; readonly outcome: Exclude<AnswerDelivered, { kind: "accepted" }> },
): UserError {
  const next = transport.command("show", run);
  const refused = (words: { what: string; why: string; next?: string }) =>
    refusedAs(OPERATIONS.answer, outcome.kind, { next, ...words });
  switch (outcome.kind) {
    case "duplicate": {
      const { answer } = outcome;
      const why =
        answer === null
          ? "the first answer counts"
          : `the first answer counts: ${answer.by} answered ${shortJson(answer.result, SHOWN_MAX)}`;
      return refused({ what: `${call} was answered already`, why });
    }
    case "stale": {
      const open = outcome.calls.join(", ");
      const waiting = open === "" ? "no call of the run waits for an answer" : `these calls wait for one: ${open}`;
      return refused({ what: `${call} of run ${run} waits for no answer`, why: outcome.why ?? waiting });
    }
    case "noEffect":
      return refused({ what: `the answer to ${call} of run ${run} had no effect`, why: outcome.why });
    case "answerInvalid": {
      const why = `${outcome.why}; the question is still open`;
      const what = `the answer does not fit what ${call} asks for`;
      return refused({ what, why, next: retyped(shell, "--result", "JSON") });
    }
    case "refused":
      return refused({ what: "the answer cannot be kept", why: outcome.why });
    case "late":
      return refused({ what: `run ${run} has ended`, why: "an ended run accepts no answers" });
    case "missing":
      return transport.gone(run);
  }
}

function signalRefused(
  shell: Shell,
  transport: Transport,
  {
    run,
    event,
    outcome,
  }: {
    readonly run: string;
    readonly event: string;
    readonly outcome: Exclude<Signalled, { kind: "accepted" | "duplicate" | "interim" }>;
  },
): UserError {
  const next = transport.command("show", run);
  const refused = (words: { what: string; why: string; next?: string }) =>
    refusedAs(OPERATIONS.signal, outcome.kind, { next, ...words });
  switch (outcome.kind) {
    case "conflict": {
      const why = "one key names one event, so this one was not sent; send it with another key, or without --key";
      return refused({ what: "the key was already used for another event", why, next: retyped(shell, "--key", "KEY") });
    }
    case "detailInvalid": {
      const what = `the detail does not fit the call that waits for ${event}`;
      return refused({ what, why: outcome.why, next: retyped(shell, "--detail", "JSON") });
    }
    case "refused":
      return refused({ what: `run ${run} does not take event ${event}`, why: outcome.why });
    case "late":
      return refused({ what: `run ${run} has ended`, why: "an ended run takes no events" });
    case "missing":
      return transport.gone(run);
  }
}
