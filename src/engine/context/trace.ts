/**
 * The trace of a run: one trace over all its invocations, by OpenTelemetry's conventions for generative AI. IDs derive
 * from the run, so every process continues the same trace without a message from the process before it. A span is made
 * after the commit that holds its facts; an uncommitted decision may be made again, and would show twice.
 */
import type { TraceHeaders } from "../../codec/caller-trace.ts";
import type { Event, EventOf } from "../../core/event.ts";
import type { Hash } from "../../core/ids.ts";
import type { OpenCall, State } from "../../core/state.ts";
import type { Kernel } from "../../core/transition.ts";
import { type Row, hasEnded } from "../../protocol/row.ts";
import type { ClaimOutcome } from "../../protocol/row-claim.ts";
import { redactionIn } from "../../history/secrets.ts";
import type { Agent } from "../../ports/agent.ts";
import type { Span, SpanLink, Spans } from "../../ports/spans.ts";
import type { World } from "../../ports/world.ts";

/** The conventions' names. They are not stable yet, so no other file writes them. */
const NAMES = {
  operation: "gen_ai.operation.name",
  provider: "gen_ai.provider.name",
  conversation: "gen_ai.conversation.id",
  agent: "gen_ai.agent.name",
  agentVersion: "gen_ai.agent.version",
  model: "gen_ai.request.model",
  finish: "gen_ai.response.finish_reasons",
  tokensIn: "gen_ai.usage.input_tokens",
  tokensOut: "gen_ai.usage.output_tokens",
  tool: "gen_ai.tool.name",
  toolCall: "gen_ai.tool.call.id",
} as const;

type Attributes = Span["attributes"];
/** The span of one event: its name and times, without what all spans of the run share. */
type Piece = Pick<Span, "name" | "kind" | "from" | "to" | "attributes" | "error"> & { readonly id?: string };

/** The trace of a claimed run; null while nobody traces the runs, and for a run in a trace that is not recorded. */
export function traceOf(
  { hash, kernel, telemetry: { spans } }: Pick<World, "hash" | "kernel" | "telemetry">,
  { row, overtook }: Extract<ClaimOutcome, { readonly kind: "granted" }>,
  since: number,
): InvocationTrace | null {
  if (spans === undefined || joinedBy(row)?.isSampled === false) return null;
  return new InvocationTrace({ hash, kernel, spans }, { row, since, overtook: overtook !== null });
}

/** The trace of a run, as its invocation of `row.epoch` continues it. */
export class InvocationTrace {
  readonly #hash: Hash;
  readonly #kernel: Kernel;
  readonly #spans: Spans;
  /** The row as it was claimed. */
  readonly #row: Row;
  readonly #since: number;
  readonly #overtook: boolean;
  readonly #invokedAt = new Map<string, number>();
  #error: string | null = null;

  /** `since`: when the invocation began, in epoch milliseconds. `overtook`: it went on after one that did not end. */
  constructor(
    { hash, kernel, spans }: { readonly hash: Hash; readonly kernel: Kernel; readonly spans: Spans },
    { row, since, overtook }: { readonly row: Row; readonly since: number; readonly overtook: boolean },
  ) {
    this.#hash = hash;
    this.#kernel = kernel;
    this.#spans = spans;
    this.#row = row;
    this.#since = since;
    this.#overtook = overtook;
  }

