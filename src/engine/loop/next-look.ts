/**
 * When a run that a beat releases is looked at next, whether it moves to the next execution, and what the beat answers to
 * its chain: where the execution goes, and the seconds until then. Pure.
 */
import { BOUNDS } from "../../core/limits.ts";
import type { Payload, Reply, Route, TaskResult } from "../../protocol/chain.ts";
import { type Limits, TIMES } from "../../protocol/limits.ts";
import type { Row } from "../../protocol/row.ts";

export type Answered = Extract<TaskResult, { readonly kind: "beat" }>;

/** What the next beat of the run needs to know, by the row. */
export const payloadOf = ({ run, born, chain, epoch, agent }: Row): Payload => ({ run, born, chain, epoch, agent });

/** `seconds`: how long the execution waits or parks, where the route does. */
export function answer(payload: Payload, route: Route, seconds = 1): Answered {
  const { run, born, chain, epoch, agent } = payload;
  const reply: Reply = { run, born, chain, epoch, agent, route, seconds };
  return { kind: "beat", reply };
}

/** How a beat releases its run. Times here and below are epoch milliseconds. */
export type LetGo =
  | { readonly kind: "beat" }
  | { readonly kind: "wait"; readonly until: number }
  /** Park until a wake-up comes, or as long as a run may wait, at most `until`. */
  | { readonly kind: "park"; readonly until?: number; readonly warning: Warning | null };

/** This beat warned of the end of the run, and did nothing else. `expiresAt` null: it said that the run goes on waiting. */
export interface Warning {
  readonly expiresAt: number | null;
}

/** What decides when a released run is looked at next. All of it is read at one moment, `now`. */
export interface Released {
  readonly how: LetGo;
  readonly now: number;
  /** It waits for code, or for a child that could not be asked, so that no wake-up comes. */
  readonly mustLook: boolean;
  /** Whether anything has happened in this invocation that begins the wait anew. */
  readonly hasNews: boolean;
  /** Since when the row has the status that the run has now; null: this beat changes it. */
  readonly statusSince: number | null;
  /** The end of the wait, as the beat found it in the row. */
  readonly waitsUntil: number;
  /** The end of which was warned before. */
  readonly warnedOf: number | null;
  /** The number of claims that the execution has made. */
  readonly chainClaims: number;
  readonly limits: Pick<Limits, "skewMs" | "idleRunMs" | "chainClaimsMax">;
}

export interface NextLook {
  /** The end of the wait, for the row. */
  readonly deadline: number;
  /** When the run is looked at next if it waits. */
  readonly until: number;
  /** The same for the row; null: the next beat follows at once. */
  readonly wakeAt: number | null;
  /** The run moves to the next execution of its chain: this one has made all the claims that it may make. */
  readonly nextChain: boolean;
}

/**
 * Schedule 57: a beat without news moves no deadline. Otherwise a run whose agent never returns would never end.
 *
 * Schedule 104: the deadline has passed by this clock only. The deadline stays, and the run polls again.
 *
 * One reading of the clock decides about both times. A park that ended before the deadline would lead to another month
 * of parking.
 */
export function nextLook(released: Released): NextLook {
  const { how, now, mustLook, waitsUntil, limits } = released;
  const warning = how.kind === "park" ? how.warning : null;
  const isIdle = (mustLook || how.kind === "park") && !released.hasNews;
  const isDoubted = how.kind === "park" && warning === null && now + limits.skewMs >= waitsUntil;
  const deadline = warning?.expiresAt ?? (isIdle ? waitsUntil : now + limits.idleRunMs);
  const parkedUntil = isDoubted ? now + BOUNDS.clockAgainMs : nextWarning(released, deadline);
  const park = how.kind === "park" ? Math.min(how.until ?? Infinity, parkedUntil) : parkedUntil;
  const asked = how.kind === "wait" ? how.until : park;
  const until = mustLook ? Math.min(asked, now + lookMs(released)) : asked;
  const nextChain = released.chainClaims >= limits.chainClaimsMax;
  return { deadline, until, wakeAt: how.kind === "beat" ? null : until, nextChain };
}

/**
 * After which time a run that waits for code is looked at again: as long as it has waited so far. So a quick fix is
 * noticed quickly, and a long wait costs almost nothing.
 */
function lookMs({ now, statusSince }: Released): number {
  const waited = statusSince === null ? 0 : now - statusSince;
  return Math.min(TIMES.lookMsMax, Math.max(TIMES.lookMsMin, waited));
}

/** When a run that waits until `deadline` has to be warned; the deadline itself if it was, or if it is too late. */
function nextWarning({ now, warnedOf, limits }: Released, deadline: number): number {
  const at = deadline - noticeMs(limits);
  return warnedOf === deadline || at <= now ? deadline : at;
}

/** Operators have this time between the warning and the end: three days, where a run may wait for thirty. */
export const noticeMs = ({ idleRunMs }: Pick<Limits, "idleRunMs">): number => Math.floor(idleRunMs / 10);

/** Where the execution of a released run goes. */
export interface ReleasedRoute {
  /** `end`: the execution ends, and a wake-up starts the next one. */
  readonly kind: "renew" | "beat" | "wait" | "park" | "end";
  /** How long it waits or parks; 1 where it does neither. */
  readonly seconds: number;
}

/** What decides about it, read after the commit that released the run. */
export interface AfterRelease extends Pick<NextLook, "until" | "nextChain"> {
  /** `beat` also for a run whose decisions grew too large to be kept. */
  readonly how: LetGo["kind"];
  readonly now: number;
  readonly canBeWoken: boolean;
  readonly openParkMs: number;
}

/**
 * An execution that waits cannot be woken. A run that a wake-up may reach (`canBeWoken`) parks, as does a long wait. A
 * park of `openParkMs` or more costs less as an execution that ends.
 */
export function routeAfter({ how, nextChain, now, until, canBeWoken, openParkMs }: AfterRelease): ReleasedRoute {
  if (nextChain) return { kind: "renew", seconds: 1 };
  if (how === "beat") return { kind: "beat", seconds: 1 };
  const seconds = Math.max(1, Math.ceil((until - now) / 1_000));
  if (how === "wait" && !canBeWoken && seconds <= TIMES.waitSecondsMax) return { kind: "wait", seconds };
  if (until - now >= openParkMs) return { kind: "end", seconds: 1 };
  return { kind: "park", seconds: Math.min(seconds, TIMES.parkSecondsMax) };
}

/**
 * When a run that was released in an outage of a store is tried again. The wait grows with the length of the outage. It has
 * jitter (`chance`, from 0 to below 1), because many runs wait for the same store.
 */
export function tryAfterOutage(outage: {
  readonly now: number;
  /** Since when a store does not answer. */
  readonly since: number;
  readonly chance: number;
  readonly limits: Pick<Limits, "backoffMsMax">;
}): number {
  const { now, since, chance, limits } = outage;
  const most = Math.min(limits.backoffMsMax, Math.max(OUTAGE_MS_MIN, (now - since) / 2));
  return now + Math.ceil((most * (1 + chance)) / 2);
}

/** The shortest wait in an outage, in milliseconds, before its jitter. */
const OUTAGE_MS_MIN = 2_000;
