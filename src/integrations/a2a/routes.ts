/**
 * The routes for clients of A2A 1.0 (JSON-RPC): each agent has a card and the methods of its tasks, which are its runs.
 * They do what the API's own routes do, by asking them with the credentials of the request (`protocol-calls.ts`).
 */
import type { Context, Hono } from "hono";
import { streamSSE } from "hono/streaming";
import { boundedBody } from "../../api/body.ts";
import * as problems from "../../api/problem.ts";
import { type AnyRun, type Client, createClient } from "../../client/client.ts";
import { CairnError } from "../../client/errors.ts";
import type { Endpoint } from "../../client/request.ts";
import type { Json } from "../../core/json.ts";
import { progressText } from "../mcp/progress.ts";
import type { EventPage } from "../../operations/event-page.ts";
import { type A2aTask, agentCard, asksOf, openBefore, openIn, a2aTaskOf, waitOf } from "./a2a-task.ts";
import { bodyIn } from "../chat/chat-run.ts";
import { type OpenStreams, heldOpen } from "../../api/streams/open-streams.ts";
import { type ApiCalls, admit, endpointFor } from "../protocol-calls.ts";
import { type Fields, fieldsOf, listIn, textIn } from "../said-fields.ts";

export interface A2aRoutes {
  readonly calls: ApiCalls;
  readonly streams: OpenStreams;
  /** The path below which the API answers. */
  readonly base: string;
}

/** The longest request. The run goes on after it, and `GetTask` or `SubscribeToTask` follows it. */
const CALL_MS_MAX = 5 * 60_000;
/** How far back the newest words of the model are looked for, in commits. */
const COMMITS_BACK = 16;

export function addA2a(app: Pick<Hono, "get" | "post">, { calls, streams, base }: A2aRoutes): void {
  app.get("/a2a/:agent/.well-known/agent-card.json", async (c) => {
    const name = c.req.param("agent");
    await calls.identify(c.req.raw);
    const { agents } = await createClient(endpointFor(calls, c.req.raw)).agents();
    const agent = agents.find((each) => each.name === name);
    if (agent === undefined) throw problems.pathUnknown();
    return c.json(agentCard(agent, new URL(`${base}/a2a/${name}`, c.req.url).href));
  });
  app.post("/a2a/:agent", boundedBody, async (c) => {
    const reader = await admit(c.req.raw, calls);
    const asked = fieldsOf(await bodyIn(c));
    const { url, signal: left } = c.req.raw;
    const own = new Request(url, { signal: left });
    return heldOpen(streams, { reader, request: own }, (request) => {
      const signal = AbortSignal.any([request.signal, AbortSignal.timeout(CALL_MS_MAX)]);
      const api = endpointFor(calls, c.req.raw);
      return answered(c, { cairn: createClient(api), api, signal, agent: c.req.param("agent"), asked });
    });
  });
}

interface Call {
  readonly cairn: Client;
  readonly api: Endpoint;
  readonly signal: AbortSignal;
  readonly agent: string;
  readonly asked: Fields;
}

/** Errors of the protocol are answers, too: what the API refuses keeps its stable code. */
async function answered(c: Context, call: Call): Promise<Response> {
  const { id = null, method } = call.asked;
  try {
    const params = fieldsOf(call.asked["params"]);
    if (method === "SendStreamingMessage") return streamed(c, call, await said(call, params));
    if (method === "SubscribeToTask") return streamed(c, call, { run: await runIn(call, params), before: [] });
    return c.json({ jsonrpc: "2.0", id, result: await resultOf(call, { method, params }) });
  } catch (error) {
    return c.json({ jsonrpc: "2.0", id, error: rpcError(error) });
  }
}

async function resultOf(call: Call, asked: { readonly method: unknown; readonly params: Fields }): Promise<unknown> {
  const { cairn } = call;
  switch (asked.method) {
    case "SendMessage": {
      const sent = await said(call, asked.params);
      const isWaited = fieldsOf(asked.params["configuration"])["returnImmediately"] !== true;
      return { task: await shown(call, isWaited ? await settled(call, sent) : sent.run) };
    }
    case "GetTask":
      return shown(call, await runIn(call, asked.params));
    case "CancelTask": {
      const { run } = await runIn(call, asked.params);
      await cairn.cancel(run);
      return shown(call, await cairn.get(run));
    }
    default:
      throw new CairnError(`there is no method ${JSON.stringify(asked.method)} here`, {
        code: "MethodUnknown",
        status: 404,
      });
  }
}

/** `before`: what the run asked before the message. */
type Sent = { readonly run: AnyRun; readonly before: readonly string[] };

