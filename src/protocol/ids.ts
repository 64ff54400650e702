/**
 * Names and keys that are made. Every one derives from what it names, so that whoever does a thing twice does it under one
 * name; randomness is left to incarnations, owners and commits, and comes in from outside.
 */
import type { Hash } from "../core/ids.ts";

const ALPHABET = "abcdefghijklmnopqrstuvwxyz234567";

/** `{tenant}-{26 base32}`: the same idempotency key of the same agent names the same run. */
export function runId(hash: Hash, of: { tenant: string; agent: string; idempotencyKey: string }): string {
  return `${of.tenant}-${base32(hash(joined("run", of.tenant, of.agent, of.idempotencyKey)), 26)}`;
}

/** Ten characters of an incarnation from 64 random hex digits. */
export const bornFrom = (randomHex: string): string => base32(randomHex, 10);

/** Names an execution of a run's chain, at most 80 characters, spent for ever once used. */
export function executionName(run: string, born: string, chain: number): string {
  return `${run}-${born}-${chain}`;
}

/**
 * The idempotency key of a call: from the intent, never from the attempt (seed 4). `attempt` is raised by a restart
 * from scratch, so that the other side does not answer with what was undone (schedule 21).
 */
export function intentKey(
  hash: Hash,
  of: { run: string; born: string; attempt: number; call: string; tool: string; args: string },
): string {
  const intent = joined("intent", of.run, of.born, String(of.attempt), of.call, of.tool, of.args);
  return `${of.tool}-${of.call}-${base32(hash(intent), 26)}`;
}

/**
 * The gate of a call: what is approved is exactly this plan and these arguments. A call that changes has another gate,
 * so a late decision cannot meet it (schedule 29). One that is asked about again has another gate too: the message of the
 * first decision is spent.
 */
export function gateId(
  hash: Hash,
  of: { attempt: number; call: string; planHash: string; argsHash: string; again?: number | undefined },
): string {
  const { again } = of;
  const asked = again === undefined ? [] : [String(again)];
  const asks = joined("gate", String(of.attempt), of.call, of.planHash, of.argsHash, ...asked);
  return `${of.call}-${base32(hash(asks), 26)}`;
}

/** The message id under which a decision about a gate counts: the first one does. */
export const decisionId = (gate: string): string => `gate#${gate}`;

/** The one message in which a child run tells its end. */
export const childEndId = (child: string): string => `child#${child}`;

/** The message id under which an answer to the question `asked` about a call counts: the first one does. */
export const reconcileId = (call: string, asked: number): string => `reconcile#${call}#${asked}`;

/** The message id under which a run is let go on under another version: the first answer to the question counts. */
export const upgradeId = (asked: number): string => `upgrade#${asked}`;

/** The message id of the how many-th assignment of a run: the first one that says so counts. */
export const assignId = (asked: number): string => `assign#${asked}`;

/** The message id under which somebody wants the effects of an attempt undone. */
export const compensateId = (next: "cancel" | "restart", attempt: number): string => `${next}#${attempt}`;

/** One text of many that no choice of the parts can make equal to another. */
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
