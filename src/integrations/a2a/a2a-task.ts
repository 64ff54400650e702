/** An agent and its runs as A2A 1.0 shows them: a card, and tasks. Pure. */
import type { AnyRun } from "../../client/client.ts";
import { NEXT_MESSAGE } from "../../core/calls/next-message.ts";
import { gateKey, undecidedGates, openQuestions, questionOf, waitKey } from "../mcp/input-requests.ts";
import type { DescribedAgent } from "../../operations/agents.ts";
import { fieldsOf } from "../said-fields.ts";

/** Its ID is that of the run, and so is its context: later messages of a conversation name either. */
export type A2aTask = ReturnType<typeof a2aTaskOf>;

const MODES = ["application/json", "text/plain"];

/** The card by which a client finds the agent. `url`: the address of its methods. */
export function agentCard({ name, version, task, tools }: DescribedAgent, url: string): object {
  const described = fieldsOf(task)["description"];
  const description = typeof described === "string" ? described : `Starts a run of the agent ${name}.`;
  const tags = tools.map(({ tool }) => tool);
  return {
    name,
    description,
    version,
    supportedInterfaces: [{ url, protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
    capabilities: { streaming: true, pushNotifications: false },
    defaultInputModes: MODES,
    defaultOutputModes: MODES,
    skills: [{ id: name, name, description, tags, examples: [JSON.stringify(task)] }],
  };
}

/** `said`: what the model said last, or what the run does now; null if nothing is known. */
export function a2aTaskOf(run: AnyRun, said: string | null) {
  const { run: id, failure, result } = run;
  const asked = asksOf(run).map(({ says }) => says);
  const does = run.status === "blocked" ? run.label : (said ?? run.label);
  const words = failure === null ? does : `${failure.code}: ${failure.message}`;
  const parts = [{ text: asked.length > 0 ? asked.join("\n\n") : words }];
  return {
    id,
    contextId: id,
    status: {
      state: `TASK_STATE_${stateOf(run)}`,
      message: { messageId: `${id}-${run.version}`, taskId: id, contextId: id, role: "ROLE_AGENT", parts },
      timestamp: new Date(Math.max(run.lastCheckpointAt, run.statusSince)).toISOString(),
    },
    artifacts:
      run.status === "completed"
        ? [{ artifactId: "result", parts: [typeof result === "string" ? { text: result } : { data: result }] }]
        : [],
    metadata: { "cairn-run/status": run.status },
  };
}

function stateOf(run: AnyRun): string {
  if (run.status === "completed") return "COMPLETED";
  if (run.status === "failed") return "FAILED";
  if (run.status === "cancelled") return "CANCELED";
  return openIn(run).length > 0 ? "INPUT_REQUIRED" : "WORKING";
}

/** The open gates and questions, in their order. `key` is used once in the life of the run. */
export const asksOf = ({ gates, waits }: Pick<AnyRun, "gates" | "waits">) => [
  ...undecidedGates(gates).map((each) => ({
    key: gateKey(each),
    gate: each.gate,
    call: null,
    says: `May ${each.tool} be called with ${JSON.stringify(each.args)}? ${each.reason}`,
  })),
  ...openQuestions(waits).map((each) => ({
    key: waitKey(each),
    gate: null,
    call: each.call,
    says: questionOf(each),
  })),
];

/** The key of the wait for the next message of the user; null if the run does not wait for one. */
export const waitOf = ({ waits }: Pick<AnyRun, "waits">): string | null =>
  waits.find(({ tool, answered }) => tool === NEXT_MESSAGE && !answered)?.call ?? null;

/** All that the run waits for and only a human can give: its client, or else an operator. */
export const openIn = (run: AnyRun): readonly string[] => {
  const asked = [...asksOf(run).map(({ key }) => key), ...(waitOf(run) === null ? [] : [`message:${waitOf(run)}`])];
  return asked.length === 0 && run.status === "blocked" ? [`operator:${run.statusSince}`] : asked;
};

/** What the client knows by now. What an operator has to do is said again: no message of the client ends it. */
export const openBefore = (run: AnyRun): readonly string[] => openIn(run).filter((key) => !key.startsWith("operator:"));
