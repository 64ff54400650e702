/** Plays a plan: the processes of a history and what happens to them. */
import { upgradesOf } from "../../../src/core/policy/holds.ts";
import { extensionOf } from "../../../src/core/policy/extension.ts";
import { gateIn } from "../../../src/core/calls/held-calls.ts";
import { CommitCache } from "../../../src/history/commits.ts";
import type { VirtualClock } from "../../../src/adapters/memory/clock.ts";
import type { MemoryWorld } from "../../../src/adapters/memory/world.ts";
import { modelsOf } from "../../../src/providers/model.ts";
import type { Grant } from "../../../src/core/policy/budget.ts";
import type { TaskResult } from "../../../src/protocol/chain.ts";
import type { Incarnation } from "../../../src/protocol/row.ts";
import type { RunTask } from "../../../src/ports/tasks.ts";
import { StoreUnreachable, type World } from "../../../src/ports/world.ts";
import { runTask } from "../../../src/maintenance/chain-tasks.ts";
import { requestCompensation } from "../../../src/operations/compensate.ts";
import { SegmentCache, load } from "../../../src/history/load.ts";
import { decide } from "../../../src/operations/decide.ts";
import { reconcile } from "../../../src/operations/reconcile.ts";
import { startRun } from "../../../src/operations/start.ts";
import { send } from "../../../src/operations/steer.ts";
import { acceptUpgrade } from "../../../src/operations/upgrade.ts";
import type { History } from "../../simulation/history.ts";
import { Actor, CHEAP_MODEL } from "./actor.ts";
import { HourOutage } from "./hour-outage.ts";
import type { Plan, Point } from "./plan.ts";
import { CANCELLED_AT } from "./saga-scenario.ts";
import { type Gate, type Services, BEAT_MS } from "./scenario.ts";
import { servicesOf } from "./scenes.ts";
import { noConnection } from "./summary-scenario.ts";
import { giveInput } from "./wait-scenario.ts";

const AMBIGUOUS: unknown = { kind: "ambiguous", why: "no answer" };

export class CrashHarness {
  readonly world: MemoryWorld;
  readonly outside: Services;
  readonly points: Point[] = [];
  readonly answers: History["answers"][number][] = [];
  readonly steered: History["steered"][number][] = [];
  readonly decisions: string[] = [];
  readonly reached = new Set<string>();
  thawed = false;
  parent: Incarnation = { run: "", born: "" };
  readonly #plan: Plan;
  readonly #clock: VirtualClock;
  readonly #away: HourOutage;
  readonly #said = new Set<string>();
  #process: Actor | null = null;
  readonly #attempts = new Map<Actor, { readonly name: string; readonly attempt: number }>();
  #perform: RunTask | null = null;
  #lastCode = { version: "" };
  #zombie: Actor | null = null;
  #others = 0;
  /** How many points wait until the other processes are idle. */
  #held = 0;

