/**
 * What a history meets. A mode says how hard and for how long; the plan of one history is drawn from its seed. Every
 * mode comes to a point from which nothing more is done to the run: from there on it has to end within a bound.
 */
import { BOUNDS } from "../../src/core/limits.ts";
import { TIMES } from "../../src/protocol/limits.ts";
import { RETRY_DELAYS_MS } from "../../src/protocol/chain.ts";
import { type SeededChoices, seededChoices } from "./seeded-choices.ts";
import { type EndingsPlan, type ModelOutagePlan, endingsPlanOf, modelOutagePlanOf } from "./provider.ts";
import { type SagaPlan, sagaPlanOf } from "./saga-plan.ts";
import { type FeaturePlan, NO_FEATURES, featuresOf } from "./features/plan.ts";

export type ModeName = "faults" | "liveness" | "skewed";

export interface Mode {
  readonly name: ModeName;
  /** About one call in so many meets a fault: the seed chooses one of these. Without any nothing ever does. */
  readonly oneIn: readonly number[];
  /** Faults at most; the seed may choose fewer. */
  readonly most: number;
  /** Neither faults nor storms from this step on; the seed may choose an earlier one. */
  readonly stepsMax: number;
  /** Each clock is off by up to half of this. */
  readonly skewMs: number;
  /** Probed calls and answers of people may double: the assumption that they rest on does not hold. */
  readonly mayDouble: boolean;
}

/** Every process is killed so long after it was given its task ... */
export const BEAT_MS = 3_000;
/** ... or a little later: a kill takes its time. */
export const KILL_LATE_MS = 50;
/** What the world believes of its clocks: they differ by less than this, a late kill included. */
export const SKEW_MS = 200;
export const RESCUE_MS = 1_000;
/** Attempts of one entry before its run is handed over: few enough for a history to come to that. */
export const ATTEMPTS_MAX = 5;
/** The longest pause between two attempts of one entry, and of a run that waits for a store. */
export const BACKOFF_MS = 4_000;
export const SETTLE_MS = 300;
export const TIMEOUT_MS = 400;
/** ... in some histories for probed calls: the time of a beat has room for one of them, and not for its probe as well. */
export const LONG_TIMEOUT_MS = 1_400;
/** How often the sweeper comes. */
export const SWEEP_MS = 15_000;
/** A person who is needed looks within this time. */
export const OPERATOR_MS = 4_000;
/** ... and, where a run waits for nothing that a person could give it, again after this time. */
export const LOOKS_AGAIN_MS = 8_000;
/** A run that did not move for so long is looked at by the sweeper. */
export const OVERDUE_MS = 5_000;
/** A gate expires after this time: some people come too late. */
export const GATE_MS = 3_000;
/** How long an ended run is kept. */
export const RETENTION_MS = 24 * 3_600_000;
/** The longest time for which a store is away; now and then it is away for longer. */
export const OUTAGE_MS = 12_000;
export const LONG_OUTAGE_MS = 180_000;

const WITHIN_MARGIN_MS = SKEW_MS - KILL_LATE_MS;

/** What a history meets unless somebody wants another one. */
export const FAULTS: Mode = {
  name: "faults",
  oneIn: [4, 8, 8, 16, 32],
  most: 36,
  stepsMax: 1_500,
  skewMs: WITHIN_MARGIN_MS,
  mayDouble: false,
};

export const MODES: { readonly [N in ModeName]: Mode } = {
  faults: FAULTS,
  /** Many faults until a step that the seed chooses, then none at all. */
  liveness: { ...FAULTS, name: "liveness", oneIn: [3], most: 1_000, stepsMax: 400 },
  /** Schedule 23: clocks that differ by more than a whole lease. */
  skewed: { ...FAULTS, name: "skewed", skewMs: 4 * BEAT_MS, mayDouble: true },
};

/** The mode of a seed when nobody chose one: most histories are of the first kind. */
export function modeOf(seed: string): Mode {
  const draw = seededChoices(`${seed}/mode`).below(20);
  if (draw < 14) return MODES.faults;
  return draw < 18 ? MODES.liveness : MODES.skewed;
}

/**
 * Whether a sweeper comes, and what happens that only a sweeper repairs. Some histories have to do without, so that
 * nothing is left to it that should not need it. `losses`: bytes are damaged, and of a task that was sent twice the
 * wrong answer may be heard. `copies`: somebody starts another execution of the run. Not both: a copy that leaves the
 * run because of damaged bytes leaves it to the execution that the row names, and that one may wait on a token that the
 * copy's claim has cleared; the sweeper would take it for the run's driver. In both, people may lose heart.
 */
type Repaired = "nothing" | "losses" | "copies";

