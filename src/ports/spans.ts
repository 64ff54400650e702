/**
 * Spans: what a run did, for a tracing system. They tell what is committed, and hold no text of a task, a model or a
 * tool. A process that dies may lose the spans of its last commits; the events of the run never depend on them.
 */

/** One finished piece of work. IDs are lower-case hex: 32 digits for a trace, 16 for a span. Times: epoch ms. */
export interface Span {
  readonly trace: string;
  readonly id: string;
  /** The span that this one is part of; null for the whole run. */
  readonly parent: string | null;
  readonly name: string;
  /** `client`: a request to a remote model. */
  readonly kind: "internal" | "client";
  readonly from: number;
  readonly to: number;
  readonly attributes: Readonly<Record<string, string | number | boolean | readonly string[]>>;
  /** Why it failed, as a stable code; null if it did not. */
  readonly error: string | null;
  /** Spans that this one follows without being part of them, such as an invocation that died. */
  readonly links: readonly SpanLink[];
  /** The `tracestate` of the trace; absent: it has none. */
  readonly state?: string;
}

export interface SpanLink {
  readonly trace: string;
  readonly id: string;
  /** Whether its trace is recorded; absent: it is. */
  readonly isSampled?: boolean;
  readonly state?: string;
}

/** Where spans go. */
export interface Spans {
  /** Takes finished spans. Never throws and never waits. */
  add(spans: readonly Span[]): void;
  /** Sends what was added, for a short time at most. A process that may be frozen or ends waits for it. */
  flush(): Promise<void>;
}
