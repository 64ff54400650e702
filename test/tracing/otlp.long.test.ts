/**
 * Traces over OTLP/HTTP, as a collector receives them: one trace per run over its invocations, also after a death, and what
 * it is to the trace of its caller.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import { otlpSpans } from "../../src/adapters/otlp/exporter.ts";
import type { World } from "../../src/ports/world.ts";
import type { Agent } from "../../src/ports/agent.ts";
import { startRun } from "../../src/operations/start.ts";
import { boss, worker } from "../support/agents/workers.ts";
import { beginRun, drive, killableWorld, runnerOf } from "../support/harness/drive.ts";
import { createChainHarness, scriptedAgent } from "../support/harness/harness.ts";
import { dieInTool } from "../support/harness/chain-steps.ts";

interface Received {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly status: { readonly code: number };
  readonly attributes: readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[];
  readonly links: readonly { readonly traceId: string; readonly spanId: string; readonly traceState?: string }[];
  readonly traceState?: string;
}

interface Request {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: Received["attributes"] };
    readonly scopeSpans: readonly { readonly spans: readonly Received[] }[];
  }[];
}

/** A collector that keeps what it gets; `status` is its answer. */
async function collector(status = 200) {
  const requests: Request[] = [];
  const headers: (string | undefined)[] = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += String(chunk);
    headers.push(request.headers["x-team"] as string | undefined);
    if (request.url === "/v1/traces") requests.push(JSON.parse(body) as Request);
    response.writeHead(status, { "content-type": "application/json" }).end("{}");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const spans = (): readonly Received[] =>
    requests.flatMap(({ resourceSpans }) => resourceSpans.flatMap((each) => each.scopeSpans.flatMap((of) => of.spans)));
  return { url, requests, headers, spans };
}

function exporterTo(url: string) {
  vi.stubEnv("OTEL_EXPORTER_OTLP_ENDPOINT", url);
  vi.stubEnv("OTEL_EXPORTER_OTLP_HEADERS", "x-team=night");
  vi.stubEnv("OTEL_SERVICE_NAME", "shop");
  onTestFinished(() => void vi.unstubAllEnvs());
  const spans = otlpSpans(process.env);
  if (spans === undefined) throw new Error("an endpoint turns the export on");
  return spans;
}

const valueOf = ({ attributes }: Pick<Received, "attributes">, key: string): unknown =>
  Object.values(attributes.find((each) => each.key === key)?.value ?? {})[0];

/** A run whose first process dies in its tool. */
async function killedRun(spans: World["telemetry"]["spans"]) {
  const plain = createChainHarness();
  const telemetry = { ...plain.world.telemetry, ...(spans && { spans }) };
  const harness = { ...plain, world: { ...plain.world, telemetry } };
  const agent = scriptedAgent({ run: () => "a secret of the shop" });
  const { run } = await beginRun(harness.world, agent, {});
  await dieInTool(harness, agent);
  await harness.runUntilIdle(agent);
  await spans?.flush();
  return harness.row(run);
}

test("a run that a process died with is one trace: run, invocations, model calls, tools, and the death as a link", async () => {
  const { url, spans, headers, requests } = await collector();
  const row = await killedRun(exporterTo(url));
  expect(row).toMatchObject({ status: "completed", takeovers: 1 });
  const all = spans();
  expect(new Set(all.map(({ traceId }) => traceId)).size).toBe(1);
  expect(all.every((span) => valueOf(span, "gen_ai.conversation.id") === row.run)).toBe(true);
  const root = all.find(({ name }) => name === "invoke_agent actor");
  expect(root?.parentSpanId ?? "").toBe("");
  const invocations = all.filter(({ name }) => name === "cairn.invocation actor");
  expect(invocations.every(({ parentSpanId }) => parentSpanId === root?.spanId)).toBe(true);
  // The invocation that died never sent its own span. Its model call was committed before the tool, so it is there.
  const known = new Set(invocations.map(({ spanId }) => spanId));
  const chats = all.filter(({ name }) => name.startsWith("chat "));
  expect(chats).toHaveLength(2);
  expect(chats.filter(({ parentSpanId }) => !known.has(parentSpanId ?? ""))).toHaveLength(1);
  const dead = chats.find(({ parentSpanId }) => !known.has(parentSpanId ?? ""));
  const links = invocations.flatMap((each) => each.links.map(({ spanId }) => spanId));
  expect(links).toEqual([dead?.parentSpanId]);
  const tool = all.find(({ name }) => name === "execute_tool act");
  expect(tool && valueOf(tool, "gen_ai.tool.name")).toBe("act");
  expect(tool && valueOf(tool, "cairn.effect")).toBe("keyed");
  expect(all.map(({ name }) => name)).toContain("cairn.recovery takeover");
  expect(new Set(all.map(({ spanId }) => spanId)).size).toBe(all.length);
  expect(all.every((span) => BigInt(span.endTimeUnixNano) >= BigInt(span.startTimeUnixNano))).toBe(true);
  expect(headers[0]).toBe("night");
  const resource = requests[0]?.resourceSpans[0]?.resource;
  expect(resource && valueOf(resource, "service.name")).toBe("shop");
  // No text of the run leaves with its trace.
  expect(JSON.stringify(requests)).not.toContain("a secret of the shop");
});

