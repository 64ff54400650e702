/**
 * A whole history of a family of runs from one seed: bosses, their children and grandchildren on the real runner.
 * Processes die, freeze and come back, writes are lost or land late, people cancel and speak, children are removed, and
 * a scheduler lets each call of a store go on in any order. What a history must hold is in `family-checkers.ts`.
 */
import { seededRandom, virtualClock } from "../../src/adapters/memory/clock.ts";
import { withKernel } from "../../src/features/compose.ts";
import { type MemoryWorld, memoryWorld } from "../../src/adapters/memory/world.ts";
import { LEVEL } from "../../src/core/levels.ts";
import type { Agent } from "../../src/ports/agent.ts";
import type { Task } from "../../src/protocol/chain.ts";
import { limitsFor } from "../../src/protocol/limits.ts";
import { executionName } from "../../src/protocol/ids.ts";
import { type Row, hasEnded } from "../../src/protocol/row.ts";
import { StoreUnreachable, type World } from "../../src/ports/world.ts";
import { redrive } from "../../src/operations/redrive.ts";
import { runTask } from "../../src/maintenance/chain-tasks.ts";
import { beginRun, runnerOf } from "../support/harness/drive.ts";
import { type PortCall, wrapPorts } from "../support/harness/ports.ts";
import { type SeededChoices, seededChoices } from "./seeded-choices.ts";
import { sizesOf } from "./sizes.ts";
import { agentsOf, troubleOf } from "./family-agents.ts";
import { childrenOut, disturb } from "./family-disturbances.ts";
import { forkSomewhere } from "./family-forks.ts";
import { withJudgedFences } from "./family-fences.ts";
import { type FamilyHistory, recordRows } from "./family-history.ts";
import { type FamilyPlan, familyPlan } from "./family-plan.ts";
import { answerBlocked } from "./family-operator.ts";
import { FamilyService } from "./family-service.ts";
import { type Heard, Process } from "./family-process.ts";

const START = 1_700_000_000_000;
const BEAT_MS = 3_000;
const STEPS_MAX = 60_000;
const SWEEP_MS = 20_000;
/** A process that froze beyond its deadline lives on for at most this long. */
const ZOMBIE_MS = 20_000;
const LATE_STEPS = 80;

interface Turn {
  readonly of: Process;
  readonly go: () => void;
}

/** The calls that families are about meet more. */
const OF_FAMILIES = /^(table\.(createChildren|fenceChild|request)|inbox\.deliver)$/;
/** The conditional writes: their answers may be lost, and they may land late. */
const WRITES = /^(table\.(createChildren|fenceChild|claim|commit|park|request|handOver)|inbox\.deliver|leases\.take)$/;
const FAULTS = ["crash before", "crash after", "unavailable", "freeze"];

class Family {
  readonly clock = virtualClock(START);
  readonly world: MemoryWorld;
  readonly chance: SeededChoices;
  readonly plan: FamilyPlan;
  readonly service: FamilyService;
  readonly stored: FamilyHistory["stored"];
  readonly births: FamilyHistory["births"];
  readonly removed = new Set<string>();
  readonly reached = new Set<string>();
  readonly mistakes: string[] = [];
  readonly lines: string[] = [];
  turns: Turn[] = [];
  flights: { readonly due: number; readonly land: () => Promise<unknown> }[] = [];
  processes: Process[] = [];
  born = 0;
  step = 0;
  root = "";
  redrivesLeft: number;
  readonly forking: SeededChoices;
  readonly deciding: SeededChoices;
  readonly trouble: ReturnType<typeof troubleOf>;
  nextSweep = START + SWEEP_MS;

