/**
 * Instruments an agent inside the processes that are killed. It records moments and calls, and pauses the process at
 * the moment chosen for its task, so that the process can be killed exactly there. Each task is paused once: a process
 * that finds the mark passes.
 *
 * A process that is paused during a call freezes as a whole. What it has sent may still take effect, and nothing that
 * comes back is read: the state that a power loss leaves.
 */
import { existsSync, linkSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as elapse } from "node:timers/promises";
import type { Agent, Tool, ToolContext } from "../ports/agent.ts";
import type { Model } from "../ports/model.ts";
import { asJson, isErrorNamed } from "../codec/value.ts";
import type { Json } from "../core/json.ts";
import { agentWithFaultPoints, modelWithFaultPoints } from "../testing/fault-points.ts";
import type { Kill, KillMoment } from "./kills.ts";
import { type CallLine, MomentCount, append } from "./trace.ts";

/** The plan that the processes of one directory read. */
export interface Plan {
  /** The task of each run, by run ID. */
  readonly taskOf: Readonly<Record<string, number>>;
  readonly killOf: Readonly<Record<number, Kill>>;
}

const planFile = (dir: string): string => join(dir, "plan.json");

export const writePlan = (dir: string, plan: Plan): void => writeFileSync(planFile(dir), JSON.stringify(plan));

export const readPlan = (dir: string): Plan => JSON.parse(readFileSync(planFile(dir), "utf8")) as Plan;

/** The wrappers that instrument an agent and its model, and `onMoment` for the other moments. */
export interface Rig {
  readonly onMoment: (moment: KillMoment) => Promise<void>;
  readonly agent: (agent: Agent) => Agent;
  readonly model: (model: Model) => Model;
}

/** `taskInHand`: returns the task that the process works on; null while it works on none. */
export function rigFor({
  dir,
  plan,
  taskInHand,
}: {
  readonly dir: string;
  readonly plan: Plan;
  readonly taskInHand: () => number | null;
}): Rig {
  const counts = new Map<number, MomentCount>();
  const pass = (task: number, { when, name, at }: KillMoment): Kill => {
    const count = counts.get(task) ?? new MomentCount(dir, task);
    counts.set(task, count);
    const nth = count.of({ when, name }) + 1;
    append(dir, task, { kind: "moment", when, name, where: at });
    return { when, name, at, nth };
  };
  const plannedFor = (task: number, reached: Kill): Kill | null => {
    const kill = plan.killOf[task];
    const isMeant = kill?.when === reached.when && kill.name === reached.name && kill.nth === reached.nth;
    return isMeant ? kill : null;
  };
  const onMoment = async (moment: KillMoment): Promise<void> => {
    const task = taskInHand();
    if (task === null || plannedFor(task, pass(task, moment)) === null || !leaveMark(dir, task)) return;
    await new Promise<never>(() => void setInterval(() => {}, FOR_EVER_MS));
  };
  const during: During = async (moment, call) => {
    const task = taskInHand();
    if (task === null) return call();
    const reached = pass(task, { when: "during", ...moment });
    const kill = plannedFor(task, reached);
    const begunAt = performance.now();
    const called = call();
    if (kill !== null) {
      // A call that ends before its moment is killed at its end, before anything reads its answer.
      await Promise.race([called.catch(() => {}), elapse(kill.afterMs ?? 0)]);
      if (leaveMark(dir, task)) freeze();
    }
    try {
      return await called;
    } finally {
      const ms = Math.round(performance.now() - begunAt);
      append(dir, task, { kind: "took", name: moment.name, nth: reached.nth, ms });
    }
  };
  const note: Note = (line) => {
    const task = taskInHand();
    if (task !== null) append(dir, task, { kind: "call", ...line });
  };
  return {
    onMoment,
    agent: (agent) => agentWithFaultPoints(agentNoted(agent, { note, during }), onMoment),
    model: (model) =>
      modelWithFaultPoints(
        { ...model, ask: (request) => during({ name: "model", at: "" }, async () => model.ask(request)) },
        onMoment,
      ),
  };
}

const FOR_EVER_MS = 60_000;

/** Stops the whole process until it is killed. It kills itself if its killer has died, so it never stays behind. */
function freeze(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, FOR_EVER_MS);
  process.kill(process.pid, "SIGKILL");
}

/** Makes a call that may be interrupted. */
type During = <T>(moment: Pick<KillMoment, "name" | "at">, call: () => Promise<T>) => Promise<T>;

type Note = (line: Omit<CallLine, "kind" | "at" | "pid">) => void;

/**
 * Records each call of a tool. This wrapper is inside the fault points: a process that is killed before a tool runs has
 * not recorded a call.
 */
function agentNoted(agent: Agent, by: Noting): Agent {
  const tools = Object.entries(agent.tools).map(([name, tool]) => [name, toolNoted(name, tool, by)] as const);
  return { ...agent, tools: Object.fromEntries(tools) };
}

interface Noting {
  readonly note: Note;
  readonly during: During;
}

function toolNoted(name: string, tool: Tool, { note, during }: Noting): Tool {
  const { effect, undo } = tool;
  return {
    ...tool,
    run: (context) => {
      const run = async (): Promise<unknown> => tool.run(context);
      return during({ name: "effect", at: name }, () => noted(context, { tool: name, effect }, { note, run }));
    },
    undo: undo && {
      ...undo,
      run: (context) => {
        const call = { tool: name, effect: undo.effect, undoes: context.of.key };
        const run = async (): Promise<unknown> => undo.run(context);
        return during({ name: "undo", at: name }, () => noted(context, call, { note, run }));
      },
    },
  };
}

async function noted(
  { input, key, signal }: Pick<ToolContext<unknown>, "input" | "key" | "signal">,
  call: Pick<CallLine, "tool" | "effect" | "undoes">,
  { note, run }: { readonly note: Note; readonly run: () => Promise<unknown> },
): Promise<unknown> {
  const made = { ...call, key, args: jsonOf(input) };
  note({ ...made, what: "begun", result: null });
  try {
    const result = await run();
    note({ ...made, what: "returned", result: jsonOf(result) });
    return result;
  } catch (error) {
    const isUnsure = signal.aborted || isErrorNamed(error, "OutcomeUnknown");
    note({ ...made, what: isUnsure ? "unsure" : "threw", result: null });
    throw error;
  }
}

function jsonOf(value: unknown): Json {
  const parsed = asJson(value);
  return parsed.ok ? parsed.json : null;
}

/** Writes the mark atomically. Returns false if another process has paused here before. */
function leaveMark(dir: string, task: number): boolean {
  const mark = join(dir, `held.${task}`);
  if (existsSync(mark)) return false;
  const mine = join(dir, `mark.${process.pid}`);
  writeFileSync(mine, String(process.pid));
  try {
    linkSync(mine, mark);
    return true;
  } catch {
    return false;
  } finally {
    rmSync(mine, { force: true });
  }
}

/** Kills each paused process once, and records when. */
export class Killer {
  readonly killedAt = new Map<number, { readonly at: number; readonly pid: number }>();
  readonly #dir: string;

  constructor(dir: string) {
    this.#dir = dir;
  }

  look(): void {
    for (const name of readdirSync(this.#dir)) {
      if (!name.startsWith("held.")) continue;
      const task = Number(name.slice("held.".length));
      if (this.killedAt.has(task)) continue;
      const pid = Number(readFileSync(join(this.#dir, name), "utf8"));
      this.killedAt.set(task, { at: Date.now(), pid });
      process.kill(pid, "SIGKILL");
    }
  }
}
