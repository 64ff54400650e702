/**
 * Families with one fault at every call of a store in turn: the process dies before or after the call, its answer is
 * lost, or it freezes there and goes on when all is over. Whatever the fault meets, each child is made once and heard of
 * once, nothing works below a run that has ended, and what the family spends is spent once.
 */
import { expect, test } from "vitest";
import type { Event } from "../../../src/core/event.ts";
import type { VirtualClock } from "../../../src/adapters/memory/clock.ts";
import type { Agent } from "../../../src/ports/agent.ts";
import { StoreUnreachable, type World } from "../../../src/ports/world.ts";
import { sendRequest } from "../../../src/engine/loop/request.ts";
import { show, timeline } from "../../../src/operations/views.ts";
import { wrongInFamily } from "../../simulation/family-checkers.ts";
import { recordRows, told } from "../../simulation/family-history.ts";
import { assertNoViolations } from "../../support/gate/safety.ts";
import { beginRun } from "../../support/harness/drive.ts";
import { STRIDE } from "../../support/gate/stride.ts";
import { ENUMERATION_TIMEOUT } from "../../support/harness/timeouts.ts";
import { wrapPorts } from "../../support/harness/ports.ts";
import { type Harness, createChainHarness } from "../../support/harness/harness.ts";
import { sweep } from "../../support/harness/chain-steps.ts";
import { OVER, boss, worker } from "../../support/agents/workers.ts";

const FAULTS = ["crash before", "crash after", "answer lost", "freeze"] as const;
type Fault = (typeof FAULTS)[number];

const WRITES = /^(createChildren|fenceChild|claim|commit|park|deliver|request|handOver|create|put|take)$/;
const TASKS_MAX = 160;

/** What a family does, and what comes of it. */
interface Scene {
  readonly name: string;
  readonly agents: (clock: VirtualClock, outside: Outside) => readonly Agent[];
  /** The root is cancelled once there are so many runs. */
  readonly cancelledWith?: number;
  readonly end: "completed" | "cancelled";
  readonly mayFail?: true;
  /** How its hand-offs end; default: they succeed. */
  readonly outcome?: "failed";
  /** Runs that each play makes at least. */
  readonly runs: number;
  /** Calls that the faults of this scene have to meet. */
  readonly meets: readonly string[];
  /** Events of the root that a play without faults records. */
  readonly shows: readonly string[];
}

/**
 * The external service of the workers: the run that had each effect, by its idempotency key. It honours keys. All of them
 * do the same part of the work, so another key means another effect.
 */
type Outside = Map<string, string>;

const SUB_BOSS = { agent: "middle", output: undefined as never, budget: { beats: 30 } } as const;
const CALLS = ["createChildren", "claim", "commit", "deliver", "recordEndNotified", "start"];

const SCENES: readonly Scene[] = [
  {
    name: "two children",
    agents: () => [boss(), worker()],
    ...{ end: "completed", runs: 3, meets: CALLS, shows: ["ChildDispatched", "ChildStarted"] },
  },
  {
    name: "a child and a grandchild",
    agents: () => [family(), subBoss(), worker()],
    ...{ end: "completed", runs: 4, meets: CALLS, shows: ["ChildDispatched", "ChildStarted"] },
  },
  {
    name: "a child and a grandchild that are asked to stop",
    agents: () => [family(), subBoss(), worker()],
    ...{ cancelledWith: 4, end: "cancelled", runs: 4, meets: [...CALLS, "request"], shows: ["ChildAskedToStop"] },
  },
  {
    name: "a child that is too late",
    agents: (clock) => [boss({ children: 1, child: { deadlineMs: 4_000, tries: 3 } }), slowFirst(clock)],
    // A fault may delay every child beyond the deadline: then the call fails.
    ...{
      mayFail: true,
      end: "completed",
      runs: 2,
      meets: [...CALLS, "request"],
      shows: ["ChildSuperseded", "ChildAskedToStop"],
    },
  },
  {
    name: "a child that acts, is too late and goes on",
    agents: (clock, outside) => [
      boss({ children: 1, child: { deadlineMs: 4_000, tries: 3 } }),
      slowActor(clock, outside),
    ],
    ...{ mayFail: true, end: "completed", runs: 2, meets: [...CALLS, "fenceChild"], shows: ["ChildContinued"] },
  },
  {
    name: "a hand-off that is lost after its effect",
    agents: (_, outside) => [boss({ children: 1, child: { tries: 2 } }), forgetful(outside)],
    ...{ end: "completed", outcome: "failed", runs: 2, meets: CALLS, shows: ["ChildDispatched", "CrackSignalled"] },
  },
];

