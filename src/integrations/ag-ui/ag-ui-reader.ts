/**
 * The events of a run as those of AG-UI 1.0 (ADR 0097). It reads the same segments as the AI SDK's stream: an AG-UI run
 * is a segment, an AG-UI thread is a run of cairn.
 *
 * AG-UI knows no reset of a message. Where words of a dead call were sent, a `MESSAGES_SNAPSHOT` without them follows.
 */
import type { Json } from "../../core/json.ts";
import { EVENTS_PER_TURN } from "../../ports/reading.ts";
import type { Live } from "../../operations/live-page.ts";
import { type AgUiFold, isObject } from "./ag-ui-fold.ts";
import type { UiChunk } from "../chat/ui-chunks.ts";
import type { UiSegment } from "../chat/ui-messages.ts";

/** One event, as `EventSchemas` of the package `@ag-ui/core` describes it (the client of the tests checks each). */
export type AgUiEvent = { readonly type: string } & Readonly<Record<string, Json>>;

/** A message of a client's list. */
export type AgUiMessage = { readonly id: string } & Record<string, Json>;

interface Shown {
  readonly id: string;
  text: string;
}

export interface AgUiRequest {
  readonly threadId: string;
  readonly runId: string;
  /** The messages that the client has. */
  readonly messages: readonly AgUiMessage[];
}

/** What one request of an AG-UI client gets of its segment. */
export class AgUiReader {
  readonly #request: AgUiRequest;
  readonly #fold: AgUiFold;
  /** The client's messages, and those of this stream. */
  #messages: AgUiMessage[] | null = null;
  /** How many chunks of the segment are sent, and of what it updates. */
  #at = 0;
  #updatesAt = 0;
  /** The number of the last committed step, and of the step that is open for the client. */
  #step = 0;
  #openStep: number | null = null;
  /** The texts of the open step that the client has before the reply is committed, by their part. */
  readonly #shown = new Map<number, Shown>();
  #openPart: number | null = null;
  #isOver = false;
  #out: AgUiEvent[] = [];