  /** Adds the spans of one applied commit. `before`: the state to which it added the events. */
  committed({
    row,
    events,
    before,
  }: {
    readonly before: State;
    readonly row: Row;
    readonly events: readonly Event[];
  }): void {
    const made: Span[] = [];
    let state = before;
    for (const [index, event] of events.entries()) {
      const piece = this.#pieceOf(event, state);
      const ownId = this.#id(`${row.version} ${index}`);
      if (piece !== null) made.push(this.#span({ id: ownId, ...piece, parent: this.#invocation(row.epoch) }));
      state = this.#kernel.fold(state, event);
    }
    if (hasEnded(row)) made.push(this.#wholeRun(row, state));
    this.#spans.add(made);
  }

  /** An error stopped the invocation. Its name is recorded, and not its text. */
  stopped(error: unknown): void {
    this.#error = error instanceof Error ? error.name : "Error";
  }

  /** Adds the span of the invocation itself, when it has released the run or lost it. `version`: the last it saw. */
  ended({ at, version }: { readonly at: number; readonly version: number }): void {
    const { epoch, takeovers } = this.#row;
    const links: SpanLink[] = this.#overtook ? [{ trace: this.#trace(), id: this.#invocation(epoch - 1) }] : [];
    const attributes = {
      ...this.#shared(),
      "cairn.epoch": epoch,
      "cairn.takeovers": takeovers,
      "cairn.version": version,
    };
    const name = `cairn.invocation ${this.#row.agent}`;
    const times = { from: this.#since, to: at };
    const id = this.#invocation(epoch);
    const piece: Piece = { name, kind: "internal", ...times, attributes, error: this.#error };
    this.#spans.add([this.#span({ ...piece, id, parent: this.#root(), links })]);
  }

  #pieceOf(event: Event, before: State): Piece | null {
    switch (event.kind) {
      case "ModelCallCompleted":
        return this.#modelCall(event);
      case "Compacted":
      case "ResultSummarised":
        return this.#summary(event);
      case "ModelCallLost":
        return this.#instant(event, {
          name: "chat",
          error: "ModelCallLost",
          attributes: { "cairn.calls": event.calls },
        });
      case "ToolInvoked":
        this.#invokedAt.set(event.call, event.at);
        return null;
      case "ToolResultRecorded":
        return this.#toolCall(event, before, event.outcome === "succeeded" ? null : "ToolFailed");
      case "ToolCompensated":
        return this.#toolCall(event, before, null);
      case "ToolOutcomeUnknown":
        return this.#toolCall(event, before, "ToolOutcomeUnknown");
      case "RecoveryDecided": {
        const attributes = { "cairn.rule": event.rule, "cairn.action": event.action.kind };
        return this.#instant(event, { name: `cairn.recovery ${event.rule}`, error: null, attributes });
      }
      default:
        return null;
    }
  }

  #modelCall(event: EventOf<"ModelCallCompleted">): Piece {
    const { model, at, tookMs, finish, tokensIn, tokensOut } = event;
    const attributes = {
      ...this.#shared(),
      [NAMES.operation]: "chat",
      [NAMES.model]: model,
      ...(model.includes(":") ? { [NAMES.provider]: model.slice(0, model.indexOf(":")) } : {}),
      [NAMES.finish]: [finish],
      [NAMES.tokensIn]: tokensIn,
      [NAMES.tokensOut]: tokensOut,
    };
    return { name: `chat ${model}`, kind: "client", from: at - tookMs, to: at, attributes, error: null };
  }

  /** How long the call took is not recorded. */
  #summary(event: EventOf<"Compacted"> | EventOf<"ResultSummarised">): Piece {
    const { model = "unknown", tokens } = event;
    const attributes = {
      [NAMES.operation]: "chat",
      [NAMES.model]: model,
      [NAMES.tokensOut]: tokens,
      "cairn.summary_of": event.kind === "Compacted" ? `${event.replaced.from}-${event.replaced.to}` : event.call,
    };
    return this.#instant(event, { name: `chat ${model}`, error: null, attributes });
  }

  #toolCall(event: { readonly call: string; readonly at: number }, before: State, error: string | null): Piece {
    const { call, at } = event;
    const open = before.open.find((each) => each.call === call);
    const tool = open?.tool ?? "unknown";
    const attributes = {
      ...this.#shared(),
      [NAMES.operation]: "execute_tool",
      [NAMES.tool]: tool,
      [NAMES.toolCall]: call,
      ...(open?.intent ? { "cairn.effect": open.intent.effect } : {}),
      ...(open?.undoes === undefined ? {} : { "cairn.undoes": open.undoes }),
    };
    // A wait began in an earlier invocation: the state has the time.
    const waitsFrom = open?.heldBy?.by === "wait" ? open.heldBy.from : at;
    const from = Math.min(at, this.#invokedAt.get(call) ?? at, waitsFrom);
    const id = callSpanId(this.#hash, this.#row, { call, timesUnknown: open?.timesUnknown ?? 0 });
    return { id, name: `execute_tool ${tool}`, kind: "internal", from, to: at, attributes, error };
  }

  #instant(
    { at }: Event,
    piece: { readonly name: string; readonly error: string | null; readonly attributes: Attributes },
  ): Piece {
    return { ...piece, kind: "internal", from: at, to: at, attributes: { ...this.#shared(), ...piece.attributes } };
  }

  #wholeRun(row: Row, { agentVersion, failure, redriven }: State): Span {
    const attributes = {
      ...this.#shared(),
      [NAMES.operation]: "invoke_agent",
      [NAMES.agentVersion]: agentVersion,
      [NAMES.tokensIn]: row.spent.tokensIn,
      [NAMES.tokensOut]: row.spent.tokensOut,
      "cairn.status": row.status,
      "cairn.beats": row.spent.beats,
      "cairn.takeovers": row.takeovers,
      "cairn.spent_micro_usd": row.spent.microUsd,
      "cairn.redriven": redriven?.times ?? 0,
    };
    const starter = starterOf(row);
    const links = starter?.as === "link" ? [starter] : [];
    const error = failure?.code ?? (row.status === "cancelled" ? "Cancelled" : null);
    const times = { from: row.createdAt, to: row.statusSince };
    const piece: Piece = { name: `invoke_agent ${row.agent}`, kind: "internal", ...times, attributes, error };
    return this.#span({ ...piece, id: this.#root(), parent: joinedBy(row)?.id ?? null, links });
  }

  #shared(): Attributes {
    return { [NAMES.conversation]: this.#row.run, [NAMES.agent]: this.#row.agent };
  }

  #span(
    piece: Piece & { readonly id: string; readonly parent: string | null; readonly links?: readonly SpanLink[] },
  ): Span {
    const state = joinedBy(this.#row)?.state;
    return { links: [], ...piece, trace: this.#trace(), ...(state !== undefined && { state }) };
  }

  #trace(): string {
    return traceId(this.#hash, this.#row);
  }

  #root(): string {
    return rootId(this.#hash, this.#row);
  }

  #invocation(epoch: number): string {
    return this.#id(`epoch ${epoch}`);
  }

  #id(what: string): string {
    return spanId(this.#hash, this.#row, what);
  }
}