/** A worker that acts outside, and gives a report that does not fit. So its hand-off is lost after its effect. */
function forgetful(outside: Outside): Agent {
  const act = ({ key, run }: { readonly key: string; readonly run: string }): string => {
    if (!outside.has(key)) outside.set(key, run);
    return run;
  };
  return { ...worker({ run: act }), result: () => ({ text: 1 }) };
}

/** A hand-off that is lost after its effect is not made again: all keys together have one effect, of a child. */
function wrongOutside(outside: Outside, events: readonly Event[]): readonly string[] {
  const dispatched = new Set(events.flatMap((event) => (event.kind === "ChildDispatched" ? [event.child] : [])));
  const byRun = Map.groupBy(outside, ([, run]) => run);
  return [
    ...[...byRun.keys()].flatMap((run) => (dispatched.has(run) ? [] : [`${run} acted and was not dispatched`])),
    ...(outside.size > 1 ? [`one call had ${outside.size} effects in ${byRun.size} children`] : []),
  ];
}

/** A root that asks a worker and a sub-boss. */
function family(): Agent {
  const calls = [
    { tool: "ask", args: { part: 0 } },
    { tool: "delegate", args: { part: 1 } },
  ];
  const root = boss({ name: "root", reply: ({ calls: settled }) => (settled.length === 0 ? { calls } : OVER) });
  const { ask } = boss({ child: SUB_BOSS }).tools;
  return { ...root, tools: { ...root.tools, ...(ask === undefined ? {} : { delegate: ask }) } };
}

const subBoss = (): Agent => ({
  ...boss({ name: "middle", children: 1, budget: { beats: 30 } }),
  task: worker().task,
});

const SLOW_CALLS = 3;

/** A worker whose first child thinks for longer than its deadline, each time. */
function slowFirst(clock: VirtualClock): Agent {
  let asked = 0;
  return worker({
    effect: "none",
    reply: async ({ calls }) => {
      asked += 1;
      if (asked <= SLOW_CALLS) await new Promise<void>((go) => void clock.after(10_000, go));
      return calls.length < SLOW_CALLS ? { calls: [{ tool: "act", args: {} }], tokensIn: 1, tokensOut: 1 } : OVER;
    },
  });
}

/** A worker that acts outside once. Its first model call, and the first one after that, take longer than its deadline. */
function slowActor(clock: VirtualClock, outside: Outside): Agent {
  const asked = new Set<number>();
  return worker({
    run: ({ key, run }) => {
      if (!outside.has(key)) outside.set(key, run);
      return run;
    },
    reply: async ({ calls }) => {
      const isFirst = !asked.has(calls.length);
      asked.add(calls.length);
      if (isFirst) await new Promise<void>((go) => void clock.after(10_000, go));
      return calls.length === 0 ? { calls: [{ tool: "act", args: {} }], tokensIn: 1, tokensOut: 1 } : OVER;
    },
  });
}

/** Counts the calls of all processes; the call number `at` meets the fault. */
class Meter {
  calls = 0;
  /** The names of the calls so far. */
  readonly names: string[] = [];
  met = "";
  /** The process that met it died. */
  died = false;
  frozen: (() => void) | null = null;
  /** Resolves when that process dies or freezes: the chain hears nothing of its attempt. */
  readonly death: Promise<null>;
  #die: () => void = () => undefined;
  readonly #at: number;
  readonly #fault: Fault;