/** What the seed chose for its history. */
export interface Plan {
  readonly mode: Mode;
  /** No faults and no storms from this step on. */
  readonly stopAt: number;
  /** About one call in so many meets a fault; 0 is never. */
  readonly oneIn: number;
  readonly most: number;
  readonly repaired: Repaired;
  readonly beatsPerInvocation: number;
  /** How many people look at the run's open questions, each in their own time. */
  readonly persons: number;
  /** Storms of messages and requests. */
  readonly storms: number;
  /** Some calls are asked about before they start. */
  readonly isGated: boolean;
  /** Its keyed and unsafe calls run alone, in the order of their reply. */
  readonly isOrdered: boolean;
  /** Claims of one execution. */
  readonly chainClaimsMax: number;
  /** How long a park keeps its execution open; a run that waits for longer is left to senders and the sweeper. */
  readonly openParkMs: number;
  /** Its wall clock is set, and comes back. */
  readonly jumps: boolean;
  /** Its agent wants an archive, so its end is not told by its own commit. */
  readonly isArchived: boolean;
  /** Some of its replies ask only for calls without an effect, and those are not committed before they have run. */
  readonly isDialled: boolean;
  /** A rollout of cairn is under way: some processes are too old to go on with the run. */
  readonly isMixed: boolean;
  /** Whether other versions of the agent are deployed meanwhile, and what a run says to that. */
  readonly deploys: "nothing" | "follow" | "pin";
  /** Its tools can undo what they did; null: they cannot. */
  readonly saga: SagaPlan | null;
  /** Its model's provider gives no answers for a while; null: it always does. */
  readonly away: ModelOutagePlan | null;
  /** Some replies of its model are cut, and some requests refused; null: none is. */
  readonly endings: EndingsPlan | null;
  /** How often an operator redrives it where its processes died too often, which they may hardly do then. */
  readonly redrives: number;
  /** Before the first of them its processes die one after the other. */
  readonly isDoomed: boolean;
  readonly features: FeaturePlan;
}

/** Before that hardly anything has begun. */
const STEPS_MIN = 20;

export function planOf(mode: Mode, of: { readonly chance: SeededChoices; readonly isPlain: boolean }): Plan {
  const { chance, isPlain } = of;
  const isDense = mode.name === "liveness";
  const first = {
    mode,
    stopAt: isDense ? STEPS_MIN + chance.below(mode.stepsMax - STEPS_MIN) : mode.stepsMax,
    oneIn: mode.oneIn.length === 0 ? 0 : chance.pick(mode.oneIn),
    most: isDense ? mode.most : 1 + chance.below(mode.most),
    repaired: chance.pick(["nothing", "losses", "copies"] as const),
  };
  const saga = sagaPlanOf(chance.child("compensation"));
  return {
    ...first,
    beatsPerInvocation: chance.oneIn(12) ? 10 : 1 + chance.below(3),
    persons: chance.oneIn(3) ? 2 : 1,
    storms: mode.oneIn.length === 0 ? 0 : chance.below(4),
    isGated: chance.oneIn(3),
    chainClaimsMax: chance.oneIn(3) ? 2 + chance.below(3) : 1_200,
    openParkMs: endsParked(chance.child("parks"), first.repaired),
    jumps: mode.oneIn.length > 0 && chance.child("steadiness").oneIn(3),
    isArchived: chance.child("archived").oneIn(4),
    isDialled: chance.child("dial").oneIn(4),
    isOrdered: chance.child("ordered").oneIn(4),
    // A claim that lands late, after a process that is behind has made the chain wait, is for the sweeper to repair.
    isMixed: first.repaired !== "nothing" && chance.child("levels").oneIn(4),
    saga,
    redrives: chance.child("redrives").oneIn(3) ? 1 + chance.child("redriven").below(2) : 0,
    isDoomed: chance.child("crashes").oneIn(3),
    away: modelOutagePlanOf(chance.child("away"), first.repaired !== "nothing"),
    endings: mode.oneIn.length === 0 ? null : endingsPlanOf(chance.child("endings")),
    features:
      isPlain || mode.oneIn.length === 0
        ? NO_FEATURES
        : featuresOf(chance.child("features"), { isSwept: first.repaired !== "nothing", mayChat: saga === null }),
    deploys: chance.child("deploys").oneIn(5) ? chance.pick(["follow", "pin", "pin"]) : "nothing",
  };
}

/** With a sweeper, some histories end the executions of parked runs: of all, or of those that wait for some seconds. */
const endsParked = (chance: SeededChoices, repaired: Repaired): number =>
  repaired === "nothing" || chance.oneIn(2) ? NEVER_MS : chance.pick([1, 2_500]);

const NEVER_MS = TIMES.parkSecondsMax * 1_000 + 1;

export const LEASE_MS = BEAT_MS + SKEW_MS;
const ATTEMPTS_MS = RETRY_DELAYS_MS.reduce((sum, delayMs) => sum + delayMs, 0);