test("a failed run is a failed trace, with its code", async () => {
  const { url, spans } = await collector();
  const exporter = exporterTo(url);
  const { world } = createChainHarness();
  const traced = { ...world, telemetry: { ...world.telemetry, spans: exporter } };
  const agent = scriptedAgent({ reply: () => ({ text: "" }) });
  await drive(runnerOf(traced, agent), await beginRun(traced, agent, {}));
  await exporter.flush();
  const root = spans().find(({ name }) => name === "invoke_agent actor");
  expect(root?.status.code).toBe(2);
  expect(root && valueOf(root, "error.type")).toBe("EmptyReply");
});

test("a collector that refuses or is away changes no run", async () => {
  const { url } = await collector(503);
  expect(await killedRun(exporterTo(url))).toMatchObject({ status: "completed" });
  expect(await killedRun(exporterTo("http://127.0.0.1:9"))).toMatchObject({ status: "completed" });
});

test("without an endpoint, or where OpenTelemetry is turned off, there is no exporter", () => {
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:4318" };
  expect(otlpSpans({})).toBeUndefined();
  expect(otlpSpans({ ...endpoint, OTEL_SDK_DISABLED: "true" })).toBeUndefined();
  expect(otlpSpans({ ...endpoint, OTEL_TRACES_EXPORTER: "none" })).toBeUndefined();
});

const CALLER = { traceId: "4bf92f3577b34da6a3ce929d0e0e4736", spanId: "00f067aa0ba902b7" };
const parentIn = (flags: string): string => `00-${CALLER.traceId}-${CALLER.spanId}-${flags}`;

interface Traced {
  readonly spans: World["telemetry"]["spans"];
  readonly flags?: string;
  readonly callerTrace?: "parent";
}

function tracedHarness(spans: Traced["spans"]) {
  const plain = createChainHarness();
  const telemetry = { ...plain.world.telemetry, ...(spans && { spans }) };
  return { ...plain, world: { ...plain.world, telemetry } };
}

async function startTraced(world: World, agent: Agent, { flags = "01" }: Pick<Traced, "flags">): Promise<string> {
  const trace = { traceparent: parentIn(flags), tracestate: "vendor=1" };
  const started = await startRun(world, { agent, input: {}, tenant: "local", idempotencyKey: "k", trace });
  if (started.kind !== "started") throw new Error(`not started: ${started.kind}`);
  return started.row.run;
}

/** A run that a caller's trace starts, whose first process dies in its tool, and what the tool got in both attempts. */
async function tracedRun({ spans, callerTrace, ...of }: Traced) {
  const harness = tracedHarness(spans);
  const got: { readonly traceparent: string; readonly tracestate?: string | undefined }[] = [];
  const reached = Promise.withResolvers<void>();
  const scripted = scriptedAgent({
    run: ({ traceparent, tracestate }) => {
      got.push({ traceparent, tracestate });
      reached.resolve();
      return got.length === 1 ? new Promise(() => undefined) : "acted";
    },
  });
  const agent = { ...scripted, ...(callerTrace && { callerTrace }) };
  await startTraced(harness.world, agent, of);
  const { world, kill } = killableWorld(harness.world);
  const out = harness.startAttempt();
  out.perform({ world, agent }).catch(() => undefined);
  await reached.promise;
  kill();
  out.end(null);
  await harness.runUntilIdle(agent);
  await spans?.flush();
  return got;
}

