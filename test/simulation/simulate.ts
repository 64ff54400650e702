/**
 * A whole history of one run from one seed: processes that do its beats on the real runner and core, people who start
 * and steer it, a scheduler that lets them go on one call at a time in any order, clocks that move on only when nobody
 * can, and faults. Nothing here knows what is right; `checkers.ts` does.
 */
import { seededRandom, virtualClock } from "../../src/adapters/memory/clock.ts";
import { withKernel } from "../../src/features/compose.ts";
import { memoryWorld } from "../../src/adapters/memory/world.ts";
import type { Execution } from "../../src/protocol/execution.ts";
import { limitsFor } from "../../src/protocol/limits.ts";
import { type Actor } from "./actor.ts";
import { seededChoices } from "./seeded-choices.ts";
import { sizesOf } from "./sizes.ts";
import { STARTED_TWICE, copyExecution, dispatch, sweepIfDue } from "./dispatch.ts";
import { type Simulated, historyOf, watchRows } from "./history.ts";
import { restoreWallClock, setWallClock, steadyWallClock } from "./clock-jumps.ts";
import {
  type Mode,
  type Plan,
  ATTEMPTS_MAX,
  BACKOFF_MS,
  BEAT_MS,
  GATE_MS,
  OVERDUE_MS,
  RESCUE_MS,
  SETTLE_MS,
  SKEW_MS,
  SWEEP_MS,
  livenessMsOf,
  livenessStepsOf,
  modeOf,
  planOf,
} from "./modes.ts";
import { emptyLog } from "./features/log.ts";
import { rememberFact } from "./features/memory-tools.ts";
import { actUnasked, unaskedIn } from "./features/people.ts";
import { endpointSecrets, isDelivered } from "./features/webhook-endpoint.ts";
import { simulatedAgents } from "./simulated-agents.ts";
import { redriveIfFailed } from "./redrives.ts";
import {
  callOperators,
  operatorBurst,
  steer,
  reconcileOpenCall,
  startSimulatedRun,
  wakeDuringModelOutage,
} from "./operators.ts";
import { Recorder } from "./record.ts";
import { CAREFUL, TOOLS } from "./script.ts";
import { type Sim, isCalm, withClockOffset, drawClockOffset, recordFault } from "./sim.ts";

const START = 1_700_000_000_000;
const TRIES_ONE_IN = 14;
/** About one step in so many a storm begins, as long as there are any left. */
const STORM_ONE_IN = 40;
/** ... and somebody looks who was not asked to. */
const LOOK_ONE_IN = 150;

export interface SimulateOptions {
  /** Default: the one that the seed chooses. */
  readonly mode?: Mode;
  /** Without the features that the seed would draw. */
  readonly isPlain?: boolean;
}

export async function simulate(seed: string, options: SimulateOptions = {}): Promise<Simulated> {
  const { mode = modeOf(seed), isPlain = false } = options;
  const sim = simOf(seed, { mode, isPlain });
  if (sim.plan.features.memory !== null) await rememberFact(sim.world);
  void startSimulatedRun(sim);
  let calm: Simulated["calm"] = null;
  let ended: Simulated["ended"] = null;
  for (;;) {
    await settle();
    const here = { step: sim.record.step, at: sim.clock.now() };
    if (calm === null && isCalm(sim)) {
      calm = here;
      sim.record.note("chance", "is calm from here on");
      for (const actor of sim.actors) thaw(actor);
    }
    if (ended === null && isOver(sim) && !redriveIfFailed(sim)) ended = here;
    if (ended !== null && isStill(sim)) break;
    if (calm !== null && isTooLate(sim, calm)) break;
    sim.record.step += 1;
    step(sim);
  }
  return historyOf(sim, { seed, calm, ended });
}