  constructor(at: number, fault: Fault) {
    this.#at = at;
    this.#fault = fault;
    this.death = new Promise((resolve) => {
      this.#die = () => {
        this.died = true;
        resolve(null);
      };
    });
  }

  /** The world of one process. */
  worldOf(world: World): World {
    let isDead = false;
    return wrapPorts(world, async ({ method, send }) => {
      if (isDead) return new Promise(() => undefined);
      this.calls += 1;
      this.names.push(method);
      if (this.calls !== this.#at) return send();
      this.met = method;
      if (this.#fault === "freeze") {
        this.#die();
        await new Promise<void>((thaw) => (this.frozen = thaw));
        return send();
      }
      if (this.#fault === "answer lost") {
        await send();
        if (!WRITES.test(method)) throw new StoreUnreachable("no answer", { store: method });
        return { kind: "ambiguous", why: "no answer" };
      }
      if (this.#fault === "crash after") await send();
      isDead = true;
      this.#die();
      return new Promise(() => undefined);
    });
  }
}

/** Attempts of any run, one after another, until all is over. */
async function attempts(
  harness: Harness,
  of: { scene: Scene; agents: readonly Agent[]; run: string; meter: Meter; fault: Fault },
) {
  const { scene, agents, run, meter, fault } = of;
  const late: Promise<unknown>[] = [];
  let isCancelled = false;
  for (let task = 0; task < TASKS_MAX; task += 1) {
    if (!isCancelled && harness.world.store.rows.size === scene.cancelledWith) {
      isCancelled = true;
      await sendRequest(harness.world, { run, want: "cancel" });
    }
    const next = harness.world.chain.next();
    if (next === null || next > harness.clock.now() + 3_600_000) {
      // The sweeper gives what is left its next step.
      harness.clock.moveTo(harness.clock.now() + 30_000);
      await sweep(harness.world);
      if (harness.world.chain.next() === null) break;
      continue;
    }
    const out = harness.startAttempt();
    const before = meter.died;
    const result = out.perform({ world: meter.worldOf(harness.world), agent: agents });
    const settled = result.catch(() => null);
    const heard = await harness.advanceUntilSettled(before ? settled : Promise.race([settled, meter.death]));
    if (meter.died !== before && fault === "freeze") late.push(settled);
    out.end(heard);
  }
  meter.frozen?.();
  await harness.advanceUntilSettled(Promise.all(late));
}

/** One play with a fault at that call; 0: without one. Returns all calls, and the one that met it, if there is one. */
async function play(
  scene: Scene,
  at: number,
  fault: Fault,
): Promise<{ readonly met: string; readonly names: readonly string[] }> {
  const harness = createChainHarness();
  const { world } = harness;
  const record = recordRows(world, () => 0);
  const outside: Outside = new Map();
  const agents = scene.agents(harness.clock, outside);
  const { run } = await beginRun(world, agents[0] as Agent, {});
  const meter = new Meter(at, fault);
  await attempts(harness, { scene, agents, run, meter, fault });
  const context = `${fault} at call ${at}, ${meter.met}`;
  const rows = [...world.store.rows.values()];
  const isOver = rows.every(({ endNotified }) => endNotified);
  const history = { world, root: run, ...record, removed: new Set<string>(), isOver, mistakes: [] };
  const wrong = await wrongInFamily(history, isOver ? await told(history) : []);
  const events = (await timeline(world, { run, after: 0 })) ?? [];
  assertNoViolations([...wrong, ...wrongOutside(outside, events)].map((each) => `${context}: ${each}`));
  const shown = await show(world, run);
  expect({ context, status: shown?.status }).toEqual({ context, status: scene.end });
  expect(rows.length).toBeGreaterThanOrEqual(at === 0 ? scene.runs : 1);
  if (scene.end === "completed" && (at === 0 || scene.mayFail !== true)) {
    expect(rows.length).toBeGreaterThanOrEqual(scene.runs);
    const outcomes = shown?.result as readonly { readonly outcome: string }[];
    const expected = scene.outcome ?? "succeeded";
    expect({ context, outcomes: outcomes.map(({ outcome }) => outcome) }).toEqual({
      context,
      outcomes: outcomes.map(() => expected),
    });
  }
  if (at === 0) {
    expect(events.map(({ kind }) => kind)).toEqual(expect.arrayContaining([...scene.shows]));
  }
  return meter;
}

test.each(SCENES)("$name: without faults the scene shows what it is about", async (scene) => {
  await play(scene, 0, "crash before");
});

test.each(SCENES.flatMap((scene) => FAULTS.map((fault) => [scene.name, fault, scene] as const)))(
  "%s, %s: at any call nothing is lost or done twice",
  ENUMERATION_TIMEOUT,
  async (_, fault, scene) => {
    const { names } = await play(scene, 0, fault);
    const met = new Set<string>();
    for (let at = 1; ; at += 1) {
      const name = names[at - 1] ?? "";
      if (at % STRIDE !== 0 && (name === "" || met.has(name))) continue;
      const history = await play(scene, at, fault);
      if (history.met === "") break;
      met.add(history.met);
    }
    for (const call of scene.meets) expect(met).toContain(call);
  },
);