test("by default a run links to the trace of its caller, and its tool gets the span of its call, over a death", async () => {
  const { url, spans } = await collector();
  const got = await tracedRun({ spans: exporterTo(url) });
  const root = spans().find(({ name }) => name === "invoke_agent actor");
  expect(root?.links).toMatchObject([{ ...CALLER, traceState: "vendor=1" }]);
  expect(root?.parentSpanId ?? "").toBe("");
  expect(root?.traceId).not.toBe(CALLER.traceId);
  expect(new Set(spans().map(({ traceId }) => traceId)).size).toBe(1);
  const call = spans().find(({ name }) => name === "execute_tool act");
  const traceparent = `00-${root?.traceId}-${call?.spanId}-01`;
  expect(got).toEqual([
    { traceparent, tracestate: undefined },
    { traceparent, tracestate: undefined },
  ]);
});

test("a run whose agent says so is a part of the trace of its caller, over a death", async () => {
  const { url, spans } = await collector();
  const got = await tracedRun({ spans: exporterTo(url), callerTrace: "parent" });
  const root = spans().find(({ name }) => name === "invoke_agent actor");
  expect(root).toMatchObject({ traceId: CALLER.traceId, parentSpanId: CALLER.spanId, traceState: "vendor=1" });
  expect(new Set(spans().map(({ traceId }) => traceId))).toEqual(new Set([CALLER.traceId]));
  const call = spans().find(({ name }) => name === "execute_tool act");
  const headers = { traceparent: `00-${CALLER.traceId}-${call?.spanId}-01`, tracestate: "vendor=1" };
  expect(got).toEqual([headers, headers]);
});

test("a trace that its caller does not record is not exported, and its tool passes that on", async () => {
  const { url, spans } = await collector();
  const got = await tracedRun({ spans: exporterTo(url), callerTrace: "parent", flags: "00" });
  expect(spans()).toEqual([]);
  expect(got.map(({ traceparent }) => traceparent)).toEqual(
    got.map(() => expect.stringMatching(new RegExp(`^00-${CALLER.traceId}-[0-9a-f]{16}-00$`))),
  );
});

test("a run with a trace of its own is recorded, whether its caller's is or not", async () => {
  const { url, spans } = await collector();
  await tracedRun({ spans: exporterTo(url), flags: "00" });
  expect(spans().find(({ name }) => name === "invoke_agent actor")?.links).toMatchObject([CALLER]);
});

test("without an exporter a tool passes the trace of its caller on, or one that is not recorded", async () => {
  const joined = await tracedRun({ spans: undefined, callerTrace: "parent" });
  expect(joined[1]).toEqual({ traceparent: parentIn("01"), tracestate: "vendor=1" });
  const [linked] = await tracedRun({ spans: undefined });
  expect(linked?.traceparent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/);
  expect(linked?.traceparent).not.toContain(CALLER.traceId);
});

test("a child run is a part of the trace of its parent, below the call that made it", async () => {
  const { url, spans } = await collector();
  const exporter = exporterTo(url);
  const harness = tracedHarness(exporter);
  const agents = [{ ...boss({ children: 2 }), callerTrace: "parent" } as const, worker()];
  await startTraced(harness.world, agents[0] as Agent, {});
  await harness.runUntilIdle(agents);
  await exporter.flush();
  expect(new Set(spans().map(({ traceId }) => traceId))).toEqual(new Set([CALLER.traceId]));
  const children = spans().filter(({ name }) => name === "invoke_agent worker");
  const asking = spans().filter(({ name }) => name === "execute_tool ask");
  expect(asking).toHaveLength(2);
  expect(children).toHaveLength(2);
  expect(new Set(children.map(({ parentSpanId }) => parentSpanId))).toEqual(
    new Set(asking.map(({ spanId }) => spanId)),
  );
  expect(new Set(spans().map(({ spanId }) => spanId)).size).toBe(spans().length);
});