function simOf(seed: string, { mode, isPlain }: Required<SimulateOptions>): Sim {
  const chance = seededChoices(seed);
  const chances = {
    scheduler: chance.child("scheduler"),
    network: chance.child("network"),
    people: chance.child("people"),
    clocks: chance.child("clocks"),
    jumps: chance.child("jumps"),
    doom: chance.child("doom"),
    levels: chance.child("levels"),
    features: chance.child("features"),
  };
  const plan = planOf(mode, { chance: chance.child("plan"), isPlain });
  const clock = virtualClock(START);
  const record = new Recorder(() => clock.now());
  const chainOffsetMs = drawClockOffset({ plan, chances });
  const { beatsPerInvocation, chainClaimsMax, openParkMs, isGated, isArchived, isOrdered, isDialled } = plan;
  const bounds = {
    settleMs: SETTLE_MS,
    skewMs: SKEW_MS,
    rescueMs: RESCUE_MS,
    entryAttemptsMax: ATTEMPTS_MAX,
    backoffMsMax: BACKOFF_MS,
    gateMs: GATE_MS,
    overdueMs: OVERDUE_MS,
  };
  const change = { ...bounds, beatsPerInvocation, chainClaimsMax, openParkMs };
  const sizes = sizesOf(chance.child("sizes"));
  const limits = limitsFor(BEAT_MS, change);
  const world = withKernel(
    memoryWorld({
      clock: withClockOffset(clock, chainOffsetMs),
      limits,
      random: seededRandom(seed),
      sizes,
      ...(plan.features.webhooks === null ? {} : { secrets: endpointSecrets() }),
    }),
  );
  watchRows(world, (row, isKeyless) => record.row(row, isKeyless));
  const features = emptyLog();
  const sim: Sim = {
    ...{ plan, clock, world, chainOffsetMs, chances, record },
    outside: simulatedAgents({
      ...{ chance: chance.child("outside"), clock, isGated, isArchived, isOrdered, isDialled },
      ...{
        saga: plan.saga,
        away: plan.away,
        endings: plan.endings,
        diesSoon: plan.redrives > 0,
        isDoomed: isCrashLoop(plan),
      },
      features: plan.features,
      log: features,
      upgrade: plan.deploys === "pin" ? "pin" : "follow",
      tools: mode.mayDouble ? CAREFUL : TOOLS,
      triesOneIn: TRIES_ONE_IN,
      // The longer the way, the more often its clock matters.
      hops: mode.mayDouble ? 10 : 1,
      isCalm: () => isCalm(sim),
      next: () => record.next(),
      note: (text) => record.note("outside", text),
    }),
    ...{ turns: [], actors: new Set(), flights: [], damaged: new Map(), answers: [], decisions: [], steered: [] },
    deployed: 1,
    ...{ outage: null, spent: 0, tasks: 0, born: 0, atWork: 0, attending: 0 },
    features,
    stormsLeft: plan.storms,
    unasked: unaskedIn({ plan }),
    wall: steadyWallClock(START),
    ...{ redrivesLeft: plan.redrives, isRedriving: false },
    nextSweep: START + chance.child("sweeper").below(SWEEP_MS),
  };
  return sim;
}

/** Lets every promise that can go on do so. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** The run has ended, everybody who waits for it knows, and nothing drives it any more. */
function isOver(sim: Sim): boolean {
  const { world, record } = sim;
  const { store, chain } = world;
  const rows = [...store.rows.values()];
  // Of two executions of one run one may be left behind, parked on a token that is dead; its time will be up.
  const mayPark = record.reached.has(STARTED_TWICE);
  const isLeft = ({ stage, state }: Execution): boolean => mayPark && stage === "waiting" && state === "Park";
  const isEnded = (each: Execution): boolean => each.stage === "ended" || isLeft(each);
  return (
    rows.length > 0 &&
    rows.every(({ endNotified }) => endNotified) &&
    [...chain.executions.values()].every(isEnded) &&
    isDelivered(sim)
  );
}

/** Nobody is left who could still do something about it, dead or alive. */
const isStill = (sim: Sim): boolean =>
  isOver(sim) && sim.flights.length === 0 && sim.atWork === 0 && ![...sim.actors].some(({ isBusy }) => isBusy);

function isTooLate({ plan, record, clock }: Sim, calm: { readonly step: number; readonly at: number }): boolean {
  return record.step - calm.step > livenessStepsOf(plan) || clock.now() - calm.at > livenessMsOf(plan);
}

/** One thing happens. */
function step(sim: Sim): void {
  const { chances, clock, world, turns, flights, record } = sim;
  const { scheduler } = chances;
  setWallClock(sim);
  // Whoever is told of a death acts on it before anything else happens, or time passes.
  if (faultRandomProcess(sim)) return;
  const run = [...world.store.rows.keys()][0];
  if (run !== undefined) {
    if (sim.stormsLeft > 0 && !isCalm(sim) && scheduler.oneIn(STORM_ONE_IN)) operatorBurst(sim, run);
    if (!isCalm(sim) && scheduler.oneIn(LOOK_ONE_IN)) void reconcileOpenCall(sim, run);
    actUnasked(sim, run, () => void steer(sim, run, "send"));
    callOperators(sim, run);
  }
  const free = turns.filter(({ owner }) => !owner.isFrozen);
  const ready = world.chain.ready(clock.now() + sim.chainOffsetMs);
  const landing = flights.filter(({ due }) => due <= record.step);
  const moves: readonly (() => void)[] = [
    ...free.map((turn) => () => {
      turns.splice(turns.indexOf(turn), 1);
      turn.go();
    }),
    ...ready.map((name) => () => dispatch(sim, name)),
    ...landing.map((flight) => () => {
      flights.splice(flights.indexOf(flight), 1);
      void flight.land();
    }),
  ];
  if (moves.length > 0) scheduler.pick(moves)();
  else pass(sim);
}