  constructor(seed: string, change: Partial<FamilyPlan>) {
    this.chance = seededChoices(seed);
    this.plan = { ...familyPlan(this.chance.child("plan")), ...change };
    this.redrivesLeft = this.plan.redrives;
    this.forking = this.chance.child("forking");
    this.deciding = this.chance.child("deciding");
    this.trouble = troubleOf(this.plan, { isCalm: () => this.isCalm, own: this.chance.child("failures") });
    this.service = new FamilyService(this.plan.effect);
    const bounds = { settleMs: 300, skewMs: 200, rescueMs: 1_000, overdueMs: 5_000, backoffMsMax: 4_000 };
    const limits = limitsFor(BEAT_MS, { ...bounds, entryAttemptsMax: 6 });
    const world = withKernel(
      memoryWorld({
        clock: this.clock,
        limits,
        random: seededRandom(seed),
        sizes: sizesOf(this.chance.child("sizes")),
      }),
    );
    this.world = withJudgedFences(world, { planted: this.plan.planted ?? null, mistakes: this.mistakes });
    ({ births: this.births, stored: this.stored } = recordRows(this.world, () => this.step));
  }

  get isCalm(): boolean {
    return this.step >= this.plan.calmStep;
  }

  note(who: string, what: string): void {
    const seconds = ((this.clock.now() - START) / 1_000).toFixed(3);
    this.lines.push(`${String(this.step).padStart(5)} ${seconds.padStart(9)} s  ${who.padEnd(16)} ${what}`);
  }

  named(run: string): string {
    return `${this.world.store.rows.get(run)?.agent ?? "?"} ${run.slice(-4)}`;
  }

  /** The world as one process has it: each call waits for its turn, and may meet a fault. */
  worldOf(process: Process): World {
    return wrapPorts(this.world, (call) => this.#sent(process, call));
  }

  #pause(of: Process): Promise<void> {
    return new Promise((go) => {
      if (!of.isDead) this.turns.push({ of, go });
    });
  }

