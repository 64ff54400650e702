/** A run as MCP shows it: the result of a tool, and a task of the extension `io.modelcontextprotocol/tasks`. Pure. */
import type { CallToolResult, InputRequests } from "@modelcontextprotocol/server";
import type { AnyRun } from "../../client/client.ts";
import { inputRequestsOf, undecidedGates, openQuestions } from "./input-requests.ts";

export const TASKS = "io.modelcontextprotocol/tasks";

/** The field of `_meta` in which a result names its run. */
const RUN_META = "cairn-run/run";

/** What `tasks/get` returns. The specification makes a failed run a completed task whose result is an error. */
export type McpTask = {
  readonly taskId: string;
  readonly statusMessage: string;
  readonly createdAt: string;
  readonly lastUpdatedAt: string;
  /** Null: the run is kept for as long as it has not ended. */
  readonly ttlMs: number | null;
  readonly pollIntervalMs: number;
} & (
  | { readonly status: "working" | "cancelled" }
  | { readonly status: "input_required"; readonly inputRequests: InputRequests }
  | { readonly status: "completed"; readonly result: CallToolResult }
);

/** How long a client should wait before it asks again. */
const POLL_MS = 1_000;

/** `canElicit`: the client shows forms to its human. Otherwise the message of the status says what the run waits for. */
export function mcpTaskOf(run: AnyRun, canElicit: boolean): McpTask {
  const { createdAt, lastCheckpointAt, statusSince, keptUntil, label } = run;
  const facts = {
    taskId: run.run,
    statusMessage: `${run.status}: ${label}${run.title == null ? "" : ` (${run.title})`}`,
    createdAt: new Date(createdAt).toISOString(),
    lastUpdatedAt: new Date(Math.max(lastCheckpointAt, statusSince)).toISOString(),
    ttlMs: keptUntil === null ? null : Math.max(0, keptUntil - createdAt),
    pollIntervalMs: POLL_MS,
  };
  if (run.status === "cancelled") return { ...facts, status: "cancelled" };
  if (!run.inProgress) return { ...facts, status: "completed", result: callResultOf(run) };
  const inputRequests = canElicit ? inputRequestsOf(run) : {};
  if (Object.keys(inputRequests).length > 0) return { ...facts, status: "input_required", inputRequests };
  return { ...facts, status: "working" };
}

/** The result of the tool. A run that has none, since it failed or still goes on, is an error for the client's model. */
export function callResultOf(run: AnyRun): CallToolResult {
  const _meta = { [RUN_META]: run.run, "cairn-run/status": run.status };
  if (run.status !== "completed") return { content: [{ type: "text", text: whyNone(run) }], isError: true, _meta };
  const { result } = run;
  const text = typeof result === "string" ? result : JSON.stringify(result);
  const isObject = typeof result === "object" && result !== null && !Array.isArray(result);
  return { content: [{ type: "text", text }], ...(isObject && { structuredContent: { ...result } }), _meta };
}

function whyNone({ run, status, failure, label, inProgress, gates, waits }: AnyRun): string {
  if (failure !== null) return `Run ${run} ${status} (${failure.code}): ${failure.message}`;
  if (!inProgress) return `Run ${run} was ${status}.`;
  const [isGated, isAsked] = [undecidedGates(gates).length > 0, openQuestions(waits).length > 0];
  const commands = [
    ...(isGated ? [`"npx cairn approve ${run}" or "npx cairn deny ${run}"`] : []),
    ...(isAsked ? [`"npx cairn answer ${run}"`] : []),
  ];
  const goesOn = commands.length === 0 ? "by itself or when a human decides" : `with ${commands.join(", and ")}`;
  return (
    `Run ${run} has no result yet: it is ${status} (${label}). It goes on ${goesOn}; ` +
    `"npx cairn show ${run}" says what it waits for. Call this tool again with the same idempotency key to wait for it; ` +
    "a call without a key begins another run."
  );
}
