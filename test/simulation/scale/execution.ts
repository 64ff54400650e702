/**
 * One execution of the state machine, by the retriers of the machine's own definition: a call that Lambda turns away is
 * made again after a pause with full jitter, and a death leads to the next group of tries.
 */
import { planOf, machineTimesOf } from "../../../infra/plan.ts";
import { definitionOf } from "../../../src/adapters/aws/machine/asl.ts";
import type { Attempt, Payload } from "../../../src/protocol/chain.ts";
import { RETRY_GROUP } from "../../../src/protocol/entry.ts";
import { executionName } from "../../../src/protocol/ids.ts";
import { WriteUnresolved } from "../../../src/history/resolve-ambiguous-write.ts";
import { StoreUnreachable } from "../../../src/ports/world.ts";
import { type Invocation, type Routed, ProcessDied, invoke } from "./invocation.ts";
import { LATENCY_MS } from "./quotas.ts";
import { type Bucket, type Lambda, type Site, around } from "./services.ts";

const TIMES = machineTimesOf(planOf({}, []));
const { Beat } = definitionOf({ functions: { beat: "beat", park: "park", sweep: "sweep" }, ...TIMES }).States;
const [TURNED_AWAY] = Beat.Type === "Task" ? Beat.Retry : [];
const TASK_TIMEOUT_MS = Beat.Type === "Task" ? 1_000 * (Beat.TimeoutSeconds ?? 0) : 0;

export interface Machine {
  readonly site: Site;
  readonly lambda: Lambda;
  readonly transitions: Bucket;
  /** The fault of the next invocation. */
  readonly fault: () => Invocation["fault"];
  readonly random: Invocation["random"];
  readonly beats: number;
  readonly act: Invocation["act"];
  /** How long an entry of Beat waited until Lambda took its call, milliseconds. */
  readonly waited: (ms: number) => void;
  /** A beat is over. */
  readonly beaten: () => void;
  /** A process that goes on although its execution has given it up. */
  readonly zombie: (process: Promise<unknown>) => void;
}

/** Runs the execution to its end. */
export async function runExecution(machine: Machine, first: Payload): Promise<void> {
  const { site } = machine;
  let payload = first;
  for (;;) {
    const { route, epoch } = await enterBeat(machine, payload);
    site.tally.add(`routes: ${route}`);
    machine.beaten();
    if (route !== "beat") return;
    payload = { ...payload, epoch };
  }
}

/** One entry of the state Beat, with all its attempts. */
async function enterBeat(machine: Machine, payload: Payload): Promise<Routed> {
  const { site } = machine;
  const execution = executionName(payload.run, payload.born, payload.chain);
  let died: number | null = null;
  for (let [tries, backoff] = [0, 1]; ; tries += RETRY_GROUP, backoff = Math.min(TIMES.backoffSeconds, 2 * backoff)) {
    const { process, isCold, turnedAway } = await admitted(machine);
    if (isCold) await site.time.wait(around(site, LATENCY_MS.coldStart));
    const attempt: Attempt = { execution, epoch: payload.epoch, retry: tries + turnedAway, died };
    const ended = await attemptOf(machine, { table: process, payload, attempt });
    if ("route" in ended) return ended;
    site.tally.add(ended.isDeath ? "deaths of processes" : "attempts that met a silent store");
    if (ended.isDeath) died = attempt.retry;
    await transition(machine);
    await site.time.wait(1_000 * backoff * (1 + site.choices.unit()));
  }
}

/** Waits until Lambda takes the call. */
async function admitted(machine: Machine) {
  const { site, lambda } = machine;
  const from = site.time.now();
  for (let turnedAway = 0; ; turnedAway += 1) {
    await transition(machine);
    const taken = lambda.take();
    if (taken !== null) {
      machine.waited(site.time.now() - from);
      return { process: taken.table, isCold: taken.isCold, turnedAway };
    }
    site.tally.add("throttled: Lambda concurrency");
    const { IntervalSeconds = 1, BackoffRate = 2, MaxDelaySeconds = Infinity, MaxAttempts = 0 } = TURNED_AWAY ?? {};
    if (turnedAway >= MaxAttempts) {
      // The retrier is exhausted: the machine counts the failure and begins again, after a pause.
      site.tally.add("entries whose retrier was exhausted");
    }
    const delay = Math.min(MaxDelaySeconds, IntervalSeconds * BackoffRate ** Math.min(turnedAway, 20));
    await site.time.wait(1_000 * delay * site.choices.unit());
  }
}

/** A state transition, which Step Functions delays where the account makes too many. */
async function transition({ site, transitions }: Machine): Promise<void> {
  site.tally.add("state transitions");
  while (!transitions.hasAny()) {
    site.tally.add("throttled: state transitions");
    await site.time.wait(around(site, 500));
  }
  transitions.take(1);
  await site.time.wait(around(site, LATENCY_MS.transition));
}

async function attemptOf(
  machine: Machine,
  of: Pick<Invocation, "table" | "payload" | "attempt">,
): Promise<Routed | { readonly isDeath: boolean }> {
  const { site, lambda, random, beats, act } = machine;
  const fault = machine.fault();
  const running = invoke({ ...{ site, random, beats, act, fault }, ...of });
  if (fault?.kind === "frozen") {
    // The task times out. Its process goes on later, with all that it remembers.
    machine.zombie(running.catch(() => undefined));
    await site.time.wait(TASK_TIMEOUT_MS);
    lambda.giveBack(null);
    return { isDeath: true };
  }
  try {
    const routed = await running;
    lambda.giveBack(of.table);
    return routed;
  } catch (error) {
    if (error instanceof ProcessDied) {
      lambda.giveBack(null);
      return { isDeath: true };
    }
    if (!(error instanceof StoreUnreachable) && !(error instanceof WriteUnresolved)) throw error;
    lambda.giveBack(of.table);
    return { isDeath: false };
  }
}