  async #sent(process: Process, { port, method, send }: PortCall): Promise<unknown> {
    await this.#pause(process);
    const name = `${port}.${method}`;
    const fault = this.#faultOf(name);
    if (fault !== null) this.reached.add(`${name} ${fault}`);
    if (fault !== null || WRITES.test(name)) this.note(process.name, `${name} ${fault ?? ""}`);
    if (fault === "crash before") return this.#crash(process);
    if (fault === "unavailable") throw new StoreUnreachable("the store does not answer", { store: name });
    if (fault === "conflict") return { kind: "ambiguous", why: "TransactionConflict", isBusy: true };
    if (fault === "lands late") {
      this.flights.push({ due: this.step + 1 + this.chance.below(LATE_STEPS), land: send });
      return { kind: "ambiguous", why: "no answer" };
    }
    if (fault === "freeze") process.isFrozen = true;
    await this.#pause(process);
    const outcome = await send();
    if (fault === "crash after") return this.#crash(process);
    if (fault === "answer lost") return { kind: "ambiguous", why: "no answer" };
    await this.#pause(process);
    return outcome;
  }

  #crash(process: Process): Promise<never> {
    this.kill(process);
    return new Promise(() => undefined);
  }

  #faultOf(name: string): string | null {
    if (this.isCalm || !this.chance.oneIn(OF_FAMILIES.test(name) ? 8 : this.plan.faultOneIn)) return null;
    return this.chance.pick(WRITES.test(name) ? [...FAULTS, "answer lost", "lands late", "conflict"] : FAULTS);
  }

  kill(process: Process): void {
    if (process.isDead) return;
    process.isDead = true;
    this.turns = this.turns.filter(({ of }) => of !== process);
    this.processes = this.processes.filter((each) => each !== process);
    process.giveUpOn(true);
  }

  /** A process is killed, frozen, presumed dead, or frozen and presumed dead: then two work for one run. */
  strike(): void {
    const busy = this.processes.filter(({ run }) => run !== "");
    const bosses = busy.filter(({ run }) => childrenOut(this.world, run) > 0);
    const among = bosses.length > 0 && this.chance.oneIn(2) ? bosses : busy;
    if (among.length === 0) return;
    const victim = this.chance.pick(among);
    const fault = this.chance.pick(["kill", "freeze", "presume dead", "freeze and presume dead"]);
    const out = childrenOut(this.world, victim.run);
    this.note(victim.name, `${fault}, ${out} children out`);
    this.reached.add(`process ${fault}`);
    if (out >= 8) this.reached.add(`${fault} of a boss with eight children out`);
    if (fault.startsWith("freeze")) victim.isFrozen = true;
    if (fault === "kill") this.kill(victim);
    else if (fault !== "freeze") victim.giveUpOn(false);
  }

  /** The agents as that process has them; null: they are only read. */
  agentsIn(process: Process | null): readonly Agent[] {
    return agentsOf(this.plan, {
      isCalm: () => this.isCalm,
      chance: this.chance,
      service: this.service,
      trouble: this.trouble,
      pause: () => (process === null ? Promise.resolve() : this.#pause(process)),
      sleep: (ms) => new Promise((go) => void this.clock.after(ms, go)),
      dispatchOf: (of) => this.world.store.rows.get(of)?.dispatch ?? 1,
    });
  }

  /** One task in a process of its own. */
  give(task: Task, heard: Heard): void {
    this.born += 1;
    const run = "payload" in task ? task.payload.run : "";
    const process = new Process(`p${this.born} ${run === "" ? task.kind : this.named(run)}`, run);
    this.processes.push(process);
    let isOver = false;
    const end: Heard = (result, isDeath) => {
      if (isOver) return;
      isOver = true;
      heard(result, isDeath);
    };
    process.giveUpOn = (isDeath) => end(null, isDeath);
    this.clock.after(BEAT_MS + 100 + this.chance.below(100), () => this.#timeOut(process));
    const runner = { ...runnerOf(this.worldOf(process), this.agentsIn(process)), level: LEVEL };
    const invocation = { deadline: this.clock.now() + BEAT_MS, drain: new AbortController().signal };
    runTask(runner)(task, invocation).then(
      (result) => {
        if (process.isDead) return;
        end(result, false);
        this.kill(process);
      },
      (error: unknown) => {
        const isAway = error instanceof StoreUnreachable;
        if (!isAway) this.mistakes.push(String(error instanceof Error ? (error.stack ?? error) : error));
        end(null, !isAway);
        this.kill(process);
      },
    );
  }

  /** Most processes are killed at their deadline. Some freeze there, and thaw when others work for their run. */
  #timeOut(process: Process): void {
    if (process.isDead) return;
    if (this.isCalm || !this.chance.oneIn(4)) return this.kill(process);
    this.note(process.name, "is presumed dead, and freezes");
    process.isFrozen = true;
    process.giveUpOn(false);
    this.clock.after(this.chance.below(ZOMBIE_MS), () => this.kill(process));
  }

  dispatch(name: string): void {
    const { chain } = this.world;
    const { task, attempt } = chain.begin(name);
    this.give(task, (result, isDeath) => {
      const answer = result?.kind === "exit" ? ({ kind: "beat", reply: result.reply } as const) : result;
      chain.end(name, attempt, answer, isDeath);
    });
  }

  #disturb(): void {
    const what = this.chance.pick(this.plan.wishes);
    const row = disturb(what, this);
    if (row === null) return;
    this.reached.add(`${what} ${row.agent}`);
    this.note("outside", `${what} ${row.agent} ${row.run.slice(-4)}`);
  }

  get isOver(): boolean {
    const rows = [...this.world.store.rows.values()];
    const { executions } = this.world.chain;
    return (
      rows.every(({ endNotified }) => endNotified) &&
      [...executions.values()].every(({ name, stage }) => stage === "ended" || this.#isLeftByFence(name, stage)) &&
      this.flights.length === 0
    );
  }

  /** Its parent died between a fence and the wake-up, so it waits until its limit: that is open, and harms nothing. */
  #isLeftByFence(name: string, stage: string): boolean {
    const isBefore = ({ run, born, chain, dispatch = 1 }: Row): boolean =>
      dispatch > 1 && name === executionName(run, born, chain - 1);
    return stage === "waiting" && this.stored.some(({ row }) => isBefore(row));
  }

  /** The family is over; true if its root, which failed, goes on. */
  async redriveRoot(): Promise<boolean> {
    if (this.redrivesLeft === 0 || this.world.store.rows.get(this.root)?.status !== "failed") return false;
    this.redrivesLeft -= 1;
    const { kind } = await redrive(this.world, { run: this.root, by: "ann", why: "its host is back" });
    this.note("outside", `redrive root ${kind}`);
    this.reached.add(`redrive root ${kind}`);
    return kind === "redriven";
  }

  /** A person forks one of the runs, in a process that may die meanwhile. */
  #fork(): void {
    const row = this.forking.pick([...this.world.store.rows.values()]);
    const agent = this.agentsIn(null).find(({ name }) => name === row.agent);
    if (agent === undefined) return;
    this.born += 1;
    const process = new Process(`p${this.born} person`, "");
    this.processes.push(process);
    forkSomewhere(this.worldOf(process), { row, agent, chance: this.forking }).then(
      (kind) => {
        this.note(process.name, `fork of ${row.agent} ${row.run.slice(-4)}: ${kind}`);
        this.reached.add(`fork of ${row.agent} ${kind}`);
        this.kill(process);
      },
      () => this.kill(process),
    );
  }

  /** One thing happens, or time passes. */
  move(): void {
    const { clock, chance, world } = this;
    if (this.isCalm) for (const each of this.processes) each.isFrozen = false;
    else {
      if (chance.oneIn(this.plan.disturbOneIn)) this.#disturb();
      if (chance.oneIn(this.plan.strikeOneIn)) this.strike();
      if (this.plan.forkOneIn > 0 && this.forking.oneIn(this.plan.forkOneIn)) this.#fork();
    }
    if (clock.now() >= this.nextSweep) {
      this.nextSweep = clock.now() + SWEEP_MS;
      void answerBlocked(world, this);
      return this.give({ kind: "sweep" }, () => undefined);
    }
    const moves: (() => void)[] = [
      ...this.turns
        .filter(({ of }) => !of.isFrozen)
        .map((turn) => () => {
          this.turns.splice(this.turns.indexOf(turn), 1);
          turn.go();
        }),
      ...world.chain.ready(clock.now()).map((name) => () => this.dispatch(name)),
      ...this.flights
        .filter(({ due }) => due <= this.step)
        .map((flight) => () => {
          this.flights.splice(this.flights.indexOf(flight), 1);
          void flight.land();
        }),
    ];
    const frozen = this.processes.filter(({ isFrozen }) => isFrozen);
    if (frozen.length > 0 && chance.oneIn(moves.length > 0 ? 80 : 3)) {
      chance.pick(frozen).isFrozen = false;
      return;
    }
    if (moves.length > 0) return chance.pick(moves)();
    const times = [clock.next(), world.chain.next(), this.nextSweep].filter((time) => time !== null);
    clock.moveTo(Math.max(clock.now(), Math.min(...times)));
  }
}

/** Lets every promise that can go on do so. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** `change`: what a directed history has instead of what its seed draws. */
export async function simulateFamily(seed: string, change: Partial<FamilyPlan> = {}): Promise<FamilyHistory> {
  const family = new Family(seed, change);
  const { world, plan } = family;
  const [root] = family.agentsIn(null);
  if (root === undefined) throw new Error("a family has a root");
  family.root = (await beginRun(world, root, {})).run;
  for (family.step = 1; family.step < STEPS_MAX; family.step += 1) {
    await settle();
    if (family.isOver && !(await family.redriveRoot())) break;
    family.move();
  }
  const { stored, births, removed, reached, mistakes, lines, isOver, root: first, service } = family;
  for (const { row } of stored) if (hasEnded(row)) reached.add(`ends ${row.agent} ${row.status}`);
  return { seed, plan, world, root: first, stored, births, removed, reached, mistakes, lines, isOver, service };
}