  constructor(fold: AgUiFold, request: AgUiRequest) {
    [this.#fold, this.#request] = [fold, request];
  }

  /**
   * The next events of this segment, part by part, each made when it is asked for. `live` follows the commits that the
   * segment has.
   */
  *next(
    segment: UiSegment,
    live: Pick<Live, "reset" | "deltas"> | undefined,
  ): Generator<readonly AgUiEvent[], undefined> {
    this.#out = [];
    if (this.#messages === null) this.#begin(segment);
    if (live !== undefined && live.reset !== null) this.#takeBackUncommitted();
    this.#update(segment);
    const { chunks } = segment;
    const end = chunks.length;
    while (this.#at < end) {
      const chunk = chunks[this.#at] as UiChunk;
      this.#at += 1;
      if (!this.#isOver) this.#committed(chunk, segment);
      if (this.#out.length < EVENTS_PER_TURN) continue;
      yield this.#out;
      this.#out = [];
    }
    if (!segment.isDone) {
      for (const { parts } of live?.deltas ?? []) for (const part of parts) this.#say(part, segment);
    }
    yield this.#out;
  }

  /** How calls of earlier answers were settled. This comes before the segment's own reply. */
  #update(segment: UiSegment): void {
    const chunks = segment.update?.chunks ?? [];
    for (; this.#updatesAt < chunks.length; this.#updatesAt += 1) {
      const chunk = chunks[this.#updatesAt] as UiChunk;
      if (chunk.type === "tool-input-available") this.#call(chunk, segment);
      if (RESULTS.has(chunk.type)) this.#result(chunk, segment);
    }
  }

  /** A client that repeats a request may have some of the segment, which comes whole. */
  #begin(segment: UiSegment): void {
    const number = this.#number(segment);
    const isOld = ({ id }: AgUiMessage): boolean => Number(/^cairn-(\d+)-/.exec(id)?.[1] ?? 0) < number;
    this.#messages = this.#request.messages.filter(isOld);
    if (this.#messages.length < this.#request.messages.length) this.#snapshot();
  }

  /** From 1 in the log. The segment that the first commit will begin is not in it yet. */
  readonly #number = (segment: UiSegment): number => Math.max(1, this.#fold.ui.segments.indexOf(segment) + 1);

  readonly #id = (segment: UiSegment, name: string): string => `cairn-${this.#number(segment)}-${name}`;

  #committed(chunk: UiChunk, segment: UiSegment): void {
    const { type } = chunk;
    if (type === "start-step") this.#stepTo((this.#step += 1));
    // Behind it comes the whole reply: words that it does not begin with are those of a dead call.
    if (type === "reset-step" && !this.#fits(segment)) this.#takeBack();
    if (type === "text-delta" || type === "reasoning-delta") this.#whole(chunk, segment);
    if (type === "file") this.#send({ type: "CUSTOM", name: "cairn.file", value: { ...chunk } });
    if (type === "tool-input-available") this.#call(chunk, segment);
    if (RESULTS.has(type)) this.#result(chunk, segment);
    if (type === "finish-step" && this.#openStep === this.#step) this.#stepTo(null);
    if (type === "error") this.#fail(chunk);
    if (type === "finish") this.#finish(chunk, segment);
  }

  /** Whether the reply goes on with what the client was shown. */
  #fits({ chunks }: UiSegment): boolean {
    const texts = new Map<number, string>();
    for (let index = this.#at; index < chunks.length; index += 1) {
      const chunk = chunks[index] as UiChunk;
      if (chunk.type === "start-step") break;
      if (chunk.type === "text-delta") texts.set(partIn(chunk), textIn(chunk["delta"]));
    }
    return [...this.#shown].every(([part, { text }]) => {
      const whole = texts.get(part);
      return part === this.#openPart ? whole?.startsWith(text) : whole === text;
    });
  }

  /** Drops what the client has of a step without a reply. */
  #takeBack(): void {
    if (this.#shown.size === 0) return;
    this.#endPart();
    const lost = new Set([...this.#shown.values()].map(({ id }) => id));
    this.#messages = (this.#messages ?? []).filter(({ id }) => !lost.has(id));
    this.#shown.clear();
    this.#snapshot();
  }

  #snapshot(): void {
    this.#out.push({ type: "MESSAGES_SNAPSHOT", messages: structuredClone(this.#messages ?? []) });
  }

  /** Words of the open step. Reasoning comes with its reply, since a snapshot does not take it back. */
  #say(part: Live["deltas"][number]["parts"][number], segment: UiSegment): void {
    if (part.kind !== "text") return;
    const step = this.#step + 1;
    this.#stepTo(step);
    this.#text({ part: part.index, text: part.text, step }, segment);
  }

  #text(
    { part, text, step }: { readonly part: number; readonly text: string; readonly step: number },
    segment: UiSegment,
  ): void {
    const shown = this.#shown.get(part) ?? { id: this.#id(segment, `${step}-${part}`), text: "" };
    if (this.#openPart !== part) {
      this.#endPart();
      // A part that was ended goes on with the reply, which then differs from it.
      if (this.#shown.has(part)) return;
      this.#send({ type: "TEXT_MESSAGE_START", messageId: shown.id, role: "assistant" });
      this.#messages?.push({ id: shown.id, role: "assistant", content: "" });
      [this.#openPart, shown.text] = [part, ""];
      this.#shown.set(part, shown);
    }
    if (text === "") return;
    shown.text += text;
    this.#send({ type: "TEXT_MESSAGE_CONTENT", messageId: shown.id, delta: text });
    Object.assign(this.#messages?.find(({ id }) => id === shown.id) ?? {}, { content: shown.text });
  }

  #endPart(): void {
    const shown = this.#openPart === null ? undefined : this.#shown.get(this.#openPart);
    this.#openPart = null;
    if (shown !== undefined) this.#send({ type: "TEXT_MESSAGE_END", messageId: shown.id });
  }

  /** A part of a committed reply, without what the client has of it. */
  #whole(chunk: UiChunk, segment: UiSegment): void {
    const [part, text] = [partIn(chunk), textIn(chunk["delta"])];
    if (chunk.type === "reasoning-delta") return this.#reasoning(this.#id(segment, `${this.#step}-${part}`), text);
    const shown = this.#shown.get(part)?.text ?? "";
    if (text === "") return;
    this.#text({ part, text: text.slice(shown.length), step: this.#step }, segment);
    this.#endPart();
  }

  #reasoning(messageId: string, text: string): void {
    if (text === "" || this.#request.messages.some(({ id }) => id === messageId)) return;
    this.#send({ type: "REASONING_START", messageId });
    this.#send({ type: "REASONING_MESSAGE_START", messageId, role: "reasoning" });
    this.#send({ type: "REASONING_MESSAGE_CONTENT", messageId, delta: text });
    this.#send({ type: "REASONING_MESSAGE_END", messageId });
    this.#send({ type: "REASONING_END", messageId });
  }

  #call({ toolCallId = "", toolName = "", input = null }: UiChunk, segment: UiSegment): void {
    const parentMessageId = [...this.#shown.values()].at(-1)?.id ?? this.#id(segment, `${this.#step}-calls`);
    const args = JSON.stringify(input);
    this.#send({ type: "TOOL_CALL_START", toolCallId, toolCallName: toolName, parentMessageId });
    this.#send({ type: "TOOL_CALL_ARGS", toolCallId, delta: args });
    this.#send({ type: "TOOL_CALL_END", toolCallId });
    const messages = (this.#messages ??= []);
    const found = messages.find(({ id }) => id === parentMessageId);
    const parent = found ?? { id: parentMessageId, role: "assistant" };
    if (found === undefined) messages.push(parent);
    const calls = (parent["toolCalls"] ?? []) as Json[];
    parent["toolCalls"] = [
      ...calls,
      { id: toolCallId, type: "function", function: { name: toolName, arguments: args } },
    ];
  }

  #result(chunk: UiChunk, segment: UiSegment): void {
    const { type, toolCallId = "", output = null, errorText = "" } = chunk;
    const given = type === "tool-output-available" ? output : type === "tool-output-denied" ? DENIED : errorText;
    const content = typeof given === "string" ? given : JSON.stringify(given);
    const messageId = this.#id(segment, `result-${textIn(toolCallId)}`);
    this.#send({ type: "TOOL_CALL_RESULT", messageId, toolCallId, content, role: "tool" });
    this.#messages?.push({ id: messageId, role: "tool", toolCallId, content });
  }

  /** Ends the open step, and begins this one. */
  #stepTo(step: number | null): void {
    if (step === this.#openStep) return;
    this.#endPart();
    if (step === null) this.#takeBackUncommitted();
    if (this.#openStep !== null) this.#send({ type: "STEP_FINISHED", stepName: `step ${this.#openStep}` });
    if (this.#openStep !== null && this.#openStep <= this.#step) this.#shown.clear();
    this.#openStep = step;
    if (step !== null) this.#send({ type: "STEP_STARTED", stepName: `step ${step}` });
  }

  #takeBackUncommitted(): void {
    if (this.#openStep !== null && this.#openStep > this.#step) this.#takeBack();
  }

  #fail({ errorText = "" }: UiChunk): void {
    this.#stepTo(null);
    const [code = "", ...rest] = textIn(errorText).split(": ");
    this.#end({ type: "RUN_ERROR", code, message: rest.join(": ") });
  }

  #finish({ messageMetadata = null }: UiChunk, segment: UiSegment): void {
    this.#stepTo(null);
    const { threadId, runId } = this.#request;
    const { run } = this.#fold.ui;
    const status = isObject(messageMetadata) ? textIn(messageMetadata["status"]) : "";
    const interrupts = this.#fold.ends.get(segment) ?? [];
    const isStopped = status === "waiting" || status === "budget";
    if (isStopped && interrupts.length === 0) {
      const code = status === "budget" ? "BudgetExhausted" : "OperatorNeeded";
      const message = `The run waits for an operator: "npx cairn show ${run}" says for what.`;
      return this.#end({ type: "RUN_ERROR", code, message });
    }
    const outcome = isStopped
      ? { type: "interrupt", interrupts: [...interrupts] }
      : { type: status === "cancelled" ? "cancelled" : "success" };
    this.#end({ type: "RUN_FINISHED", threadId, runId, outcome, result: { run, status } });
  }

  #end(event: AgUiEvent): void {
    this.#send(event);
    this.#isOver = true;
  }

  #send(event: AgUiEvent): void {
    this.#out.push(event);
  }
}

const RESULTS: ReadonlySet<string> = new Set(["tool-output-available", "tool-output-error", "tool-output-denied"]);

const DENIED = "A human denied this call.";

const textIn = (json: Json | undefined): string => (typeof json === "string" ? json : "");

/** The part of the reply that a committed chunk belongs to: its ID is a version and the part. */
const partIn = ({ id = "" }: UiChunk): number => Number(textIn(id).split(".")[1]);