/** How soon the frozen go on, once nobody else can. */
const THAW_ONE_IN = 3;
const FROZEN_MS = 60_000;

/** Time passes to the next thing that is due. */
function pass(sim: Sim): void {
  const { clock, world, actors, chances, flights, plan } = sim;
  const frozen = [...actors].filter(({ isFrozen }) => isFrozen);
  if (frozen.length > 0 && chances.scheduler.oneIn(THAW_ONE_IN)) return thaw(chances.scheduler.pick(frozen));
  const chainNext = world.chain.next();
  const times = [
    clock.next(),
    chainNext === null ? null : chainNext - sim.chainOffsetMs,
    plan.repaired !== "nothing" && !isOver(sim) ? sim.nextSweep : null,
  ].filter((time) => time !== null);
  // What is under way lands some time, also where nothing else is left to happen.
  if (flights.length > 0 && (times.length === 0 || chances.scheduler.oneIn(2))) {
    void flights.shift()?.land();
    return;
  }
  const soonest = Math.min(...times);
  if (soonest > clock.now() + FROZEN_MS && wakeDuringModelOutage(sim)) return;
  // Nobody stays frozen while a run waits out its month.
  if (frozen.length > 0 && soonest > clock.now() + FROZEN_MS) return thaw(chances.scheduler.pick(frozen));
  if (times.length > 0) {
    restoreWallClock(sim, soonest);
    clock.moveTo(Math.max(clock.now(), soonest));
  }
  for (const each of times.length > 0 ? [] : frozen) thaw(each);
  sweepIfDue(sim);
}

const PROCESS_FAULTS = ["kill", "freeze", "presume dead", "freeze and presume dead", "copy"] as const;

/** What happens to whole processes, and to the chain. Where clocks are broken, to those whose clock matters. */
function faultRandomProcess(sim: Sim): boolean {
  const { chances, plan, actors, record } = sim;
  if (isCalm(sim)) return false;
  if (killOwner(sim)) return true;
  if (!chances.scheduler.oneIn(plan.oneIn * 2)) return false;
  const calling = [...actors].filter((each) => each.calling > 0);
  const isAimed = plan.mode.mayDouble && calling.length > 0;
  const fault = isAimed ? "freeze and presume dead" : chances.scheduler.pick(PROCESS_FAULTS);
  if (fault === "copy") {
    copyExecution(sim);
    return true;
  }
  if (actors.size === 0) return false;
  const victim = chances.scheduler.pick(isAimed ? calling : [...actors]);
  recordFault(sim, `process ${fault}`);
  record.reached.add(`phase ${victim.phase ?? "none"} ${fault}`);
  record.note(victim.name, `meets: ${fault}`);
  if (fault === "kill") victim.die();
  if (fault.startsWith("freeze")) victim.isFrozen = true;
  // The chain heard nothing and tries again; the attempt lives on until its deadline.
  if (fault.endsWith("presume dead")) victim.giveUpOn();
  return true;
}

const CRASH_LOOP_ONE_IN = 6;

const isCrashLoop = (plan: Plan): boolean => plan.isDoomed && plan.redrives > 0;

/** A run that an operator may redrive has processes that die one after the other, until it fails for it. */
function killOwner({ plan, redrivesLeft, actors, chances, record, world }: Sim): boolean {
  const [row] = world.store.rows.values();
  if (!isCrashLoop(plan) || redrivesLeft < plan.redrives || row === undefined || row.deaths > 1) return false;
  const owner = [...actors].find(({ phase, isPerson }) => phase !== null && !isPerson);
  if (owner === undefined || !chances.doom.oneIn(CRASH_LOOP_ONE_IN)) return false;
  record.note(owner.name, "meets: kill");
  owner.die();
  return true;
}

function thaw(actor: Actor): void {
  actor.isFrozen = false;
}