type Named = Pick<Row, "run" | "born" | "brief">;

/** The trace that started a run. `parent`: the run is part of it. */
type Starter = Required<Pick<SpanLink, "isSampled">> & SpanLink & { readonly as: "link" | "parent" };

const STARTER = /^(link|parent) 00-([0-9a-f]{32})-([0-9a-f]{16})-0([01])(?: (.+))?$/;

/** What a run keeps of the trace that starts it (`RowBrief.trace`). */
export const keptTrace = (as: Starter["as"], { traceparent, tracestate }: TraceHeaders): string =>
  [as, traceparent, ...(tracestate === undefined ? [] : [tracestate])].join(" ");

/** What a run of the agent keeps of the trace of its caller. A state that holds a secret is not kept. */
export function traceToKeep(world: World, agent: Agent, trace: TraceHeaders | undefined): string | undefined {
  if (trace === undefined) return undefined;
  const { traceparent, tracestate = "" } = trace;
  const isKept = tracestate !== "" && redactionIn(world).text(tracestate) === tracestate;
  return keptTrace(agent.callerTrace ?? "link", isKept ? trace : { traceparent });
}

function starterOf({ brief }: Pick<Row, "brief">): Starter | null {
  const [, as, trace, id, flags, state] = STARTER.exec(brief?.trace ?? "") ?? [];
  if (trace === undefined || id === undefined) return null;
  const link = { trace, id, isSampled: flags === "1", ...(state !== undefined && { state }) };
  return { ...link, as: as === "parent" ? as : "link" };
}

function joinedBy(row: Pick<Row, "brief">): Starter | null {
  const starter = starterOf(row);
  return starter?.as === "parent" ? starter : null;
}

type Tracing = Pick<World, "hash" | "telemetry">;

/** Of a call, for each of its attempts; after an unknown outcome it has another span. */
export const traceOfCall = (world: Tracing, row: Named, call: CallInTrace): TraceHeaders =>
  headersFor(world, row, callSpanId(world.hash, row, call));

/** Of the run as a whole. */
export const traceOfRun = (world: Tracing, row: Named): TraceHeaders => headersFor(world, row, rootId(world.hash, row));

function headersFor({ hash, telemetry: { spans } }: Tracing, row: Named, span: string): TraceHeaders {
  const joined = joinedBy(row);
  if (joined === null) return { traceparent: `00-${traceId(hash, row)}-${span}-${spans === undefined ? "00" : "01"}` };
  const { trace, isSampled, state } = joined;
  // Nothing exports the span: who started the run is then the nearest span that exists.
  const id = spans === undefined ? joined.id : span;
  const traceparent = `00-${trace}-${id}-${isSampled ? "01" : "00"}`;
  return { traceparent, ...(state !== undefined && { tracestate: state }) };
}

type CallInTrace = Pick<OpenCall, "call" | "timesUnknown">;

const callSpanId = (hash: Hash, row: Named, { call, timesUnknown }: CallInTrace): string =>
  spanId(hash, row, `call ${call} ${timesUnknown}`);

const traceId = (hash: Hash, row: Named): string =>
  joinedBy(row)?.trace ?? hash(`trace ${row.run} ${row.born}`).slice(0, 32);

const rootId = (hash: Hash, named: Named): string => spanId(hash, named, "run");

const spanId = (hash: Hash, { run, born }: Named, what: string): string =>
  hash(`span ${run} ${born} ${what}`).slice(0, 16);
