/**
 * Names and keys that cairn derives. Each derives from what it names, so a repeated action gets the same name and is
 * recognised. Only incarnations, owners and commits are random, and their randomness comes from the caller.
 */
import type { Hash } from "../core/ids.ts";

const ALPHABET = "abcdefghijklmnopqrstuvwxyz234567";
const TIME_DIGITS = 15;

/** Epoch milliseconds as a text of fixed length, so that texts sort as their times do. */
export const timeText = (time: number): string => String(Math.max(0, Math.floor(time))).padStart(TIME_DIGITS, "0");

/** The time at the beginning of a text; `NaN` if there is none. */
export const timeIn = (text: string): number => Number(text.slice(0, TIME_DIGITS));

/** The run ID, `{tenant}-{26 base32}`. The same idempotency key of the same agent names the same run. */
export function runId(
  hash: Hash,
  { tenant, agent, idempotencyKey }: { tenant: string; agent: string; idempotencyKey: string },
): string {
  return `${tenant}-${base32(hash(joined("run", tenant, agent, idempotencyKey)), 26)}`;
}

/**
 * The run ID of a child. It names the parent's incarnation, the restart number, the call and the try, so a child of one
 * of them is never taken for that of another.
 */
export function childRunId(
  hash: Hash,
  child: { tenant: string; run: string; born: string; attempt: number; call: string; try: number },
): string {
  const named = joined("child", child.run, child.born, String(child.attempt), child.call, String(child.try));
  return `${child.tenant}-${base32(hash(named), 26)}`;
}

/** An incarnation ID of ten characters, from 64 random hex digits. */
export const bornFrom = (randomHex: string): string => base32(randomHex, 10);

/** The name of an execution of a run's chain, at most 80 characters. A name is used once. */
export function executionName(run: string, born: string, chain: number): string {
  return `${run}-${born}-${chain}`;
}

/**
 * The idempotency key of a call. It derives from the intent and never from a try. `attempt` is
 * the number of the restart, so that the external service does not answer with a result that was compensated (schedule
 * 21).
 */
export function intentKey(
  hash: Hash,
  {
    run,
    born,
    attempt,
    call,
    tool,
    args,
  }: { run: string; born: string; attempt: number; call: string; tool: string; args: string },
): string {
  const intent = joined("intent", run, born, String(attempt), call, tool, args);
  return `${tool}-${call}-${base32(hash(intent), 26)}`;
}

/**
 * The name of a call's gate. An approval covers exactly this plan and these arguments: a changed call has another gate,
 * so a late decision cannot approve it (schedule 29). `again` numbers a repeated question, since the message ID of the
 * first decision is used up.
 */
export function gateId(
  hash: Hash,
  {
    again,
    attempt,
    call,
    planHash,
    argsHash,
  }: { attempt: number; call: string; planHash: string; argsHash: string; again?: number | undefined },
): string {
  const asked = again === undefined ? [] : [String(again)];
  const asks = joined("gate", String(attempt), call, planHash, argsHash, ...asked);
  return `${call}-${base32(hash(asks), 26)}`;
}

/** The message ID of a decision about a gate. The first decision counts. */
export const decisionId = (gate: string): string => `gate#${gate}`;

/** The ID of the one message in which a child run reports its end. */
export const childEndId = (child: string): string => `child#${child}`;

/** The message ID under which a parent wants the effects of its child compensated. */
export const parentStopId = "cancel#parent";

/** The message ID of a reconciliation of a call, for the question number `asked`. The first one counts. */
export const reconcileId = (call: string, asked: number): string => `reconcile#${call}#${asked}`;

/** The message ID of a human's answer to the question number `asked` of a call. The first one counts. */
export const answerId = (call: string, asked: number): string => `answer#${call}#${asked}`;

/** The message ID of an event that a sender names `id`. */
export const signalId = (id: string): string => `signal#${id}`;

/** The message ID of an accepted upgrade, for the question number `asked`. The first one counts. */
export const upgradeId = (asked: number): string => `upgrade#${asked}`;

/** The message ID of assignment number `asked` of a run. The first message with this ID counts. */
export const assignId = (asked: number): string => `assign#${asked}`;

/** The message ID of a request to compensate the effects of restart number `attempt`. */
export const compensateId = (next: "cancel" | "restart", attempt: number): string => `${next}#${attempt}`;

/** The ID of a notification: the one at this place among those of the commit that made this version. */
export const notificationId = (
  hash: Hash,
  { run, born, version, place }: { run: string; born: string; version: number; place: number },
): string => `msg_${base32(hash(joined("notification", run, born, String(version), String(place))), 26)}`;

/** Joins the parts into one text that no other parts can produce. */
const joined = (...parts: readonly string[]): string => JSON.stringify(parts);

function base32(hex: string, characters: number): string {
  const digits = Math.ceil((characters * 5) / 4);
  let value = BigInt(`0x${hex.slice(0, digits).padEnd(digits, "0")}`);
  let out = "";
  for (let index = 0; index < characters; index += 1) {
    out = (ALPHABET[Number(value % 32n)] ?? "") + out;
    value /= 32n;
  }
  return out;
}
