/**
 * The inbox of a run: how messages are delivered, absorbed and removed. A commit absorbs a message by its ID, then the
 * inbox item is deleted, and only then is the ID cleared. In this order a crash between two steps neither loses nor
 * doubles a message (schedules 10, 27, 43).
 *
 * An inbox item holds the text as its sender wrote it, and the sender may not know every secret. The commit holds the
 * redacted text. So the item is deleted as soon as the commit is durable: by the committing process, by the next
 * invocation, or with the delivery of the end (schedule 108).
 */
import { canonical } from "../../codec/canonical.ts";
import { RowNewer, decodeBody } from "../../codec/row.ts";
import { bounded } from "../../codec/value.ts";
import { SIZES } from "../../codec/limits.ts";
import type { MessageBody } from "../../core/event.ts";
import { heldTexts, isModelOut } from "../../core/policy/model-out.ts";
import type { State, OpenCall } from "../../core/state.ts";
import type { InboxMessage } from "../../ports/inbox.ts";
import type { World } from "../../ports/world.ts";
import type { ActiveRun } from "./active-run.ts";
import { wakeRun } from "./executions.ts";
import { resolveAmbiguousWrite } from "../../history/resolve-ambiguous-write.ts";
import { recordIgnoredDecision } from "../../features/approvals/ignored-decisions.ts";
import { reasonToIgnore } from "../../features/waits/core.ts";
import { unjudgedInputs } from "../../core/calls/held-ends.ts";
import { STOP_ID, NEXT_MESSAGE } from "../../core/calls/next-message.ts";
import { learnSecrets, redactionIn } from "../../history/secrets.ts";
import { isHeld, isReleasedBy, gateIn, waitIn } from "../../core/calls/held-calls.ts";
import { inline } from "../../core/message.ts";
import type { WaitEvents } from "../../core/wait.ts";

/** Reads the inbox if the wake-up counter has moved. Also clears the IDs that an earlier, committed beat absorbed. */
export async function openInbox(run: ActiveRun): Promise<void> {
  await clearAbsorbed(run);
  // The inbox of a paused run stays unread. Resuming raises the wake-up counter, so that the next invocation reads it.
  // An end that is decided waits for the reports of children, paused or not.
  const isEnding = run.state.ending !== null && run.state.children.length > 0;
  if (run.row.pause && !run.row.cancel && !isEnding) run.pending.noteInboxRead(run.row.wakeCount);
  else if (run.row.wakeCount !== run.pending.wakeCountRead) await absorbInbox(run);
}

/**
 * Absorbs the messages in the inbox, as many as one commit may hold. Returns false if there may be more. Then the
 * wake-ups stay unseen, so that the run neither parks nor ends before it has absorbed all messages.
 */
export async function absorbInbox(run: ActiveRun): Promise<boolean> {
  if (run.state.absorbed.length >= SIZES.absorbMax) {
    await run.commitPending();
    await clearAbsorbed(run);
  }
  const { run: id, born, wakeCount } = run.row;
  for (let limit = run.state.absorbed.length + SIZES.absorbMax; ; limit *= 2) {
    const found = await run.world.inbox.unread({ run: id, born, now: run.now, limit });
    // Absorbed messages are written, so they need redaction. This rejects if the secrets cannot be read now, and the
    // messages wait.
    if (found.length > 0) await learnSecrets(run.world);
    const count = absorbFound(run, found);
    if (found.length < limit) break;
    // Texts that have to wait must not hide what an operator asks for behind them.
    if (count > 0) return false;
  }
  // The counter as it was before the inbox was read. A later message raises it again and wakes the run.
  run.pending.noteInboxRead(wakeCount);
  return true;
}

