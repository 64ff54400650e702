/** Runs that the machine of AWS drives, over the world in memory: its tasks are done by the real runner. */
import { type AskedBeat, type AskedRescue, readBeat, readRescue } from "../../../functions/machine.ts";
import { ChangedError, firstInput } from "../../../src/adapters/aws/machine/machine-input.ts";
import { IntrinsicChanged } from "../../../src/ports/intrinsics.ts";
import type { Agent } from "../../../src/ports/agent.ts";
import type { Task } from "../../../src/protocol/chain.ts";
import { executionName } from "../../../src/protocol/ids.ts";
import type { World } from "../../../src/ports/world.ts";
import { beginRun } from "../harness/drive.ts";
import { type Running, execution } from "./state-machine.ts";
import { definition, outcomeOf } from "./state-machine-start.ts";
import type { Harness } from "../harness/harness.ts";
import { crashAfterCall } from "../harness/chain-steps.ts";
import { performTask, flushPromises } from "../harness/harness.ts";

const TASKS_MAX = 20;

export async function startMachineRun(
  harness: Harness,
  agent: Agent,
): Promise<{ readonly run: string; readonly machine: Running }> {
  const payload = await beginRun(harness.world, agent, {});
  const name = executionName(payload.run, payload.born, 1);
  return { run: payload.run, machine: execution(definition, { name, input: firstInput(payload) }) };
}

function taskOf({ task }: Running): Task {
  const event = task?.event as Exclude<Task, { readonly kind: "beat" | "rescue" }> | AskedBeat | AskedRescue;
  if (event.kind === "rescue") return readRescue(event);
  return event.kind === "beat" ? readBeat(event) : event;
}

const isShared = ({ task }: Running): boolean => (task?.event as Partial<AskedBeat> | undefined)?.shared === true;

/** Its task is done, and the machine sees what Lambda says of that. */
export async function performMachineTask(
  machine: Running,
  of: { readonly world: World; readonly agent: Agent },
): Promise<Running> {
  try {
    const result = await performTask(taskOf(machine), of);
    const shared = isShared(machine);
    return machine.end(
      result.kind === "beat" ? outcomeOf(result.reply, { shared }) : { answer: { route: "done", seconds: 1 } },
    );
  } catch (error) {
    const { name, message } = error instanceof IntrinsicChanged ? new ChangedError(error) : (error as Error);
    return machine.end({ error: name, message });
  }
}

/** Its task is begun by a process that dies when it has claimed the run. */
export async function crashMachineTask(
  machine: Running,
  { world, agent }: { readonly world: World; readonly agent: Agent },
) {
  performTask(taskOf(machine), { world: crashAfterCall(world, "claim"), agent }).catch(() => undefined);
  await flushPromises();
  return machine.end({ error: "Runtime.ExitError" });
}

/** Time passes as the machine waits. */
export async function runMachineToEnd(
  { clock }: Harness,
  from: Running,
  of: Parameters<typeof performMachineTask>[1],
): Promise<void> {
  let machine = from;
  for (let tasks = 0; machine.task !== null; tasks += 1) {
    if (tasks > TASKS_MAX) throw new Error(`it goes on after ${TASKS_MAX} tasks`);
    clock.moveTo(clock.now() + machine.waited * 1_000);
    machine = await performMachineTask(machine, of);
  }
}