/** What the client says: it starts a run, answers what the run asks, or is one more message to it. */
async function said(call: Call, params: Fields): Promise<Sent> {
  const { cairn, agent } = call;
  const message = fieldsOf(params["message"]);
  const [messageId, parts] = [textIn(message["messageId"]), listIn(message["parts"]).map(fieldsOf)];
  const words = parts.flatMap(({ text }) => (typeof text === "string" ? [text] : [])).join("\n");
  const [given, another] = parts.flatMap(({ data }) => (data === undefined ? [] : [data as Json]));
  if (another !== undefined) throw badParams("a message holds one part of data: put all of it into one");
  if (message["role"] === "ROLE_AGENT") throw badParams("a message to the agent has the role ROLE_USER");
  if (fieldsOf(params["configuration"])["taskPushNotificationConfig"] !== undefined)
    throw new CairnError("there are no push notifications here: register a webhook, or follow the task", {
      code: "PushNotificationsAbsent",
      status: 422,
    });
  if (!/^[\w-]{1,64}$/.test(messageId)) throw badParams("messageId is not 1 to 64 letters, digits, - and _");
  if (parts.some((part) => part["raw"] !== undefined || part["url"] !== undefined))
    throw badParams("a message holds text and data only: send files with POST /runs/{run}/messages");
  if (words === "" && given === undefined) throw badParams("the message has neither text nor data");
  const named = textIn(message["taskId"]) || textIn(message["contextId"]);
  if (named === "") {
    const { run } = await cairn.start(agent, given ?? words, { key: `a2a-${messageId}` });
    return { run: await cairn.get(run), before: [] };
  }
  const run = await runIn(call, { id: named });
  const [ask] = asksOf(run);
  const { approved, note } = fieldsOf(given);
  if (ask !== undefined && ask.gate !== null && typeof approved === "boolean")
    await cairn[approved ? "approve" : "deny"](named, ask.gate, { note: textIn(note) || null });
  else if (typeof approved === "boolean")
    return { run, before: [] }; // A repeated decision: the first one counts.
  else if (ask !== undefined && ask.call !== null) await cairn.answer(named, ask.call, given ?? words);
  else if (ask !== undefined)
    throw badParams("the task waits for a decision: send data with { approved: true or false }");
  else await cairn.send(named, words === "" ? JSON.stringify(given) : words, { id: messageId });
  return { run, before: openBefore(run) };
}

/** The run of a task. A run of another agent is no task of this one. */
async function runIn({ cairn, agent }: Call, { id }: Fields): Promise<AnyRun> {
  const run = await cairn.get(textIn(id) || "-");
  if (run.agent === agent) return run;
  throw new CairnError("this agent has no such task", { code: "RunUnknown", status: 404 });
}

/** Waits until the run is over or asks something new. It returns what the run is when the request has lasted too long. */
async function settled(call: Call, sent: Sent): Promise<AnyRun> {
  let last = sent.run;
  for await (const { run } of changes(call, sent)) last = run;
  return last;
}

const isSettled = (run: AnyRun, before: readonly string[]): boolean =>
  !run.inProgress || openIn(run).some((key) => !before.includes(key));

/** The run after each event, with a line that says what it does; until it is settled or the request ends. */
async function* changes(
  { cairn, signal }: Call,
  { run, before }: Sent,
): AsyncGenerator<{ readonly run: AnyRun; readonly line: string | null }, void, undefined> {
  if (isSettled(run, before)) return;
  try {
    for await (const event of cairn.events(run.run, { after: run.version, signal })) {
      const now = await cairn.get(run.run);
      yield { run: now, line: progressText(event) };
      if (isSettled(now, before)) return;
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

/** The task, a line for each thing that the run does, and in the end its artifacts and its state. */
const streamed = (c: Context, call: Call, sent: Sent): Response =>
  streamSSE(c, async (stream) => {
    const id = call.asked["id"] ?? null;
    const write = (body: object) => stream.writeSSE({ data: JSON.stringify({ jsonrpc: "2.0", id, ...body }) });
    try {
      for await (const result of results(call, sent)) await write({ result });
    } catch (error) {
      await write({ error: rpcError(error) });
    }
  });

async function* results(call: Call, sent: Sent): AsyncGenerator<object, void, undefined> {
  yield { task: await shown(call, sent.run) };
  let last = sent.run;
  for await (const { run, line } of changes(call, sent)) {
    last = run;
    if (line !== null && !isSettled(run, sent.before)) yield updateOf(a2aTaskOf(run, line));
  }
  const task = await shown(call, last);
  const { id: taskId, contextId } = task;
  for (const artifact of task.artifacts) yield { artifactUpdate: { taskId, contextId, artifact, lastChunk: true } };
  yield updateOf(task);
}

const updateOf = ({ id: taskId, contextId, status }: A2aTask): object => ({
  statusUpdate: { taskId, contextId, status },
});

/** The task, with what the model said last if the run waits for its user. */
async function shown({ api }: Call, run: AnyRun): Promise<A2aTask> {
  if (waitOf(run) === null) return a2aTaskOf(run, null);
  const after = Math.max(0, run.version - COMMITS_BACK);
  const asked = new Request(`${api.url}/runs/${run.run}/events?after=${after}&wait=0`, {
    headers: await api.headers(),
  });
  const { entries = [] } = (await (await api.send(asked)).json()) as Partial<EventPage>;
  const said = entries.flatMap((entry) => (entry.kind === "ModelCallCompleted" ? [entry.parts] : [])).at(-1) ?? [];
  return a2aTaskOf(run, said.flatMap((part) => (part.kind === "text" ? [part.text] : [])).join("\n") || null);
}

const badParams = (why: string): CairnError => new CairnError(why, { code: "RequestInvalid", status: 422 });

/** Codes of A2A where it has one. `data` has the stable code of the API. */
const RPC_OF: Readonly<Record<string, number>> = {
  RunUnknown: -32001,
  Late: -32002,
  PushNotificationsAbsent: -32003,
  MethodUnknown: -32601,
};

function rpcError(error: unknown): object {
  if (!(error instanceof CairnError)) throw error;
  const { code, message, status, facts } = error;
  const known = RPC_OF[code] ?? (status === 400 || status === 422 ? -32602 : -32603);
  return { code: known, message: `${code}: ${message}`, data: [{ code, errors: facts["errors"] ?? [] }] };
}
