/**
 * One call of a tool: starts the run, or finds the one that the same idempotency key started, and follows it.
 *
 * A call that asks for input ends, and the client sends it again with the answers, the ID of the run and the forms that
 * were closed without a decision (`requestState`). The ID is no secret and gives no rights: each operation checks the
 * caller's tenant and scopes again.
 */
import {
  type CallToolResult,
  type InputRequiredResult,
  ProtocolError,
  ProtocolErrorCode,
  type ServerContext,
  inputRequired,
  type ClientCapabilities,
} from "@modelcontextprotocol/server";
import type { AnyRun, Client } from "../../client/client.ts";
import type { RunLabels } from "../../core/ids.ts";
import { CairnError } from "../../client/errors.ts";
import { taskIn } from "./agent-tools.ts";
import { inputRequestsOf, type McpDecision, decisionsIn } from "./input-requests.ts";
import { progressText } from "./progress.ts";
import { callResultOf, mcpTaskOf, TASKS } from "./task.ts";

/** The fields of `_meta` with the client's idempotency key, and with the labels of the run, which the API checks. */
const KEY_META = "cairn-run/idempotency-key";
const LABELS_META = "cairn-run/labels";

/** The longest call. The run goes on after it, and another call with the same key waits on. */
const CALL_MS_MAX = 30 * 60_000;

type Answer = CallToolResult | InputRequiredResult;

interface Call {
  readonly name: string;
  readonly given: Readonly<Record<string, unknown>>;
  readonly context: ServerContext;
  readonly abilities: Abilities;
}

/** What the API refuses is a result with an error, so that the client's model reads why. */
export async function callAgent(cairn: Client, call: Call): Promise<Answer> {
  try {
    return await answerOf(cairn, call);
  } catch (error) {
    if (!(error instanceof CairnError)) throw error;
    if (error.code === "AgentUnknown") throw toolUnknown(call.name);
    const { facts } = error;
    const errors = Array.isArray(facts["errors"]) ? ` ${JSON.stringify(facts["errors"])}` : "";
    return { content: [{ type: "text", text: `${error.code}: ${error.message}${errors}` }], isError: true };
  }
}

async function answerOf(cairn: Client, call: Call): Promise<Answer> {
  const { context, abilities } = call;
  const { run, undecided } = await runOf(cairn, call);
  const { inputResponses } = context.mcpReq;
  if (inputResponses !== undefined) await decideEach(cairn, { run: await cairn.get(run), inputResponses });
  if (abilities.tasks) return asTask(await cairn.get(run));
  const found = await followed(cairn, { run, context });
  const asked = found.inProgress && abilities.elicits ? Object.entries(inputRequestsOf(found)) : [];
  // Who closed a form has seen it: it is not shown again in this call.
  const shown = new Set([...undecided, ...Object.keys(inputResponses ?? {})]);
  const rest = asked.filter(([key]) => !shown.has(key));
  if (rest.length === 0) return callResultOf(found);
  const left = asked.flatMap(([key]) => (shown.has(key) ? [key] : []));
  return inputRequired({ inputRequests: Object.fromEntries(rest), requestState: [run, ...left].join(" ") });
}

/** A new task never asks: the client gets it first, and asks for its state. */
const asTask = (run: AnyRun): Answer => ({ ...mcpTaskOf(run, false), resultType: "task" }) as unknown as Answer;

interface CalledRun {
  readonly run: string;
  /** The keys of the forms that the human closed without a decision. */
  readonly undecided: readonly string[];
}

/** The run of the call, by its ID. */
async function runOf(cairn: Client, { name, given, context }: Call): Promise<CalledRun> {
  const state: unknown = context.mcpReq.requestState();
  if (typeof state === "string") {
    const [id = "", ...undecided] = state.split(" ");
    const { run, agent } = await cairn.get(id);
    if (agent !== name) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `run ${run} is not one of ${name}`);
    return { run, undecided };
  }
  const agent = (await cairn.agents()).agents.find((each) => each.name === name);
  if (agent === undefined) throw toolUnknown(name);
  const { [KEY_META]: key, [LABELS_META]: labels, traceparent, tracestate } = context.mcpReq._meta ?? {};
  const started = await cairn.start(name, taskIn(agent, given), {
    ...(typeof key === "string" && { key }),
    ...(labels !== undefined && { labels: labels as RunLabels }),
    ...(typeof traceparent === "string" && { traceparent }),
    ...(typeof tracestate === "string" && { tracestate }),
  });
  return { run: started.run, undecided: [] };
}