  constructor(plan: Plan, of: { readonly clock: VirtualClock; readonly world: MemoryWorld }) {
    this.#plan = plan;
    ({ clock: this.#clock, world: this.world } = of);
    this.#away = new HourOutage(plan.outage, () => of.clock.now());
    this.outside = servicesOf({ ...plan, now: () => of.clock.now() });
  }

  isOver(run: string): boolean {
    const isEnded = [...this.world.chain.executions.values()].every(({ stage }) => stage === "ended");
    return isEnded && this.world.store.rows.get(run)?.endNotified === true;
  }

  /** Until nobody can go on without the passing of time. */
  async rest(): Promise<void> {
    do await new Promise((resolve) => setImmediate(resolve));
    while (this.#held > 0);
  }

  thaw(): void {
    this.#zombie?.thaw();
    this.#zombie = null;
  }

  #gate(actor: Actor): Gate {
    return async (point, act) => {
      await actor.awake();
      const at = this.points.push({ name: point, byProcess: actor.isProcess }) - 1;
      await this.#meetZombie(actor, at);
      await this.#listen(point);
      const fault = this.#plan.faults?.find((each) => each.at === at)?.kind ?? null;
      if (fault !== null) this.reached.add(`${point} ${fault}`);
      if (fault === "crash before") actor.die();
      await actor.awake();
      if (actor.isProcess && this.#away.meets(point, at)) {
        this.reached.add(`${point} away`);
        return this.#away.answer(point, act);
      }
      if (fault === "unavailable") throw point === CHEAP_MODEL ? noConnection() : new StoreUnreachable("no answer");
      if (fault === "not applied") return AMBIGUOUS as Awaited<ReturnType<typeof act>>;
      const outcome = await act().then(
        (value) => () => value,
        (error: unknown) => () => {
          throw error;
        },
      );
      if (fault === "crash after") actor.die();
      await actor.awake();
      return fault === "answer lost" ? (AMBIGUOUS as ReturnType<typeof outcome>) : outcome();
    };
  }

  /** Freezes whoever the plan says, and lets it go on before the point that the plan says. */
  async #meetZombie(actor: Actor, at: number): Promise<void> {
    const { zombie } = this.#plan;
    if (zombie === undefined) return;
    if (at === zombie.at && actor.isProcess) {
      this.#zombie = actor;
      actor.freeze();
      this.#presumeDead(actor);
      return actor.awake();
    }
    if (this.#zombie === null || this.#zombie === actor) return;
    this.#others += 1;
    if (this.#others <= zombie.others || this.#zombie.isDead) return;
    this.thawed = true;
    this.thaw();
    this.#held += 1;
    await new Promise((resolve) => setImmediate(resolve));
    this.#held -= 1;
  }

  /**
   * Somebody speaks in the middle of a beat, says it again when it was long absorbed, and speaks once more when the
   * run has read its inbox for the last time and is about to end.
   */
  async #listen(point: string): Promise<void> {
    const isMoment = point === CANCELLED_AT || point.startsWith("undo.");
    if (this.#plan.saga === "cancelled" && isMoment) await this.#cancel();
    if (point === "model.turn 1") await this.#say("one", "one");
    if (point === "model.turn 2") await this.#say("one", "one again");
    if (point === "objects.put" && this.#said.has("one again")) await this.#say("two", "two");
  }

  /** Somebody wants the run to end, and what it did to be undone before. */
  async #cancel(): Promise<void> {
    if (this.#said.has("cancel")) return;
    this.#said.add("cancel");
    const run = this.#run();
    const outcome = await this.#outsider((world) =>
      requestCompensation(world, { run, next: "cancel", by: "operator" }),
    );
    this.steered.push({ what: "undo", id: "cancel", outcome, version: this.world.store.rows.get(run)?.version ?? 0 });
  }

  #run(): string {
    return [...this.world.store.rows.keys()].find((each) => each !== this.parent.run) as string;
  }

  async #say(id: string, occasion: string): Promise<void> {
    if (this.#said.has(occasion)) return;
    this.#said.add(occasion);
    const run = this.#run();
    const version = this.world.store.rows.get(run)?.version ?? 0;
    const { kind } = await this.#outsider((world) => send(world, { run, text: `words ${id}`, by: "operator", id }));
    if (occasion !== id) return;
    // Whoever is told that it is there already has been heard by then.
    this.steered.push({ what: "send", id, outcome: kind === "duplicate" ? "delivered" : kind, version });
  }

  /** Does what somebody outside wants, from the beginning after each crash, until it is acknowledged. */
  async #outsider<T>(act: (world: World) => Promise<T>): Promise<T> {
    for (;;) {
      const actor = new Actor(false);
      const crashed = new Promise<null>((resolve) => actor.whenDead(() => resolve(null)));
      const acted = act(actor.worldOf(this.world, this.#gate(actor))).then(
        (value) => ({ value }),
        (error: unknown) => this.#expect(error),
      );
      const done = await Promise.race([acted, crashed]);
      if (done !== null) return done.value;
    }
  }

  /** A store that gives no answer ends an invocation; anything else is a mistake that a checker must see. */
  #expect(error: unknown): null {
    if (error instanceof StoreUnreachable) return null;
    this.reached.add(`mistake ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
    return null;
  }

  /** The run has a parent, which nobody drives: all that it does is to be told. */
  async start(): Promise<string> {
    const agent = this.outside.agentIn((_, act) => act());
    const asked = { agent, input: {}, tenant: "local" };
    const chain = { ...this.world.chain, start: async () => ({ kind: "started" }) as const };
    const boss = await startRun({ ...this.world, chain }, { ...asked, idempotencyKey: "boss" });
    if (boss.kind !== "started") throw new Error(`not started: ${boss.kind}`);
    this.parent = { run: boss.row.run, born: boss.row.born };
    const of = { ...asked, idempotencyKey: "scene", parent: this.parent };
    const started = await this.#outsider((world) => startRun(world, of));
    if (started.kind !== "started" && started.kind !== "exists") throw new Error(`not started: ${started.kind}`);
    return started.row.run;
  }

  /** Hands what is ready to a process, as a supervisor does; the process is killed at its deadline. */
  dispatch(): boolean {
    const { chain } = this.world;
    const [name] = chain.ready(this.#clock.now());
    if (name === undefined) return false;
    const actor = this.#idle();
    const { task, attempt } = chain.begin(name);
    const takeBack = this.#clock.after(BEAT_MS, () => actor.die());
    const end = (answer: TaskResult | null, isDeath = true): void => {
      takeBack();
      actor.isBusy = false;
      if (answer?.kind === "exit") actor.die();
      const heard = answer?.kind === "exit" ? ({ kind: "beat", reply: answer.reply } as const) : answer;
      chain.end(name, attempt, heard, isDeath);
    };
    this.#attempts.set(actor, { name, attempt });
    actor.isBusy = true;
    actor.whenDead(() => end(null));
    this.#lastCode.version = this.outside.deployed();
    const invocation = { deadline: this.#clock.now() + BEAT_MS, drain: new AbortController().signal };
    this.#perform?.(task, invocation).then(
      (answer) => {
        if (!actor.isDead) end(answer);
      },
      (error: unknown) => {
        this.#expect(error);
        end(null, !(error instanceof StoreUnreachable));
        actor.die();
      },
    );
    return true;
  }

  /** The process that did the last task, or a new one in its place. */
  #idle(): Actor {
    const last = this.#process;
    if (last !== null && !last.isDead && !last.isBusy) return last;
    const actor = new Actor(true);
    const gate = this.#gate(actor);
    const agent = this.outside.agentIn(gate);
    const world = actor.worldOf(this.world, gate);
    const code = { version: "" };
    this.#lastCode = code;
    const agentOf = async () => ({ kind: "agent", agent: { ...agent, ...code }, ...modelsOf(agent) }) as const;
    this.#perform = runTask({ world, agentOf, segments: new SegmentCache(), commits: new CommitCache() });
    this.#process = actor;
    return actor;
  }

  #presumeDead(actor: Actor): void {
    const out = this.#attempts.get(actor);
    if (out !== undefined) this.world.chain.end(out.name, out.attempt, null, false);
  }

  /** A person looks at the outside world and says what became of the first call that is unknown. */
  async askPerson(run: string): Promise<boolean> {
    const row = this.world.store.rows.get(run);
    if (row === undefined || (row.status !== "blocked" && row.status !== "waiting")) return false;
    const { state } = await load(this.world, row, new SegmentCache());
    const { lack, questions } = upgradesOf(state);
    if (lack?.kind === "upgrade" && !this.#said.has(`upgrade ${questions}`)) return this.#accept(run, questions);
    if (await giveInput({ run, state, said: this.#said, act: (work) => this.#outsider(work) })) return true;
    const gate = state.open.map(gateIn).find((each) => each?.decision === null)?.gate;
    if (gate !== undefined && !this.#said.has(gate)) return this.#approve(run, gate);
    const asks = extensionOf(state).gate;
    if (asks !== null && asks.decision === null && !this.#said.has(asks.gate)) {
      return this.#approve(run, asks.gate, { toolCalls: 3 });
    }
    // Where a policy says what follows, nobody comes.
    const unknown = state.open.filter(({ status, onUnknown = "ask" }) => status === "unknown" && onUnknown === "ask");
    const open = unknown.find((each) => each.answer === null);
    if (open?.intent == null || this.#said.has(`${open.call} ${open.timesUnknown}`)) return false;
    const { key } = open.intent;
    const as = this.outside.effects.some((effect) => effect.key === key) ? ("succeeded" as const) : ("retry" as const);
    const said = { run, call: open.call, asked: open.timesUnknown, as, result: null, by: "person", note: null };
    const outcome = await this.#outsider((world) => reconcile(world, said));
    this.answers.push({ key, question: [open.call, open.timesUnknown], as, outcome: outcome.kind });
    if (outcome.kind !== "tooEarly") this.#said.add(`${open.call} ${open.timesUnknown}`);
    else this.#clock.moveTo(outcome.reconcilableFrom);
    return true;
  }

  async #accept(run: string, asked: number): Promise<boolean> {
    await this.#outsider((world) => acceptUpgrade(world, { run, by: "person" }));
    this.#said.add(`upgrade ${asked}`);
    return true;
  }

  async #approve(run: string, gate: string, more: Grant = {}): Promise<boolean> {
    const said = { run, gate, as: "approve", args: null, more, by: "person", note: null } as const;
    const { kind } = await this.#outsider((world) => decide(world, said));
    this.decisions.push(kind);
    this.#said.add(gate);
    return true;
  }

  passTime(): void {
    const times = [this.#clock.next(), this.world.chain.next()].filter((time) => time !== null);
    this.#clock.moveTo(Math.max(this.#clock.now(), Math.min(...times, this.#clock.now() + 40 * 24 * 3_600_000)));
  }
}