/**
 * How long a run may take from the last fault to its end, by the true time. What was frozen thaws; whatever still holds
 * the run is killed at its deadline; an entry has all its attempts before it; the run is handed over and its successor
 * waits for the lease, and then for quiet and for what may still land. Then what is left of its work takes no time but
 * for the questions to people, one after the other, and waits that are rounded up to whole seconds.
 */
export function livenessMsOf(of: Timed): number {
  const { mode, repaired, deploys, isGated, saga, away, redrives, isMixed } = of;
  const rescued = LEASE_MS + ATTEMPTS_MS + RESCUE_MS + LEASE_MS;
  // It had just begun to wait when the last fault was over; whatever it waits for then, the waits are rounded up.
  const backsOff = 2 * (BACKOFF_MS + ROUNDED_MS);
  // A sweep that comes too early finds a lease, and leaves the run to the next one.
  const overdue = OVERDUE_MS + TIMES.waitSecondsMax * 1_000;
  const swept = repaired !== "nothing" ? 2 * (SWEEP_MS + LEASE_MS) + overdue : 0;
  const quiet = LEASE_MS + SETTLE_MS + TIMEOUT_MS;
  const questions =
    (QUESTIONS_MAX +
      (saga === null ? 0 : UNDO_QUESTIONS_MAX) +
      (deploys === "pin" ? VERSIONS_MAX : 0) +
      (isGated ? CIRCLES_MAX : 0)) *
    (OPERATOR_MS + SETTLE_MS + GATE_MS + 2 * ROUNDED_MS + (of.openParkMs < NEVER_MS ? SWEEP_MS : 0));
  // Whoever waits for a moment of another clock waits for the difference as well, at each of these places.
  const skew = 6 * mode.skewMs;
  // The last try may have failed right before the provider is back.
  const unavailable = away === null ? 0 : away.ms + BOUNDS.outagePauseMsMax + TIMES.waitSecondsMax * 1_000;
  // The last process that was too old had just told its chain to wait.
  const behind = isMixed ? TIMES.waitSecondsMax * 1_000 + ROUNDED_MS : 0;
  return (
    (rescued + backsOff + swept + quiet + questions + featuresMsOf(of) + skew) * (1 + redrives) + unavailable + behind
  );
}

type Timed = Pick<
  Plan,
  | "openParkMs"
  | "mode"
  | "repaired"
  | "deploys"
  | "isGated"
  | "saga"
  | "away"
  | "redrives"
  | "isMixed"
  | "features"
  | "jumps"
>;

/** A run that goes in circles asks about the same call until three of its results are equal, and denials are others. */
const CIRCLES_MAX = 12;

/** An undo that nobody knows of, and the gates of the attempts that follow. */
const UNDO_QUESTIONS_MAX = 24;
/** Calls of one reply: each may be unknown when all is calm, and one that is permitted again then just happens. */
const QUESTIONS_MAX = 3;
const ROUNDED_MS = 1_000;

/** Steps of a script, which may run twice where a topology sends it back. */
const WAITS_MAX = 8;
const MODEL_CALLS_MAX = 30;
const MINUTE_MS = 60_000;

/** What the features of a history may add: one wait, batch or message after the other, in each of its attempts. */
function featuresMsOf({ features, saga, jumps }: Pick<Plan, "features" | "saga" | "jumps">): number {
  const { waits, batches, cap, webhooks, chat } = features;
  const attempts = 1 + (saga?.restarts ?? 0);
  const waiting = OPERATOR_MS + LOOKS_AGAIN_MS + 2 * ROUNDED_MS + SWEEP_MS;
  return (
    (waits === null ? 0 : WAITS_MAX * attempts * (waits.limitMs + waiting)) +
    (batches === null ? 0 : MODEL_CALLS_MAX * attempts * (2 * batches.ms + BOUNDS.modelLookMsMin + 2 * ROUNDED_MS)) +
    (chat === null ? 0 : WAITS_MAX * (chat.idleMs + waiting)) +
    // A wait that would end by a doubtful clock is looked at again after ten minutes.
    (jumps && (waits !== null || chat !== null) ? 11 * MINUTE_MS : 0) +
    // A run that waits for its cap has looked at it just before an operator raised it.
    (cap === null ? 0 : cap.raisedAfterMs + 17 * MINUTE_MS) +
    (webhooks === null ? 0 : MINUTE_MS + 4 * SWEEP_MS)
  );
}
/** Versions that are deployed in one history. */
export const VERSIONS_MAX = 3;

/**
 * Steps of the scheduler within that time: it goes round for ever without a step only where nobody can move. A run that
 * begins again and reads large values at each verdict takes some 1,600.
 */
const LIVENESS_STEPS = 3_000;
export const livenessStepsOf = ({ redrives }: Pick<Plan, "redrives">): number => LIVENESS_STEPS * (1 + redrives);
