/**
 * The chain's side of a history: what is ready goes to a process, which does it on the real runner and is killed at its
 * deadline. Chains deliver at least once: a task may be sent twice, and somebody may start another execution of a run.
 */
import { modelsOf } from "../../src/providers/model.ts";
import { LEVEL, LOWEST_LEVEL } from "../../src/core/levels.ts";
import type { Task, TaskResult } from "../../src/protocol/chain.ts";
import { StoreUnreachable } from "../../src/ports/world.ts";
import { runTask } from "../../src/maintenance/chain-tasks.ts";
import { CommitCache } from "../../src/history/commits.ts";
import { SegmentCache } from "../../src/history/load.ts";
import { Actor } from "./actor.ts";
import { BEAT_MS, KILL_LATE_MS, SWEEP_MS, VERSIONS_MAX } from "./modes.ts";
import { worldOf } from "./network.ts";
import { type Sim, isCalm, recordFault } from "./sim.ts";

/** How many processes of a rollout are too old. */
const OLD_ONE_IN = 3;

type Perform = (task: Task, mustEnd: () => void) => Promise<TaskResult>;

/** What the chain hears of a task: its result, that its process died, or nothing of which it could tell that. */
type AttemptEnd = TaskResult | "died" | "no answer";

/** What each process does with a task; its memory lives as long as the process. */
const performs = new WeakMap<Actor, Perform>();

/** One that has nothing to do, or a new one. */
function idleProcess(sim: Sim): Actor {
  const idle = [...sim.actors].find((each) => performs.has(each) && !each.isBusy && !each.isFrozen);
  if (idle !== undefined && !sim.chances.scheduler.oneIn(4)) return idle;
  const actor = new Actor(sim, "process");
  const { clock } = actor;
  const agent = sim.outside.agentIn(actor);
  const models = modelsOf(agent);
  const code = { version: "" };
  const isOld = sim.plan.isMixed && sim.chances.levels.oneIn(OLD_ONE_IN);
  const perform = runTask({
    // Every run needs the lowest level; the rollout is over when all is calm.
    get level() {
      return isOld && !isCalm(sim) ? LOWEST_LEVEL - 1 : LEVEL;
    },
    world: worldOf(sim, actor),
    agentOf: async () => ({ kind: "agent", agent: { ...agent, ...code }, ...models }),
    segments: new SegmentCache(),
    commits: new CommitCache(),
  });
  const drain = new AbortController().signal;
  performs.set(actor, (task, mustEnd) => {
    code.version = versionNow(sim);
    return perform(task, { deadline: clock.now() + BEAT_MS, drain, mustEnd });
  });
  return actor;
}

const DEPLOYS_ONE_IN = 4;

/** Now and then another version has just been deployed. */
function versionNow(sim: Sim): string {
  const { plan, chances, record } = sim;
  const mayChange = plan.deploys !== "nothing" && sim.deployed < VERSIONS_MAX && !isCalm(sim);
  if (mayChange && chances.scheduler.oneIn(DEPLOYS_ONE_IN)) {
    sim.deployed += 1;
    record.reached.add(`deploys ${plan.deploys}`);
    record.note("operator", `deploys version ${sim.deployed}`);
  }
  return String(sim.deployed);
}

/** Gives a task to a process; `onEnd` hears once what came of it. */
function give(
  sim: Sim,
  of: { readonly task: Task; readonly name: string; readonly onEnd: (heard: AttemptEnd) => void },
): Actor {
  const { task, name, onEnd } = of;
  const { record, clock, chances } = sim;
  const actor = idleProcess(sim);
  sim.tasks += 1;
  actor.task = sim.tasks;
  actor.deadline = clock.now() + BEAT_MS;
  actor.phase = null;
  actor.isBusy = true;
  let isOver = false;
  const end = (heard: AttemptEnd): void => {
    if (isOver) return;
    isOver = true;
    takeBack();
    actor.isBusy = false;
    record.note(actor.name, `task ${actor.task} of ${name}: ${typeof heard === "string" ? heard : wordsOf(heard)}`);
    onEnd(heard);
    if (typeof heard === "string" || heard.kind !== "exit") return;
    record.exits += 1;
    actor.die();
  };
  const late = chances.scheduler.below(KILL_LATE_MS);
  const takeBack = clock.after(BEAT_MS + late, () => {
    record.note(actor.name, "killed at its deadline");
    actor.die();
  });
  actor.whenDead(() => end("died"));
  record.note(
    actor.name,
    `task ${actor.task} of ${name}: ${task.kind} ${"attempt" in task ? `#${task.attempt.retry}` : ""}`,
  );
  let mustEnd = false;
  const perform = performs.get(actor) as Perform;
  const told = (): void => {
    mustEnd = true;
    record.reached.add(MUST_END);
  };
  perform(task, told).then(
    (result) => {
      if (!actor.isDead) end(result);
    },
    (error: unknown) => {
      const isAway = error instanceof StoreUnreachable;
      if (!isAway) record.mistake(actor.name, error);
      if (!isAway || mustEnd || actor.isDead) {
        actor.die();
        return;
      }
      // The store gave no answer. As on Lambda the process freezes as it is, and goes on some time.
      end("no answer");
      actor.isFrozen = true;
    },
  );
  return actor;
}

