/** The HTTP API over a world in memory. Every response is validated against the OpenAPI document. */
import { expect } from "vitest";
import * as z from "zod";
import { type Api, type ApiOptions, createApi } from "../../../src/api/app.ts";
import { type OperationRows, routesOf } from "../../../src/api/routes.ts";
import { ROWS } from "../../../src/operations/table.ts";
import type { Caller } from "../../../src/api/access/caller.ts";
import { SCOPES } from "../../../src/operations/operation.ts";
import type { Agent } from "../../../src/ports/agent.ts";
import { AgentInvalid } from "../../../src/ports/agent-invalid.ts";
import type { TelemetryRecord, World } from "../../../src/ports/world.ts";
import { problemDocument } from "../../../src/api/schemas.ts";
import { type ScriptedAgentOptions, type Harness, scriptedAgent, createHarness } from "./harness.ts";

/** The caller as a server identifies it. Without scopes it has every one. */
export interface RequestContext {
  readonly caller?: (Omit<Caller, "scopes"> & Partial<Pick<Caller, "scopes">>) | null;
  readonly base?: string;
}

export const ANN: Caller = { tenant: "local", actor: "ann", scopes: SCOPES };

export interface ApiHarness extends Harness {
  readonly agent: Agent;
  readonly records: readonly TelemetryRecord[];
  /** The agent names that were looked up. */
  readonly named: readonly string[];
  /** The responses so far, as `POST /runs 202`. */
  readonly seen: ReadonlySet<string>;
  readonly agentOf: (name: string) => Promise<Agent | null>;
  readonly ask: (request: ApiRequest, from?: RequestContext) => Promise<ApiResponse>;
}

export interface ApiRequest {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly json?: unknown;
  /** A body that is sent unchanged. */
  readonly body?: string | Uint8Array<ArrayBuffer>;
  /** A body that is sent as a stream. */
  readonly stream?: ReadableStream<Uint8Array>;
}

export interface ApiResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // Tests read it untyped; its shape was validated against the document.
  readonly body: Readonly<Record<string, unknown>>;
}

const trip = z.strictObject({ to: z.string(), nights: z.array(z.int().positive()) });

/** An API whose world adds the ID of each row that is read to `read`. */
export function createReadNotingApi(): { readonly harness: ApiHarness; readonly read: string[] } {
  const read: string[] = [];
  const harness = createApiHarness({}, (world) => ({
    ...world,
    table: {
      ...world.table,
      read: (run, now) => {
        read.push(run);
        return world.table.read(run, now);
      },
    },
  }));
  return { harness, read };
}

interface HarnessParts extends Pick<ApiOptions<RequestContext>, "exportBytesMax" | "limits" | "hasChats" | "agents"> {
  /** Further agents whose code the API has. */
  readonly coded?: readonly Agent[];
}

/** `rows`: the operations that it has. `part` is the agent named `actor`; `traveller` and `omnivore` take other tasks; `broken` cannot be loaded. */
export function createApiHarness(
  part: ScriptedAgentOptions = {},
  change: (world: World) => World = (world) => world,
  rows: OperationRows = ROWS,
  { coded = [], ...more }: HarnessParts = {},
): ApiHarness {
  const harness = createHarness();
  const agent = scriptedAgent(part);
  const agents = [
    agent,
    { ...agent, name: "traveller", task: trip } as unknown as Agent,
    { ...agent, name: "omnivore", task: z.unknown() },
    ...coded,
  ];
  const records: TelemetryRecord[] = [];
  const telemetry = { record: (record: TelemetryRecord) => void records.push(record) };
  const named: string[] = [];
  const agentOf = async (name: string): Promise<Agent | null> => {
    named.push(name);
    if (name === "broken") throw new AgentInvalid("SECRET agents/broken.ts does not parse");
    return agents.find((each) => each.name === name) ?? null;
  };
  const api: Api<RequestContext> = createApi<RequestContext>({
    world: change({ ...harness.world, telemetry }),
    agentOf,
    rows,
    ...more,
    callerOf: ({ caller = ANN }) => (caller === null ? null : { scopes: SCOPES, ...caller }),
    baseOf: ({ base = "" }) => base,
  });
  const seen = new Set<string>();
  const ask = async (request: ApiRequest, from: RequestContext = {}): Promise<ApiResponse> => {
    const answer = await api.fetch(requestOf(request), from);
    const answered = await read(answer);
    seen.add(held(request, { answered, rows }));
    return answered;
  };
  return { ...harness, agent, records, named, seen, agentOf, ask };
}

function requestOf(request: ApiRequest): Request {
  const { path, headers = {}, json, body, stream } = request;
  const sent = json === undefined ? (body ?? stream) : JSON.stringify(json);
  const type = json === undefined ? {} : { "content-type": "application/json" };
  const content = sent === undefined ? {} : { body: sent };
  const init = { method: methodOf(request), headers: { ...type, ...headers }, ...content, duplex: "half" as const };
  return new Request(`http://cairn.test${path}`, init);
}

const methodOf = ({ method, json, body }: ApiRequest): string =>
  method ?? (json === undefined && body === undefined ? "GET" : "POST");

async function read(answer: Response): Promise<ApiResponse> {
  const { status, headers } = answer;
  const text = await answer.text();
  const isJson = /[/+]json$/.test(headers.get("content-type") ?? "");
  return { status, headers, text, body: isJson && text !== "" ? (JSON.parse(text) as ApiResponse["body"]) : {} };
}

/**
 * Fails unless the document allows this response of the operation and its schema contains every field of the response.
 * If there is no such operation, any problem document is allowed.
 */
function held(
  request: ApiRequest,
  { answered, rows }: { readonly answered: ApiResponse; readonly rows: OperationRows },
): string {
  const { status, headers, text, body } = answered;
  expect(headers.get("x-content-type-options")).toBe("nosniff");
  const type = headers.get("content-type");
  const method = methodOf(request);
  const looked = method === "HEAD" ? "GET" : method;
  const route = routesOf(rows).find((each) => each.method === looked.toLowerCase() && matches(each.path, request.path));
  if (status >= 400 && method !== "HEAD") {
    expect(type).toBe("application/problem+json");
    expect(body).toMatchObject({ status, code: expect.any(String), detail: expect.any(String) });
    expect(problemDocument.strict().parse(body)).toEqual(body);
  }
  if (route === undefined) {
    expect(status).toBeGreaterThanOrEqual(400);
    return `${method} ${status}`;
  }
  const name = `${method} ${route.path} ${status}`;
  const documented = (route.responses as Readonly<Record<string, Documented>>)[status];
  expect(documented, `${name} is not documented: ${text}`).toBeDefined();
  const schema = documented?.content?.["application/json"]?.schema;
  const isDocument = type === "application/json" || documented?.content?.["application/jsonl"] === undefined;
  if (schema !== undefined && isDocument && method !== "HEAD") expect(schema.parse(body)).toEqual(body);
  if (documented?.content === undefined) expect(text).toBe("");
  return name;
}

interface Documented {
  readonly content?: Readonly<Record<string, { readonly schema: { readonly parse: (value: unknown) => unknown } }>>;
}

const matches = (template: string, path: string): boolean =>
  new RegExp(`^${template.replaceAll(/\{\w+\}/g, "[^/]+")}$`).test(path.split(/[?#]/)[0] ?? "");
