/**
 * A whole history of a family of runs from one seed: bosses, their children and grandchildren on the real runner.
 * Processes die, freeze and come back, writes are lost or land late, people cancel and speak, children are removed, and
 * a scheduler lets each call of a store go on in any order. What a history must hold is in `family-checkers.ts`.
 */
import { seededRandom, virtualClock } from "../../src/adapters/memory/clock.ts";
import { type MemoryWorld, memoryWorld } from "../../src/adapters/memory/world.ts";
import { LEVEL } from "../../src/core/levels.ts";
import type { Task, TaskResult } from "../../src/protocol/chain.ts";
import { limitsFor } from "../../src/protocol/limits.ts";
import { hasEnded } from "../../src/protocol/row.ts";
import { StoreUnreachable, type World } from "../../src/ports/world.ts";
import { sendRequest } from "../../src/engine/loop/request.ts";
import { runTask } from "../../src/maintenance/chain-tasks.ts";
import { requestCompensation } from "../../src/operations/compensate.ts";
import { send } from "../../src/operations/steer.ts";
import { wrapPorts } from "../support/harness/ports.ts";
import { beginRun, runnerOf } from "../support/harness/drive.ts";
import { type SeededChoices, seededChoices } from "./seeded-choices.ts";
import { type FamilyPlan, agentsOf, familyPlan } from "./family-agents.ts";
import type { FamilyHistory, Stored } from "./family-history.ts";

const START = 1_700_000_000_000;
const BEAT_MS = 3_000;
const STEPS_MAX = 60_000;
/** From here on nothing more is done to the family. */
const CALM_STEP = 1_500;
const SWEEP_MS = 20_000;

interface Turn {
  readonly of: Process;
  readonly go: () => void;
}

class Process {
  isDead = false;
  isFrozen = false;
  onDeath: () => void = () => undefined;
}

class Family {
  readonly clock = virtualClock(START);
  readonly world: MemoryWorld;
  readonly chance: SeededChoices;
  readonly plan: FamilyPlan;
  readonly stored: Stored[] = [];
  readonly births = new Map<string, number>();
  readonly effects = new Map<string, number>();
  readonly removed = new Set<string>();
  readonly reached = new Set<string>();
  readonly mistakes: string[] = [];
  readonly seed: string;
  turns: Turn[] = [];
  flights: { readonly due: number; readonly land: () => Promise<unknown> }[] = [];
  processes: Process[] = [];
  step = 0;
  root = "";
  nextSweep = START + SWEEP_MS;

  constructor(seed: string) {
    this.seed = seed;
    this.chance = seededChoices(seed);
    this.plan = familyPlan(this.chance.child("plan"));
    const bounds = { settleMs: 300, skewMs: 200, rescueMs: 1_000, overdueMs: 5_000, backoffMsMax: 4_000 };
    const limits = limitsFor(BEAT_MS, { ...bounds, entryAttemptsMax: 6 });
    this.world = memoryWorld({ clock: this.clock, limits, random: seededRandom(seed) });
    const { rows } = this.world.store;
    const set = rows.set.bind(rows);
    rows.set = (run, row) => {
      if (!rows.has(run)) this.births.set(run, (this.births.get(run) ?? 0) + 1);
      this.stored.push({ step: this.step, row });
      return set(run, row);
    };
  }

  get isCalm(): boolean {
    return this.step >= CALM_STEP;
  }

  /** The world as one process has it: each call waits for its turn, and may meet a fault. */
  worldOf(process: Process): World {
    return wrapPorts(this.world, ({ port, method, send }) => this.#sent(process, { name: `${port}.${method}`, send }));
  }

  #pause(of: Process): Promise<void> {
    return new Promise((go) => {
      if (!of.isDead) this.turns.push({ of, go });
    });
  }

  async #sent(process: Process, { name, send }: { name: string; send: () => Promise<unknown> }): Promise<unknown> {
    await this.#pause(process);
    const fault = this.#faultOf(name);
    if (fault !== null) this.reached.add(`${name} ${fault}`);
    if (fault === "crash before") return this.#crash(process);
    if (fault === "unavailable") throw new StoreUnreachable("the store does not answer", { store: name });
    if (fault === "lands late") {
      this.flights.push({ due: this.step + 1 + this.chance.below(80), land: send });
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
    // The calls that families are about meet more.
    const isOfFamily = /^(table\.(createChildren|request)|inbox\.deliver)$/.test(name);
    if (this.isCalm || !this.chance.oneIn(isOfFamily ? 8 : this.plan.faultOneIn)) return null;
    const isWrite = /^(table\.(createChildren|claim|commit|park|request|handOver)|inbox\.deliver|leases\.take)$/.test(
      name,
    );
    const kinds = ["crash before", "crash after", "unavailable", "freeze"];
    return this.chance.pick(isWrite ? [...kinds, "answer lost", "lands late"] : kinds);
  }

  kill(process: Process): void {
    if (process.isDead) return;
    process.isDead = true;
    this.turns = this.turns.filter(({ of }) => of !== process);
    this.processes = this.processes.filter((each) => each !== process);
    process.onDeath();
  }

