/**
 * Sends spans to an OpenTelemetry collector over OTLP/HTTP. The one file that knows OpenTelemetry's packages, which are
 * loaded with the first span. Settings are OpenTelemetry's own variables: `OTEL_EXPORTER_OTLP_ENDPOINT` or
 * `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT` turns the export on, and the exporter reads headers, timeout and compression.
 *
 * A collector that is away costs spans and nothing else: they are queued up to a bound, then dropped.
 */
import type { SpanContext } from "@opentelemetry/api";
import type { ReadableSpan } from "@opentelemetry/sdk-trace";
import type { Span, SpanLink, Spans } from "../../ports/spans.ts";

type Variables = Readonly<Record<string, string | undefined>>;

/** The longest that a process waits for its spans before it may be frozen or ends, in milliseconds. */
const FLUSH_MS = 2_000;
/** Spans that wait for the collector. About 1 KB each. */
const QUEUE_MAX = 2_048;
/** How long spans are collected for one request, in milliseconds. */
const BATCH_MS = 1_000;

/** The exporter that the variables ask for; undefined if they ask for none. */
export function otlpSpans(env: Variables): Spans | undefined {
  const endpoint = env["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] || env["OTEL_EXPORTER_OTLP_ENDPOINT"];
  const isOff = env["OTEL_SDK_DISABLED"] === "true" || env["OTEL_TRACES_EXPORTER"] === "none";
  if (!endpoint || isOff) return undefined;
  let loading: ReturnType<typeof processorFor> | null = null;
  const processor = (): ReturnType<typeof processorFor> => (loading ??= processorFor(env));
  return {
    add: (spans) => {
      const adding = processor().then((sender) => spans.forEach((span) => sender.add(span)));
      // A package that cannot be loaded must not fail a run.
      adding.catch(() => undefined);
    },
    flush: async () => {
      if (loading === null) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, FLUSH_MS);
      const sent = loading.then((sender) => sender.flush());
      await Promise.race([sent.catch(() => undefined), promise]);
      clearTimeout(timer);
    },
  };
}

interface Sender {
  add(span: Span): void;
  flush(): Promise<void>;
}

async function processorFor(env: Variables): Promise<Sender> {
  const [{ OTLPTraceExporter }, { BatchSpanProcessor }, api, { resourceFromAttributes }] = await Promise.all([
    import("@opentelemetry/exporter-trace-otlp-http"),
    import("@opentelemetry/sdk-trace"),
    import("@opentelemetry/api"),
    import("@opentelemetry/resources"),
  ]);
  const processor = new BatchSpanProcessor({
    exporter: new OTLPTraceExporter(),
    maxQueueSize: QUEUE_MAX,
    scheduledDelayMillis: BATCH_MS,
    exportTimeoutMillis: FLUSH_MS,
  });
  const kinds = { internal: api.SpanKind.INTERNAL, client: api.SpanKind.CLIENT };
  const contextOf = ({ trace, id, isSampled = true, state }: SpanLink) => ({
    traceId: trace,
    spanId: id,
    traceFlags: isSampled ? api.TraceFlags.SAMPLED : api.TraceFlags.NONE,
    ...(state !== undefined && { traceState: stateOf(state) }),
  });
  const shared = {
    resource: resourceFromAttributes(resourceIn(env)),
    instrumentationScope: { name: "cairn-run" },
    events: [],
    ended: true,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
  const readable = (span: Span): ReadableSpan => ({
    ...shared,
    name: span.name,
    kind: kinds[span.kind],
    spanContext: () => contextOf(span),
    ...(span.parent === null ? {} : { parentSpanContext: contextOf({ trace: span.trace, id: span.parent }) }),
    startTime: timeOf(span.from),
    endTime: timeOf(span.to),
    duration: timeOf(span.to - span.from),
    status: span.error === null ? { code: api.SpanStatusCode.UNSET } : { code: api.SpanStatusCode.ERROR },
    attributes: { ...mutable(span.attributes), ...(span.error === null ? {} : { "error.type": span.error }) },
    links: span.links.map((link) => ({ context: contextOf(link) })),
  });
  return { add: (span) => processor.onEnd(readable(span)), flush: () => processor.forceFlush() };
}

/** The exporter sends it as it is. */
function stateOf(text: string): NonNullable<SpanContext["traceState"]> {
  const state = { serialize: () => text, get: () => undefined, set: () => state, unset: () => state };
  return state;
}

/** Milliseconds as seconds and nanoseconds. */
const timeOf = (ms: number): [number, number] => [Math.floor(ms / 1_000), Math.round((ms % 1_000) * 1e6)];

const mutable = (attributes: Span["attributes"]): ReadableSpan["attributes"] =>
  Object.fromEntries(
    Object.entries(attributes).map(([name, value]) => [name, Array.isArray(value) ? [...value] : value]),
  );

/** What names this process in a trace: `OTEL_SERVICE_NAME`, and `OTEL_RESOURCE_ATTRIBUTES` as `name=value,…`. */
function resourceIn(env: Variables): Record<string, string> {
  const pairs = (env["OTEL_RESOURCE_ATTRIBUTES"] ?? "").split(",").map((pair) => pair.split("="));
  const given = pairs.flatMap(([name = "", value]) =>
    value === undefined ? [] : [[name.trim(), decodeURIComponent(value.trim())] as const],
  );
  return { "service.name": "cairn", ...Object.fromEntries(given), ...named(env["OTEL_SERVICE_NAME"]) };
}

const named = (service: string | undefined): Record<string, string> => (service ? { "service.name": service } : {});
