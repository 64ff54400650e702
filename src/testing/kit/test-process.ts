/**
 * A process in memory that can be killed: from then on none of its calls has an effect or returns. The chain learns of
 * the death, as a supervisor does from the operating system, and starts the next process.
 *
 * The clock is virtual. It moves when the process waits only for time, and not while a tool, probe, check or model is at
 * work. So waits of hours take no time, and a tool that does real I/O does not time out. A tool that takes longer than
 * `PATIENCE_MS` of real time hangs; then the clock moves and its timeout fires (`user-work.ts`).
 */
import { setImmediate as nextTurn, setTimeout as elapse } from "node:timers/promises";
import type { VirtualClock } from "../../adapters/memory/clock.ts";
import type { LoadedAgent, Runner } from "../../engine/context/runner.ts";
import { CommitCache } from "../../history/commits.ts";
import { SegmentCache } from "../../history/load.ts";
import { runTask } from "../../maintenance/chain-tasks.ts";
import type { Agent, Tool } from "../../ports/agent.ts";
import type { Model } from "../../ports/model.ts";
import type { World } from "../../ports/world.ts";
import type { Task, TaskResult } from "../../protocol/chain.ts";
import {
  type Moment,
  agentWithFaultPoints,
  agentWithTools,
  modelWithFaultPoints,
  worldWithFaultPoints,
} from "../fault-points.ts";
import { UserWork } from "./user-work.ts";

/** Turns of the event loop after which a process without user code at work waits only for time. */
const IDLE_TURNS = 10;
const TURNS_MAX = 100_000;

/** How a task of a process ended. `died`: the process was killed. `threw`: the chain retries. */
export type Performed =
  | { readonly kind: "result"; readonly result: TaskResult }
  | { readonly kind: "died" }
  | { readonly kind: "threw"; readonly error: unknown };

export interface TestProcessOptions {
  readonly world: World;
  readonly clock: VirtualClock;
  readonly agentOf: (name: string) => LoadedAgent | null;
  /** Called at each moment. True kills the process there. */
  readonly onMoment: (moment: Moment) => boolean;
  /** The real time in milliseconds, which says when a tool hangs. */
  readonly realNow?: () => number;
}

export class TestProcess {
  readonly #options: TestProcessOptions;
  readonly #runner: Runner;
  readonly #death = Promise.withResolvers<Performed>();
  #isDead = false;
  readonly #work: UserWork;

