/**
 * The two usual ways to run an agent, for comparison: a plain loop over the same model, tools and definition of done.
 * One keeps its state in the process. The other saves it to a file after each beat (write, then rename), and resumes
 * from that file.
 *
 * Unlike cairn, the loop records no intent before a call leaves. So a retry after a crash is a new call with a new
 * idempotency key, and the side effect runs again.
 */
import { randomUUID } from "node:crypto";
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { BOUNDS } from "../core/limits.ts";
import type { Agent, CallContext, Check, RunFiles, RunView, SettledCall, Tool, ToolSecrets } from "../ports/agent.ts";
import type { Model, RepliedPart } from "../ports/model.ts";
import { readResult } from "../engine/tools/tool-result.ts";
import { responseFormatOf } from "../engine/model/response-format.ts";
import { canonical } from "../codec/canonical.ts";
import { plainJsonOf } from "../codec/projection.ts";
import { sentenceOf } from "../codec/value.ts";
import { NOTHING_SPENT } from "../core/policy/budget.ts";
import type { Json } from "../core/json.ts";
import { type Message, type Part, inline, text } from "../core/message.ts";
import type { GateRule } from "./gates.ts";
import type { Rig } from "./rig.ts";
import type { Memory } from "../ports/memory.ts";

/** How a task ended. */
export interface LoopEnd {
  readonly status: "completed" | "failed";
  /** The result; if the task failed, the reason. */
  readonly result: Json;
}

interface LoopState {
  readonly messages: readonly Message[];
  readonly calls: readonly SettledCall[];
  readonly end: LoopEnd | null;
}

export interface PlainLoop {
  readonly agent: Agent;
  readonly model: Model;
  readonly task: Json;
  readonly rig: Rig;
  readonly secrets: ToolSecrets;
  /** Decides about a call that asks for approval. */
  readonly gates: GateRule;
  /** The file to which the state is saved after each beat; null keeps it in the process. */
  readonly file: string | null;
}

/** Runs a task to its end. With a file, it resumes from the saved state. */
export async function plainLoop(loop: PlainLoop): Promise<LoopEnd> {
  const { task, rig, file } = loop;
  const words = typeof task === "string" ? task : JSON.stringify(task);
  let state = loaded(file) ?? { messages: [message("user", [text(words)], [])], calls: [], end: null };
  for (let beat = 0; state.end === null; beat += 1) {
    state =
      beat < loop.agent.topology.maxBeats
        ? await oneBeat(loop, state)
        : { ...state, end: { status: "failed", result: "it used up its beats" } };
    if (file === null) continue;
    await rig.onMoment({ when: "before", name: "save", at: "" });
    save(file, state);
    await rig.onMoment({ when: "after", name: "save", at: "" });
  }
  return state.end;
}

function loaded(file: string | null): LoopState | null {
  return file === null || !existsSync(file) ? null : (JSON.parse(readFileSync(file, "utf8")) as LoopState);
}

function save(file: string, state: LoopState): void {
  writeFileSync(`${file}.new`, JSON.stringify(state), { flush: true });
  renameSync(`${file}.new`, file);
}

/** One beat: plan, act, observe. */
async function oneBeat(loop: PlainLoop, state: LoopState): Promise<LoopState> {
  const reply = await ask(loop, state);
  if (reply === null) return { ...state, end: { status: "failed", result: "its model failed" } };
  const parts = reply.map((part, index) => spoken(part, `c${state.calls.length + 1}-${index}`));
  const messages = [...state.messages, message("assistant", parts, state.messages)];
  const asked = parts.filter((part) => part.kind === "call");
  if (asked.length === 0) return judge(loop, { ...state, messages });
  const calls = await Promise.all(asked.map((part) => act(loop, part)));
  for (const { call, tool, outcome, result } of calls) {
    const part: Part = { kind: "result", call, tool, outcome, value: inline(result), edited: null };
    messages.push(message("tool", [part], messages));
  }
  return { ...state, messages, calls: [...state.calls, ...calls] };
}

/** Calls the model, and retries failures that are retryable. */
async function ask({ agent, model }: PlainLoop, { messages }: LoopState): Promise<readonly RepliedPart[] | null> {
  const { instructions, tools, modelOptions = {} } = agent;
  const format = responseFormatOf(agent);
  for (let tries = 0; tries <= BOUNDS.modelRetriesMax; tries += 1) {
    const { signal } = new AbortController();
    const outcome = await model.ask({ instructions, messages, tools, options: modelOptions, format, signal });
    if (outcome.kind === "reply") return outcome.parts;
    if (outcome.kind === "aborted" || !outcome.retryable) return null;
  }
  return null;
}