/** A process threw while something in it might still act. */
export const MUST_END = "process has to end";

const wordsOf = (result: TaskResult): string => {
  if (result.kind === "rescue") return result.until === null ? "rescued" : "held";
  return "reply" in result ? `${result.kind} → ${result.reply.route} ${result.reply.seconds} s` : result.kind;
};

/** Sends what an execution is to do; now and then twice, and only one of the two is heard. */
export function dispatch(sim: Sim, name: string): void {
  const { chain } = sim.world;
  const { task, attempt } = chain.begin(name);
  // Where the one that is heard was refused by the other, only a sweeper goes on with the run.
  const isTwice = sim.plan.repaired === "losses" && mayFault(sim);
  const heardFirst = !isTwice || sim.chances.scheduler.oneIn(2);
  const heard = (told: AttemptEnd): void => {
    const result = typeof told === "string" ? null : told;
    // Where a process can answer and end, the chain goes on from its answer.
    const answer = result?.kind === "exit" ? ({ kind: "beat", reply: result.reply } as const) : result;
    if (told === "died" && task.kind === "beat") sim.record.deaths += 1;
    const before = chain.executions.get(name);
    chain.end(name, attempt, answer, told === "died");
    const after = chain.executions.get(name);
    if (after === undefined || after === before) return;
    if (answer === null && after.state === "Backoff") sim.record.reached.add(`chain ${task.kind} out of attempts`);
    sim.record.note("chain", `${shortOf(name)} ${after.state} ${after.stage} #${after.retry}`);
  };
  const unheard = (): void => undefined;
  const actor = give(sim, { task, name: shortOf(name), onEnd: heardFirst ? heard : unheard });
  // It may well be alive: that the chain lost its connection is no evidence.
  if (heardFirst) actor.giveUpOn = () => heard("no answer");
  if (!isTwice) return;
  recordFault(sim, `task ${task.kind} sent twice`);
  const other = give(sim, { task, name: shortOf(name), onEnd: heardFirst ? unheard : heard });
  if (!heardFirst) other.giveUpOn = () => heard("no answer");
}

const shortOf = (name: string): string => `x${name.slice(name.lastIndexOf("-") + 1)}`;

/** Chains are rarer to fail than processes. */
const mayFault = (sim: Sim): boolean => !isCalm(sim) && sim.chances.scheduler.oneIn(sim.plan.oneIn * 3);

export const STARTED_TWICE = "execution started twice";

/** Somebody starts a run's execution again under another name, with what one of them was last given. */
export function copyExecution(sim: Sim): void {
  const { chain } = sim.world;
  const { scheduler } = sim.chances;
  if (sim.plan.repaired !== "copies" || !scheduler.oneIn(2)) return;
  const found = [...chain.executions.values()];
  if (found.length === 0) return;
  const { name, payload } = scheduler.pick(found);
  recordFault(sim, STARTED_TWICE);
  sim.record.note("chain", `${shortOf(name)} is started again as a copy`);
  void chain.start(`${name.replace(/c\d+$/, "")}c${found.length}`, payload);
}

/** The sweeper comes at its intervals; a schedule may fire twice. */
export function sweepIfDue(sim: Sim): void {
  const { clock, plan, record } = sim;
  if (plan.repaired === "nothing" || clock.now() < sim.nextSweep) return;
  sim.nextSweep = clock.now() + SWEEP_MS;
  const isTwice = mayFault(sim);
  if (isTwice) recordFault(sim, "two sweepers");
  for (let count = 0; count < (isTwice ? 2 : 1); count += 1) {
    give(sim, {
      task: { kind: "sweep" },
      name: "sweeper",
      onEnd: (heard) => {
        if (typeof heard === "string") record.reached.add("sweep died");
      },
    });
  }
}