  /** One task in a process of its own; `heard` gets its result, or null if the process died or threw. */
  give(task: Task, heard: (result: TaskResult | null) => void): void {
    const process = new Process();
    this.processes.push(process);
    let isOver = false;
    const end = (result: TaskResult | null): void => {
      if (isOver) return;
      isOver = true;
      cancel();
      heard(result);
    };
    const cancel = this.clock.after(BEAT_MS + 100 + this.chance.below(100), () => this.kill(process));
    process.onDeath = () => end(null);
    const agents = agentsOf(this.plan, {
      effects: this.effects,
      isCalm: () => this.isCalm,
      chance: this.chance,
      pause: () => this.#pause(process),
    });
    const runner = { ...runnerOf(this.worldOf(process), agents), level: LEVEL };
    const invocation = { deadline: this.clock.now() + BEAT_MS, drain: new AbortController().signal };
    runTask(runner)(task, invocation).then(
      (result) => {
        if (process.isDead) return;
        end(result);
        this.kill(process);
      },
      (error: unknown) => {
        const isAway = error instanceof StoreUnreachable;
        if (!isAway) this.mistakes.push(String(error instanceof Error ? (error.stack ?? error) : error));
        this.kill(process);
      },
    );
  }

  dispatch(name: string): void {
    const { chain } = this.world;
    const { task, attempt } = chain.begin(name);
    this.give(task, (result) => {
      const answer = result?.kind === "exit" ? ({ kind: "beat", reply: result.reply } as const) : result;
      chain.end(name, attempt, answer, result === null);
    });
  }

  /** A person does something to a run of the family; a removal takes the row of a child whose end is delivered. */
  disturb(): void {
    const rows = [...this.world.store.rows.values()];
    const row = this.chance.pick(rows);
    const what = this.chance.pick(this.plan.wishes);
    this.reached.add(what);
    const ignore = (): void => undefined;
    if (what === "remove") {
      const gone = rows.find(
        ({ agent, endNotified, expiresAtSec }) => agent === "worker" && endNotified && expiresAtSec !== null,
      );
      if (gone === undefined) return;
      this.removed.add(gone.run);
      this.world.store.rows.delete(gone.run);
    } else if (what === "send") {
      void send(this.world, { run: row.run, text: "words", by: "ann", id: `w${this.step}` }).catch(ignore);
    } else if (what === "undo" || what === "restart") {
      const next = what === "undo" ? "cancel" : "restart";
      void requestCompensation(this.world, { run: row.run, next, by: "ann" }).catch(ignore);
    } else if (what === "pause") {
      void sendRequest(this.world, { run: row.run, want: "pause" }).catch(ignore);
      this.clock.after(this.chance.below(8_000), () => {
        void sendRequest(this.world, { run: row.run, want: "resume" }).catch(ignore);
      });
    } else void sendRequest(this.world, { run: row.run, want: "cancel" }).catch(ignore);
  }

  get isOver(): boolean {
    const rows = [...this.world.store.rows.values()];
    const { executions } = this.world.chain;
    return (
      rows.every(({ endNotified }) => endNotified) &&
      [...executions.values()].every(({ stage }) => stage === "ended") &&
      this.flights.length === 0
    );
  }

  /** One thing happens, or time passes. */
  move(): void {
    const { clock, chance, world } = this;
    if (this.isCalm) for (const each of this.processes) each.isFrozen = false;
    if (!this.isCalm && chance.oneIn(this.plan.disturbOneIn)) this.disturb();
    if (clock.now() >= this.nextSweep) {
      this.nextSweep = clock.now() + SWEEP_MS;
      return this.give({ kind: "sweep" }, () => undefined);
    }
    const free = this.turns.filter(({ of }) => !of.isFrozen);
    const landing = this.flights.filter(({ due }) => due <= this.step);
    const moves: (() => void)[] = [
      ...free.map((turn) => () => {
        this.turns.splice(this.turns.indexOf(turn), 1);
        turn.go();
      }),
      ...world.chain.ready(clock.now()).map((name) => () => this.dispatch(name)),
      ...landing.map((flight) => () => {
        this.flights.splice(this.flights.indexOf(flight), 1);
        void flight.land();
      }),
    ];
    if (moves.length > 0) return chance.pick(moves)();
    const frozen = this.processes.filter(({ isFrozen }) => isFrozen);
    if (frozen.length > 0 && chance.oneIn(3)) {
      chance.pick(frozen).isFrozen = false;
      return;
    }
    const times = [clock.next(), world.chain.next(), this.nextSweep].filter((time) => time !== null);
    clock.moveTo(Math.max(clock.now(), Math.min(...times)));
  }
}

/** Lets every promise that can go on do so. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

export async function simulateFamily(seed: string): Promise<FamilyHistory> {
  const family = new Family(seed);
  const { world, plan } = family;
  const [root] = agentsOf(plan, {
    effects: new Map(),
    isCalm: () => true,
    chance: family.chance,
    pause: async () => undefined,
  });
  if (root === undefined) throw new Error("a family has a root");
  family.root = (await beginRun(world, root, {})).run;
  for (family.step = 1; family.step < STEPS_MAX; family.step += 1) {
    await settle();
    if (family.isOver) break;
    family.move();
  }
  const { stored, births, effects, removed, reached, mistakes, isOver, root: first } = family;
  for (const { row } of stored) if (hasEnded(row)) reached.add(`ends ${row.status}`);
  return { seed, plan, world, root: first, stored, births, effects, removed, reached, mistakes, isOver };
}