  constructor(options: TestProcessOptions) {
    this.#options = options;
    this.#work = new UserWork(options.realNow);
    const world = worldWithFaultPoints(this.#mortal(options.world), (moment) => this.#pass(moment));
    this.#runner = {
      world,
      agentOf: async (name) => {
        const found = options.agentOf(name);
        return found === null ? { kind: "absent", why: `the test has no agent ${name}` } : this.#instrumented(found);
      },
      segments: new SegmentCache(),
      commits: new CommitCache(),
    };
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  /** Runs a task until it ends or the process dies. */
  async perform(task: Task): Promise<Performed> {
    const { world, clock } = this.#options;
    const invocation = { deadline: clock.now() + world.limits.beatMs, drain: new AbortController().signal };
    let isOver = false;
    const ended = runTask(this.#runner)(task, invocation).then(
      (result): Performed => ({ kind: "result", result }),
      (error: unknown): Performed => ({ kind: "threw", error }),
    );
    const over = Promise.race([ended, this.#death.promise]).finally(() => (isOver = true));
    await this.#letTimePass(() => isOver);
    return over;
  }

  async #letTimePass(isOver: () => boolean): Promise<void> {
    const { clock } = this.#options;
    let idle = 0;
    for (let turn = 0; turn < TURNS_MAX; turn += 1) {
      await nextTurn();
      if (isOver()) return;
      // A server that takes seconds to start uses up no turns.
      if (this.#work.isAny && turn > IDLE_TURNS) await elapse(1);
      if (this.#work.holdsClock) {
        idle = 0;
        continue;
      }
      idle += 1;
      const next = clock.next();
      if (next === null || idle < IDLE_TURNS) continue;
      clock.moveTo(next);
      idle = 0;
    }
    throw new Error("a process of the test neither ends nor waits for time");
  }

  /** A call of a dead process does nothing and never returns. */
  #mortal(world: World): World {
    const ports = Object.fromEntries(
      (["table", "inbox", "leases", "records", "objects", "chain"] as const).map((name) => [
        name,
        this.#mortalPort(world[name]),
      ]),
    );
    const clock: World["clock"] = {
      now: () => world.clock.now(),
      earliest: () => world.clock.earliest(),
      after: (delayMs, call) => world.clock.after(delayMs, () => (this.#isDead ? undefined : call())),
    };
    return { ...world, ...ports, clock };
  }

  #mortalPort<Port extends object>(port: Port): Port {
    return new Proxy(port, {
      get: (target, member) => {
        const method: unknown = Reflect.get(target, member);
        if (typeof method !== "function") return method;
        return async (...given: unknown[]): Promise<unknown> => {
          if (this.#isDead) return never();
          const outcome: unknown = await Reflect.apply(method, target, given);
          return this.#isDead ? never() : outcome;
        };
      },
    });
  }

  async #pass(moment: Moment): Promise<void> {
    if (!this.#isDead && this.#options.onMoment(moment)) {
      this.#isDead = true;
      this.#death.resolve({ kind: "died" });
    }
    if (this.#isDead) await never();
  }

  #instrumented(loaded: LoadedAgent): LoadedAgent {
    const pass = (moment: Moment): Promise<void> => this.#pass(moment);
    const instrument = (model: Model): Model => modelWithFaultPoints(this.#workingModel(model), pass);
    return {
      kind: "agent",
      agent: agentWithFaultPoints(this.#working(loaded.agent), pass),
      model: instrument(loaded.model),
      ...(loaded.fallbacks && { fallbacks: loaded.fallbacks.map(instrument) }),
      ...(loaded.named && {
        named: Object.fromEntries(Object.entries(loaded.named).map(([name, model]) => [name, instrument(model)])),
      }),
    };
  }

  #workingModel(model: Model): Model {
    const { name, detached } = model;
    const { submit, poll, find, cancel, honoursKeys } = detached ?? {};
    return {
      name,
      ask: (request) => this.#work.during(() => model.ask(request)),
      ...(submit !== undefined &&
        poll !== undefined && {
          detached: {
            submit: this.#asWork(submit),
            poll: this.#asWork(poll),
            ...(find && { find: this.#asWork(find) }),
            ...(cancel && { cancel: this.#asWork(cancel) }),
            ...(honoursKeys && { honoursKeys }),
          },
        }),
    };
  }

  /** The agent, whose functions keep the clock from moving while they work. */
  #working(agent: Agent): Agent {
    const full = agentWithTools(agent, (tool) => this.#workingTool(tool));
    const sources = full.sources?.map((source) => ({ ...source, list: this.#asWork(source.list) }));
    const done = agent.done.map((check) => ({
      ...check,
      holds: (view: Parameters<typeof check.holds>[0]) => this.#work.during(async () => check.holds(view)),
    }));
    return { ...full, done, ...(sources && { sources }) };
  }

  #workingTool(tool: Tool): Tool {
    const { before, run, probe, undo } = tool;
    return {
      ...tool,
      ...(before && { before: this.#asWork(before) }),
      run: this.#asWork(run),
      probe: probe && this.#asWork(probe),
      undo: undo && {
        ...undo,
        run: this.#asWork(undo.run),
        ...(undo.probe && { probe: this.#asWork(undo.probe) }),
      },
    };
  }

  #asWork<Given extends unknown[], Result>(work: (...given: Given) => Result | Promise<Result>) {
    return (...given: Given): Promise<Result> => this.#work.during(async () => work(...given));
  }
}

const never = (): Promise<never> => new Promise(() => undefined);
