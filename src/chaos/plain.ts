/**
 * The tasks as plain loops, a process for each. A process that is held at its moment is killed with SIGKILL. The loop
 * that saves is started again and reads what it saved; of the other nothing is left.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { End } from "./plain-loop.ts";
import { Killer, writePlan } from "./rig.ts";
import { AT_ONCE, LOOK_MS, type LoopSettings, NO_ANSWERS } from "./strategy.ts";
import type { Outcome, Pass, Starting } from "./strategy.ts";
import { linesOf } from "./trace.ts";

/** What it says when it has ended. */
export type LoopSaid =
  | { readonly kind: "ended"; readonly end: End }
  | { readonly kind: "broken"; readonly why: string };

export async function plainPass(
  pass: Pass,
  of: { readonly saves: boolean; readonly starting: Starting },
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
    for (let task = waiting.shift(); task !== undefined; task = waiting.shift()) {
      pass.stop.throwIfAborted();
      outcomes.push(await oneTask(pass, { ...of, task, marks, killer, children }));
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

interface OneTask {
  readonly saves: boolean;
  readonly starting: Starting;
  readonly task: number;
  readonly marks: string;
  readonly killer: Killer;
  readonly children: Set<ChildProcess>;
}

async function oneTask(pass: Pass, of: OneTask): Promise<Outcome> {
  const { saves, task, marks, killer } = of;
  const file = saves ? join(marks, `state-${task}.json`) : null;
  const input = pass.tasks.get(task) ?? null;
  const settings: LoopSettings = { marks, task, input, agentFile: pass.file, agent: pass.agent.name, file };
  let said = await runOnce(pass, { ...of, settings });
  const killed = killer.killedAt.get(task) ?? null;
  if (said === null && killed !== null && saves) said = await runOnce(pass, { ...of, settings });
  const end = said?.kind === "ended" ? said.end : null;
  const why = said?.kind === "broken" ? said.why : said === null ? "its process was killed" : null;
  return { task, run: null, end, why, killed, lines: linesOf(marks, task), answers: NO_ANSWERS };
}

/** One process, up to its end. Null: it died. */
async function runOnce(pass: Pass, of: OneTask & { readonly settings: LoopSettings }): Promise<LoopSaid | null> {
  const { module, args, execArgv, env } = of.starting.loop(of.settings);
  const child = fork(module, [...args], {
    execArgv: [...execArgv],
    env: { ...env, ...pass.chaos?.env(pass.dir), CAIRN_STORE: pass.dir },
    stdio: ["ignore", 2, 2, "ipc"],
  });
  of.children.add(child);
  let said: LoopSaid | null = null;
  child.on("message", (message: LoopSaid) => (said = message));
  await once(child, "close");
  of.children.delete(child);
  return said;
}