/** Absorbs these messages, in their order. Returns their number. Texts for which the state has no room stay in the inbox. */
function absorbFound(run: ActiveRun, found: readonly InboxMessage[]): number {
  const before = run.state.absorbed.length;
  let hasRoom = true;
  for (const { id: message, body, sentAt } of found) {
    if (run.state.absorbed.includes(message)) continue;
    // No text may overtake another one.
    hasRoom &&= hasRoomFor(run.state, body);
    if (!hasRoom && "text" in body) continue;
    // C4: only a report whose entry stands counts, and it is debited in the commit that absorbs it.
    const isAwaited = body.kind === "child" && run.state.children.some(({ id }) => id === body.child);
    if (isAwaited && run.row.status === "waiting" && sentAt > run.row.lastCheckpointAt)
      run.noticed.noteReportWhileWaiting();
    const ignored = ignoredInput(run.state, body);
    run.record({ kind: "MessageAbsorbed", at: run.now, stage: "taken", message, body });
    if (isAwaited && body.spent !== undefined) {
      run.record({ kind: "BudgetDebited", at: run.now, debit: body.spent, for: "a child run", child: body.child });
    }
    recordIgnoredDecision(run, body);
    if (message.startsWith(STOP_ID) && "text" in body) stopAnswer(run, body.by);
    if (ignored !== null) run.record({ kind: "InputIgnored", at: run.now, ...ignored });
  }
  return run.state.absorbed.length - before;
}

/** What is recorded of an answer or event that has no effect, so that its sender can learn it. Null for every other message. */
function ignoredInput(state: State, body: MessageBody): WaitEvents["InputIgnored"] | null {
  if (body.kind !== "answer" && body.kind !== "signal") return null;
  const why = reasonToIgnore(state, body);
  if (why === null) return null;
  const { by } = body;
  return body.kind === "answer"
    ? { for: "answer", name: body.call, by, why }
    : { for: "event", name: body.event, by, why };
}

/** The run is to end, and calls that wait have an answer or event that no beat has judged. */
export function ignoreUnjudgedInputs(run: ActiveRun): void {
  const why = "the run was to end before a beat judged it";
  for (const each of unjudgedInputs(run.state)) run.record({ kind: "InputIgnored", at: run.now, ...each, why });
}

/** While a request to the model is out, the state holds the texts that follow its reply, and it has a limit. */
const hasRoomFor = (state: State, body: MessageBody): boolean =>
  !isModelOut(state) ||
  !("text" in body) ||
  Buffer.byteLength(canonical([...heldTexts(state), body]), "utf8") <= SIZES.heldBytesMax;

/** Reads the inbox after the end of a request to the model, for the texts that the state had no room for beside it. */
export async function absorbLeftTexts(run: ActiveRun): Promise<void> {
  if (run.pending.noteTextsLeft()) await absorbInbox(run);
}

/** Deletes the inbox items of absorbed and committed messages, then records that their IDs are cleared. */
async function clearAbsorbed(run: ActiveRun): Promise<void> {
  const { absorbed } = run.state;
  if (absorbed.length === 0) return;
  const { run: id, born } = run.row;
  const ids = absorbed.filter((each) => !run.committed.hasRemoved(each));
  if (ids.length > 0) await run.world.inbox.clear({ run: id, born, now: run.now, ids });
  for (const message of absorbed) run.record({ kind: "MessageAbsorbed", at: run.now, stage: "cleared", message });
}

/**
 * The outcome of a delivery. `conflict`: another text was delivered under this message ID before. `late`: the run has
 * ended. `missing`: there is no such run. `unreadable`: its row cannot be read.
 */
export type Delivered = "delivered" | "duplicate" | "conflict" | "late" | "missing" | "unreadable";

/**
 * Delivers a message to a run and wakes the run. A duplicate wakes the run too, because its first sender may have died
 * before the wake-up. Secrets in the message are replaced before it is written. Returns `conflict` if the message ID
 * belongs to another text; then the message was not accepted.
 */
