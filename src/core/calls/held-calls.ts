/**
 * Calls that something holds: the one table of what a gate, a child run and a wait mean for the run. The rest of the core
 * asks whether a call is held and whether its hold is due, and not by what it is held.
 */
import type { Gate } from "../approval.ts";
import type { HeldAs, HeldBy } from "../held-by.ts";
import type { Phase } from "../phases.ts";
import type { OpenCall, State } from "../state.ts";
import type { Wait } from "../wait.ts";

interface HeldRow<H> {
  /** `gated`: it is held before its release. `started`: after it. */
  readonly status: OpenCall["status"];
  /** False once the run has to work for the call again, in another phase than that of the hold. */
  readonly holds: (held: H) => boolean;
  /** What the call is held for has come, and the run has to take it in. */
  readonly isDue: (held: H) => boolean;
  /** The phase of a run whose calls are all held. `ExecutingTools`: the hold has no phase of its own (ADR 0056). */
  readonly phase: (held: H) => Phase;
  /** The run has to be woken for what comes. A decision is read at the limit of its gate, and children have entries. */
  readonly wakes: (held: H) => boolean;
  /** When the hold ends without what it waits for; null: never, or the entry of the child says it. */
  readonly limit: (held: H) => number | null;
  /** Something acts for the call meanwhile, so it has an unknown outcome if the run stops. */
  readonly acts: boolean;
  /** The call of a redriven run. What came before the end was reported as ignored, so it is asked for again. */
  readonly again: (call: OpenCall, held: H, at: number) => OpenCall;
}

export const HELD: { readonly [B in HeldBy["by"]]: HeldRow<HeldAs<B>> } = {
  gate: {
    status: "gated",
    holds: () => true,
    isDue: ({ decision }) => decision !== null,
    phase: () => "AwaitingApproval",
    wakes: () => false,
    limit: ({ expiresAt }) => expiresAt,
    acts: false,
    again: (call, gate, at) =>
      isGateClosed(gate, at)
        ? { ...withoutHold(call), status: "proposed", timesReopened: (call.timesReopened ?? 0) + 1 }
        : call,
  },
  child: {
    status: "started",
    holds: ({ report, over }) => report === undefined && over !== true,
    isDue: ({ report }) => report !== undefined,
    phase: () => "AwaitingChildren",
    wakes: () => false,
    limit: () => null,
    acts: true,
    again: (call) => call,
  },
  wait: {
    status: "started",
    holds: () => true,
    isDue: ({ given }) => given !== undefined,
    phase: (wait) => (wait.for === "answer" ? "AwaitingApproval" : "ExecutingTools"),
    wakes: (wait) => wait.for !== "time",
    limit: ({ until }) => until,
    acts: false,
    again: (call, wait, at) => ({ ...call, heldBy: { ...waitAgain(wait, at), by: "wait" } }),
  },
};

/** The row of a hold. The table is typed by kind, which TypeScript cannot follow from `by`. */
const rowOf = ({ by }: HeldBy): HeldRow<HeldBy> => HELD[by] as HeldRow<HeldBy>;

const ask = <T>({ heldBy }: OpenCall, question: (row: HeldRow<HeldBy>, held: HeldBy) => T): T | undefined =>
  heldBy === undefined ? undefined : question(rowOf(heldBy), heldBy);

/** The call is held: no process runs anything for it. */
export const isHeld = (call: OpenCall): boolean =>
  ask(call, ({ status, holds }, held) => call.status === status && holds(held)) ?? false;

/** What the call is held for has come. */
export const isDue = (call: OpenCall): boolean => ask(call, (row, held) => row.isDue(held)) ?? false;

/** The call is released, and an invocation runs it. */
export const isReleased = ({ status, heldBy }: OpenCall): boolean => status === "started" && heldBy === undefined;

/** The invocation with this epoch released the call, and nothing has to be known before it runs. */
export const isReleasedBy = (call: OpenCall, epoch: number): boolean =>
  isReleased(call) && call.releasedBy === epoch && call.probeAt === null;

/** The call has begun, and nothing says how it went: an invocation or something that holds it may have acted. */
export const mayHaveActed = (call: OpenCall): boolean =>
  call.status === "started" && (ask(call, ({ acts }) => acts) ?? true);

/** The phase of a run whose calls are all held: a human's answer comes before a child's, and that before the rest. */
export function phaseOfHeld(open: readonly OpenCall[]): Phase {
  const held = open.filter(isHeld);
  const first = BY_RANK.find((phase) => held.some((call) => ask(call, (row, by) => row.phase(by)) === phase));
  return first ?? "AwaitingApproval";
}

const BY_RANK: readonly Phase[] = ["AwaitingApproval", "AwaitingChildren", "ExecutingTools"];

/** Something outside the run can end one of its holds at any moment, so it has to be woken for it. */
export const wakesFromOutside = ({ open }: State): boolean =>
  open.some((call) => isHeld(call) && ask(call, (row, held) => row.wakes(held)) === true);

/** When the hold of the call ends without what it waits for; null: never, or nothing holds it. */
export const limitOf = (call: OpenCall): number | null =>
  isHeld(call) ? (ask(call, (row, held) => row.limit(held)) ?? null) : null;

/** The call of a redriven run. */
export const heldAgain = (call: OpenCall, at: number): OpenCall =>
  ask(call, (row, held) => row.again(call, held, at)) ?? call;

/** The same call, held by nothing. */
export function withoutHold(call: OpenCall): OpenCall {
  const { heldBy: _, ...free } = call;
  return free;
}

/**
 * A redriven run asks anew in two cases. In the first, the end reported a decision as ignored. In the second, the gate
 * expired while the run had ended, so no human could decide in time.
 */
export const isGateClosed = (gate: Gate, at: number): boolean => gate.decision !== null || gate.expiresAt <= at;

/** The wait of a redriven run. A limit that passed while the run had ended begins anew. */
function waitAgain(wait: Wait, at: number): Wait {
  if (wait.for === "time") return wait;
  const { given, ...rest } = wait;
  const again = given === undefined ? wait : { ...rest, question: wait.question + 1 };
  const { from, until } = again;
  return until === null || until > at ? again : { ...again, from: at, until: at + (until - from) };
}

/** The gate that holds the call; null if none does. */
export const gateIn = ({ heldBy }: Pick<OpenCall, "heldBy">): HeldAs<"gate"> | null =>
  heldBy?.by === "gate" ? heldBy : null;

/** What the call knows about its newest child; undefined if it dispatched none. */
export const childIn = ({ heldBy }: Pick<OpenCall, "heldBy">): HeldAs<"child"> | undefined =>
  heldBy?.by === "child" ? heldBy : undefined;

/** What the call knows about its wait; undefined if it began none. */
export const waitIn = ({ heldBy }: Pick<OpenCall, "heldBy">): HeldAs<"wait"> | undefined =>
  heldBy?.by === "wait" ? heldBy : undefined;

/** What holds the call, if it waits now. */
export const heldWait = (call: OpenCall): HeldAs<"wait"> | undefined => (isHeld(call) ? waitIn(call) : undefined);

/**
 * The call waits for a time and nothing else. Schedule 234: a clock is set back by an hour. By `earliest` such a wait would
 * last an hour longer, and there is nothing that its end could lose.
 */
export const isForTime = (call: OpenCall): boolean => heldWait(call)?.for === "time";

/** The call waits for a child that has not reported. */
export const waitsForChild = (call: OpenCall): boolean => childIn(call) !== undefined && isHeld(call);
