/**
 * Runs the tasks of a comparison as plain loops. Like the workers of cairn, their processes live on from task to task.
 *
 * A process that is paused at its moment is killed with SIGKILL. The loop that saves its state is started again in
 * another process, which reads the saved state. The loop that keeps its state in memory is lost.
 */
import { type ChildProcess, fork } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { WorkerOptions } from "../workers/workers.ts";
import type { LoopEnd } from "./plain-loop.ts";
import { Killer, writePlan } from "./rig.ts";
import {
  AT_ONCE,
  LOOK_MS,
  type LoopTask,
  NO_ANSWERS,
  type Outcome,
  type TrialPass,
  type Starting,
} from "./strategy.ts";
import { traceLines } from "./trace.ts";

/** A process's message at the end of a task. */
export type LoopSaid =
  | { readonly kind: "ended"; readonly end: LoopEnd }
  | { readonly kind: "broken"; readonly why: string };

/** Runs the tasks of a pass with a plain loop. `saves`: the loop saves its state after each beat. */
export async function plainPass(
  pass: TrialPass,
  how: { readonly saves: boolean; readonly starting: Starting },
): Promise<readonly Outcome[]> {
  const marks = join(pass.dir, "chaos");
  mkdirSync(marks, { recursive: true });
  await pass.chaos?.prepare(pass.dir);
  writePlan(marks, { taskOf: {}, killOf: Object.fromEntries(pass.kills) });
  const killer = new Killer(marks);
  const looking = setInterval(() => killer.look(), LOOK_MS);
  const children = new Set<ChildProcess>();
  const outcomes: Outcome[] = [];
  const waiting = [...pass.tasks.keys()];
  const work = async (): Promise<void> => {
    const ask = asking(pass, { starting: how.starting, marks, children });
    for (let task = waiting.shift(); task !== undefined; task = waiting.shift()) {
      pass.stop.throwIfAborted();
      outcomes.push(await oneTask(pass, { ...how, task, marks, killer, ask }));
      pass.onProgress(outcomes.length);
    }
  };
  try {
    await Promise.all(Array.from({ length: AT_ONCE }, work));
  } finally {
    clearInterval(looking);
    for (const child of children) child.kill("SIGKILL");
  }
  return outcomes.toSorted((one, other) => one.task - other.task);
}

/** Sends a task to a process, and resolves with its message; null if the process died. */
type Ask = (task: LoopTask) => Promise<LoopSaid | null>;

interface OneTask {
  readonly saves: boolean;
  readonly task: number;
  readonly marks: string;
  readonly killer: Killer;
  readonly ask: Ask;
}

async function oneTask(pass: TrialPass, { saves, task, marks, killer, ask }: OneTask): Promise<Outcome> {
  const asked = {
    task,
    input: pass.tasks.get(task) ?? null,
    file: saves ? join(marks, `state-${task}.json`) : null,
  };
  let said = await ask(asked);
  const killed = killer.killedAt.get(task) ?? null;
  if (said === null && killed !== null && saves) said = await ask(asked);
  const end = said?.kind === "ended" ? said.end : null;
  const why = said?.kind === "broken" ? said.why : said === null ? "its process was killed" : null;
  const lines = traceLines(marks, task);
  const countOf = (as: "approved" | "denied"): number =>
    lines.filter((line) => line.kind === "decision" && line.as === as).length;
  const answers = { ...NO_ANSWERS, approved: countOf("approved"), denied: countOf("denied") };
  return { task, run: null, end, why, killed, lines, answers, handedOutAgain: 0 };
}

/** Keeps one process at a time, and starts another after it died. */
function asking(
  pass: TrialPass,
  {
    starting,
    marks,
    children,
  }: { readonly starting: Starting; readonly marks: string; readonly children: Set<ChildProcess> },
): Ask {
  let live: ChildProcess | null = null;
  return async (task) => {
    live ??= begin(
      pass,
      starting.loop({ ...pass.typed, dir: pass.dir, marks, agentFile: pass.file, agent: pass.agent.name }),
    );
    const child = live;
    children.add(child);
    const { promise, resolve } = Promise.withResolvers<LoopSaid | null>();
    const hear = (said: LoopSaid): void => resolve(said);
    const miss = (): void => resolve(null);
    child.once("message", hear).once("close", miss);
    // If the message could not be sent, the process ends, and that event resolves the promise.
    child.send(task, () => {});
    const said = await promise;
    child.off("message", hear).off("close", miss);
    if (said === null) {
      children.delete(child);
      live = null;
    }
    return said;
  };
}

const begin = (pass: TrialPass, { module, args, execArgv, env }: WorkerOptions): ChildProcess =>
  fork(module, [...args], {
    execArgv: [...execArgv],
    env: { ...env, ...pass.chaos?.env(pass.dir), CAIRN_STORE: pass.dir },
    stdio: ["ignore", 2, 2, "ipc"],
  });