export async function deliver(
  world: World,
  to: { readonly run: string; readonly born: string; readonly message: InboxMessage },
): Promise<Delivered> {
  const now = world.clock.now();
  await learnSecrets(world);
  const body = redactionIn(world).words(to.message.body);
  const message = { ...to.message, body };
  // A body that no reader accepts would stop its run, so it fails its sender instead.
  decodeBody(JSON.stringify(body), message.id);
  const digest = body === to.message.body ? digestOf(world, body) : null;
  const delivery = { ...to, message, digest, now, deadline: now + world.limits.idleRunMs };
  const outcome = await resolveAmbiguousWrite(
    () => world.inbox.deliver(delivery),
    () => null,
  );
  if (outcome.kind === "newer") throw new RowNewer(to.run, outcome);
  if (outcome.kind === "delivered" || outcome.kind === "duplicate") {
    const row = await world.table.read(to.run, world.clock.now());
    if (row !== null) await wakeRun(world, row);
  }
  return outcome.kind;
}

/**
 * The digest of a user message or an event, to detect other content under the same ID. It covers what the sender gave:
 * a later process may know more secrets and would redact more of the same text.
 *
 * Null if something was redacted, because a weak secret could be guessed from the digest. Null also for messages that
 * are no text: `decision-fate.ts` compares those by its own rules.
 */
const digestOf = (world: World, body: MessageBody): string | null =>
  body.kind === "user"
    ? world.hash(body.text)
    : body.kind === "userFiles"
      ? world.hash(JSON.stringify([body.text, body.files.map(({ file }) => file)]))
      : body.kind === "signal"
        ? world.hash(JSON.stringify([body.event, body.value]))
        : null;

/** The sender's name for a message, bounded in length. */
export const senderOf = (by: string): string => bounded(by, SIZES.nameCharactersMax) || "unknown";

/**
 * Ends the answer under way of a conversation: the calls of its last reply that did not begin are settled, those that
 * began are awaited, and then a reply of cairn takes the place of the rest (`loop/step.ts`). `by`: the user who stopped
 * it.
 */
function stopAnswer(run: ActiveRun, by: string): void {
  // What is undone goes on, and so does a run that is to end.
  if (run.state.ending !== null || run.state.undo !== undefined) return;
  for (const open of run.state.open) {
    const gate = gateIn(open);
    // An approval that came first and is not applied yet began nothing.
    if (gate === null || gate.decision?.as === "deny") continue;
    const decision = { as: "deny", args: null, by, note: "the user stopped the answer" } as const;
    run.record({ kind: "HumanApprovalReceived", at: run.now, gate: gate.gate, call: open.call, decision });
  }
  for (const open of run.state.open) {
    const { call } = open;
    const isWait = waitIn(open) !== undefined;
    if (!(isWait || run.state.phase === "ExecutingTools") || !isUnbegun(run, open)) continue;
    const why = isWait ? "StoppedWaiting: the user stopped the answer" : "NotStarted: the user stopped the answer";
    const result = {
      outcome: "failed",
      value: inline(why),
      externalId: null,
      evidence: "it was never started",
    } as const;
    run.record({ kind: "ToolResultRecorded", at: run.now, call, ...result });
  }
  run.pending.requireCommit();
}

/** The call did nothing outside: it waits for a human or a time, or its attempt is not made. */
function isUnbegun(run: ActiveRun, open: OpenCall): boolean {
  const { call, tool, status, attempts, undoes, timesUnknown, releasedBy } = open;
  if (tool === NEXT_MESSAGE || undoes !== undefined || timesUnknown > 0 || run.noticed.knows("unanswered", call))
    return false;
  if (waitIn(open) !== undefined) return true;
  if (isHeld(open)) return false;
  // Schedule 277: an earlier invocation that released the call may have begun it.
  if (status === "started") return isReleasedBy(open, run.row.epoch) && attempts === 0;
  return (status === "proposed" || status === "permitted") && releasedBy === null;
}
