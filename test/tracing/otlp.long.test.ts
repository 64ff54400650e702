/** Traces over OTLP/HTTP, as a collector receives them: one trace per run over its invocations, also after a death. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import { otlpSpans } from "../../src/adapters/otlp/exporter.ts";
import type { World } from "../../src/ports/world.ts";
import { beginRun, drive, runnerOf } from "../support/harness/drive.ts";
import { createChainHarness, rowOf, scriptedAgent } from "../support/harness/harness.ts";
import { dieInTool, runUntilIdle } from "../support/harness/chain-steps.ts";

interface Received {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly status: { readonly code: number };
  readonly attributes: readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[];
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
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
  await runUntilIdle(harness, agent);
  await spans?.flush();
  return rowOf(harness, run);
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
