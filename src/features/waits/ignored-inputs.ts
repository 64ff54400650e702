/** Records answers and events that have no effect, so that their senders can learn it. */
import { waitIn } from "../../core/calls/held-calls.ts";
import { reasonToIgnore } from "./core.ts";
import type { MessageBody } from "../../core/event.ts";
import type { State } from "../../core/state.ts";
import type { ActiveRun } from "../../engine/context/active-run.ts";

/** Why the state takes nothing of the message; null: it does, or the message is no answer and no event. */
export const whyIgnored = (state: State, body: MessageBody): string | null =>
  body.kind === "answer" || body.kind === "signal" ? reasonToIgnore(state, body) : null;

/** `why`: what `whyIgnored` said before the message was absorbed. */
export function recordIgnoredInput(run: ActiveRun, body: MessageBody, why: string | null): void {
  if (why === null || (body.kind !== "answer" && body.kind !== "signal")) return;
  const [of, name] = body.kind === "answer" ? (["answer", body.call] as const) : (["event", body.event] as const);
  run.record({ kind: "InputIgnored", at: run.now, for: of, name, by: body.by, why });
}

/** The run is to end, and calls that wait have an answer or event that no beat has judged. */
export function ignoreUnjudgedInputs(run: ActiveRun): void {
  for (const open of run.state.open) {
    const wait = waitIn(open);
    if (wait?.given === undefined || wait.for === "time") continue;
    const name = wait.for === "event" ? (wait.event ?? "") : open.call;
    const why = "the run was to end before a beat judged it";
    run.record({ kind: "InputIgnored", at: run.now, for: wait.for, name, by: wait.given.by, why });
  }
}