function spoken(part: RepliedPart, call: string): Part {
  if (part.kind === "call") return { ...part, call, args: inline(part.args) };
  if (part.kind === "badCall") return { kind: "call", call, tool: part.tool, args: inline(part.raw), provider: null };
  return part.kind === "file" ? part.content.ref : part;
}

/** A plain loop keeps no files: its messages name them only. */
const NO_FILES: RunFiles = {
  list: () => [],
  read: () => Promise.reject(new Error("a plain loop keeps no files")),
};

/** As cairn gives it to the tool: the names stand in the order of the stored form. */
function asRecorded(parsed: unknown): unknown {
  const json = plainJsonOf(parsed);
  return json === undefined ? parsed : JSON.parse(canonical(json));
}

/** Why a human is asked about the call; null if none is. As in cairn, a rule that fails asks. */
async function reasonToAsk({ approval }: Tool, input: unknown, context: CallContext): Promise<string | null> {
  if (typeof approval !== "function") return approval === "always" ? "its tool always asks" : null;
  try {
    return (await approval(input, context)) || null;
  } catch (error) {
    return `its approval rule failed: ${sentenceOf(error)}`;
  }
}

/** The loop traces nothing, so its calls are in a trace that nobody records. */
const UNTRACED = `00-${"1".repeat(32)}-${"1".repeat(16)}-00`;

async function act(
  { agent, secrets, task, gates }: PlainLoop,
  part: Extract<Part, { kind: "call" }>,
): Promise<SettledCall> {
  const { call, tool: name, args: value } = part;
  const args = value.kind === "inline" ? value.json : null;
  const tool = agent.tools[name];
  const failed = (result: string): SettledCall => ({ call, tool: name, args, outcome: "failed", result });
  if (tool === undefined) return failed(`there is no tool ${name}`);
  const parsed = tool.input.safeParse(args);
  if (!parsed.success) return failed(sentenceOf(parsed.error));
  const input = asRecorded(parsed.data);
  const reason = await reasonToAsk(tool, input, { run: "plain-loop", task, restart: 1 });
  if (reason !== null && gates({ tool: name, args, reason }) === "deny") return failed("a human denied this call");
  try {
    const { signal } = new AbortController();
    const log = (): void => {};
    const deadline = Number.MAX_SAFE_INTEGER;
    const of = { run: "plain-loop", task, restart: 1, attempt: 1 };
    const given: unknown = await tool.run({
      ...of,
      input,
      key: randomUUID(),
      epoch: 1,
      signal,
      deadline,
      traceparent: UNTRACED,
      log,
      secrets,
      files: NO_FILES,
      memory: NO_MEMORY,
      callback: () => Promise.reject(new Error("a plain loop has no callbacks")),
    });
    const read = readResult(tool, given);
    return read.ok ? { call, tool: name, args, outcome: "succeeded", result: read.json } : failed(read.why);
  } catch (error) {
    return failed(sentenceOf(error));
  }
}

/** Applies the definition of done when the model says that it has finished. The model is told what is missing. */
async function judge({ agent, task }: PlainLoop, state: LoopState): Promise<LoopState> {
  const last = state.messages.at(-1)?.parts ?? [];
  const words = last.flatMap((part) => (part.kind === "text" ? [part.text] : [])).join("\n");
  const view: RunView = { task, calls: state.calls, text: words, spent: NOTHING_SPENT };
  const missing: string[] = [];
  for (const check of agent.done) {
    const verdict = await (check as Check<Json>).holds(view);
    if (verdict !== true) missing.push(verdict === false ? check.name : verdict);
  }
  if (missing.length === 0) return { ...state, end: { status: "completed", result: agent.result(view) } };
  const told = message("user", [text(`You are not done yet. What is missing: ${missing.join("; ")}`)], state.messages);
  return { ...state, messages: [...state.messages, told] };
}

const message = (role: Message["role"], parts: readonly Part[], before: readonly Message[]): Message => ({
  id: `m${before.length + 1}`,
  at: Date.now(),
  source: "loop",
  role,
  parts,
  tokens: 0,
});

/** The memory of a plain loop: it keeps nothing, so each source is fetched each time. */
export const NO_MEMORY: Memory = {
  put: async () => ({ kind: "refused", why: "a plain loop keeps nothing" }),
  get: async () => [],
  search: async () => [],
  forget: async () => ({ kind: "missing" }),
  fetch: async (source, ask) => {
    const answer = await ask(null);
    if (answer.kind === "unchanged") throw new Error(`${source} has no kept version, so it cannot be unchanged`);
    const { etag, content } = answer;
    return { source, content, etag, at: Date.now(), from: "source", isKept: false };
  },
};