const toolUnknown = (name: string): ProtocolError =>
  new ProtocolError(
    ProtocolErrorCode.InvalidParams,
    `there is no agent ${name}: tools/list names those that there are`,
  );

/**
 * Waits until the run has ended or needs a human, and reports its events. A client that cancels the call cancels the
 * run. A connection that is lost changes nothing: it is not known whether the client wants the work no longer.
 */
async function followed(
  cairn: Client,
  { run, context }: { readonly run: string; readonly context: ServerContext },
): Promise<AnyRun> {
  const { signal } = context.mcpReq;
  const ended = AbortSignal.any([signal, AbortSignal.timeout(CALL_MS_MAX)]);
  const reporting = reported(cairn, { run, context, signal: ended });
  try {
    const found = await cairn.wait(run, { signal: ended });
    // All events of a run that is over are reported before its result.
    if (!found.inProgress) await reporting.done;
    return found;
  } catch (error) {
    if (!ended.aborted) throw error;
    if (signal.aborted && !isLost(signal.reason)) await cairn.cancel(run).catch(() => undefined);
    return await cairn.get(run);
  } finally {
    reporting.stop();
  }
}

/** Reports until the run is over, or until it is stopped. Without a token the client wants no reports. */
function reported(
  cairn: Client,
  { run, context, signal }: { readonly run: string; readonly context: ServerContext; readonly signal: AbortSignal },
): { readonly done: Promise<void>; readonly stop: () => void } {
  const progressToken = context.mcpReq._meta?.progressToken;
  if (progressToken === undefined) return { done: Promise.resolve(), stop: () => undefined };
  const stopped = new AbortController();
  const report = async (): Promise<void> => {
    let progress = 0;
    for await (const event of cairn.events(run, { signal: AbortSignal.any([signal, stopped.signal]) })) {
      const message = progressText(event);
      if (message === null) continue;
      progress += 1;
      await context.mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress, message } });
    }
  };
  // A report that cannot be sent, or a reading that was stopped, is no error of the call.
  return { done: report().catch(() => undefined), stop: () => stopped.abort() };
}

/** Whether the connection ended, and not the client this one request. */
const isLost = (reason: unknown): boolean =>
  typeof reason === "object" && reason !== null && "code" in reason && reason.code === "CONNECTION_CLOSED";

export interface Abilities {
  /** It shows forms to its human. */
  readonly elicits: boolean;
  readonly tasks: boolean;
}

/** What the client of an MCP request can do, by the capabilities that it declares. Pure. */
export function abilitiesIn(declared: ClientCapabilities | undefined): Abilities {
  const { elicitation, extensions = {} } = declared ?? {};
  // An empty object means forms. A client that names only URLs cannot show one.
  const elicits = elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined);
  return { elicits, tasks: TASKS in extensions };
}

/**
 * Sends the decisions and answers of the client's human to the run. An answer to what is open no longer is ignored: the
 * first decision counts, of any sender.
 */
export async function decideEach(
  cairn: Client,
  answered: { readonly run: AnyRun; readonly inputResponses: Readonly<Record<string, unknown>> },
): Promise<void> {
  for (const decided of decisionsIn(answered.run, answered.inputResponses)) {
    await sent(cairn, answered.run.run, decided).catch((error: unknown) => {
      if (!(error instanceof CairnError && OVER.has(error.code))) throw error;
    });
  }
}

const OVER = new Set(["Duplicate", "Stale", "Late", "NoEffect"]);

async function sent(cairn: Client, run: string, decided: McpDecision): Promise<void> {
  if (decided.kind === "answer") await cairn.answer(run, decided.call, decided.result);
  else if (decided.kind === "deny") await cairn.deny(run, decided.gate, { note: decided.note });
  else {
    const { gate, note, usd } = decided;
    await cairn.approve(run, gate, { note, ...(usd !== null && { more: { microUsd: Math.round(usd * 1_000_000) } }) });
  }
}
