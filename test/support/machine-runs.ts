/** Runs that the AWS state machine drives over the world in memory; the real runner executes its tasks. */
import { type AskedRescue, readRescue } from "../../functions/machine.ts";
import { firstInput } from "../../src/adapters/aws/machine-input.ts";
import type { Agent } from "../../src/ports/agent.ts";
import type { Task } from "../../src/protocol/chain.ts";
import { executionName } from "../../src/protocol/ids.ts";
import type { World } from "../../src/ports/world.ts";
import { begin } from "./drive.ts";
import { type Running, execution } from "./machine.ts";
import { definition, outcomeOf } from "./machine-begun.ts";
import type { Stage } from "./stage.ts";
import { dyingAfter, perform, rest } from "./steps.ts";

const TASKS_MAX = 20;

export async function entered(on: Stage, agent: Agent): Promise<{ readonly run: string; readonly machine: Running }> {
  const payload = await begin(on.world, agent, {});
  const name = executionName(payload.run, payload.born, 1);
  return { run: payload.run, machine: execution(definition, { name, input: firstInput(payload) }) };
}

function taskOf({ task }: Running): Task {
  const event = task?.event as Task;
  return event.kind === "rescue" ? readRescue(event as AskedRescue) : event;
}

/** Runs its task and passes Lambda's response to the machine. */
export async function done(machine: Running, of: { readonly world: World; readonly agent: Agent }): Promise<Running> {
  try {
    const result = await perform(taskOf(machine), of);
    return machine.end(result.kind === "beat" ? outcomeOf(result.reply) : { answer: { route: "done", seconds: 1 } });
  } catch (error) {
    return machine.end({ error: (error as Error).name });
  }
}

/** Starts its task in a process that dies after it claimed the run. */
export async function dies(machine: Running, { world, agent }: { readonly world: World; readonly agent: Agent }) {
  perform(taskOf(machine), { world: dyingAfter(world, "claim"), agent }).catch(() => undefined);
  await rest();
  return machine.end({ error: "Runtime.ExitError" });
}

/** Lets time pass while the machine waits. */
export async function toTheEnd({ clock }: Stage, from: Running, of: Parameters<typeof done>[1]): Promise<void> {
  let machine = from;
  for (let tasks = 0; machine.task !== null; tasks += 1) {
    if (tasks > TASKS_MAX) throw new Error(`it goes on after ${TASKS_MAX} tasks`);
    clock.moveTo(clock.now() + machine.waited * 1_000);
    machine = await done(machine, of);
  }
}
