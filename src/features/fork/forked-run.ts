/** The first state of a fork: what the run knew at that version, without anything that it still owes or owns. */
import type { Value } from "../../core/message.ts";
import type { State } from "../../core/state.ts";
import type { Agent } from "../../ports/agent.ts";
import type { Incarnation } from "../../protocol/row.ts";
import { initialState, openingParts, partOfAgent } from "../../engine/context/new-run.ts";

/**
 * Calls that were done before stay in the transcript and are never repeated. The stack of effects to undo stays with the
 * run that performed them: only one run may take an effect back. Budget, messages, approvals and waits begin anew.
 */
export function forkedState(
  from: State,
  {
    agent,
    run,
    born,
    version,
    task,
    at,
    startedBy,
  }: Incarnation & {
    readonly agent: Agent;
    readonly version: number;
    readonly startedBy?: string;
    /** Another task; absent: the same. */
    readonly task?: { readonly value: Value; readonly text: string };
    readonly at: number;
  },
): State {
  const { firing } = from;
  const fresh = initialState({
    run,
    born,
    ...partOfAgent(agent),
    at,
    ...(startedBy === undefined ? {} : { startedBy }),
    firing,
    task: task?.value ?? from.task,
    taskText: task?.text ?? "",
  });
  const { calls, restart, restartedFrom, window, topology, cracks, signals, repeats } = from;
  const [first, ...others] = from.messages;
  const opening =
    task === undefined || first === undefined ? first : { ...first, at, parts: openingParts(task.text, firing) };
  return {
    ...fresh,
    calls,
    restart,
    forked: { run: from.run, born: from.born, version, calls },
    ...(restartedFrom === undefined ? {} : { restartedFrom }),
    ...(window === undefined ? {} : { window }),
    ...(topology === undefined ? {} : { topology }),
    ...(repeats === undefined ? {} : { repeats }),
    ...(cracks === undefined ? {} : { cracks }),
    ...(signals === undefined ? {} : { signals }),
    messages: opening === undefined ? fresh.messages : [opening, ...others],
  };
}
