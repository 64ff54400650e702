/**
 * A server that speaks the job APIs of OpenAI and Anthropic: background responses, files and batches, message batches. It
 * keeps what it is sent. A test says when a job is over, and which answers get lost.
 */
import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { vi } from "vitest";

type Json = Readonly<Record<string, unknown>>;

/** How a job ended: with this body of a response, or as its provider says that it did not. */
type CallOver =
  | { readonly kind: "done"; readonly body: Json }
  | { readonly kind: "refused"; readonly message: string }
  | { readonly kind: "expired" }
  /** A batch of OpenAI that fails as a whole, with these errors and without a file. */
  | { readonly kind: "failed"; readonly errors: readonly Json[] };

interface StoredCall {
  readonly id: string;
  readonly sent: Json;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly createdAt: number;
  over: CallOver | null;
  isCancelled: boolean;
}

export interface BatchServer extends AsyncDisposable {
  readonly detached: readonly StoredCall[];
  /** The lines of the files that were uploaded. */
  readonly files: ReadonlyMap<string, string>;
  /** Every request, as `METHOD path`. */
  readonly asked: readonly string[];
  finish(index: number, over: CallOver): void;
  /** What happens to the next requests that start a job: the answer of one that is accepted is lost, or it is refused. */
  fail(next: "lost" | { readonly status: number; readonly message: string } | null): void;
  /** Every request from now on is refused. */
  refuse(all: { readonly status: number; readonly message: string }): void;
  forget(): void;
}

class Calls {
  readonly all: StoredCall[] = [];
  readonly files = new Map<string, string>();
  readonly asked: string[] = [];
  next: Parameters<BatchServer["fail"]>[0] = null;
  refusal: Parameters<BatchServer["refuse"]>[0] | null = null;

  find(id: string): StoredCall | undefined {
    return this.all.find((call) => call.id === id);
  }

  add(id: string, sent: Json, headers: StoredCall["headers"]): StoredCall {
    const call = { id, sent, headers, createdAt: Date.now(), over: null, isCancelled: false };
    this.all.push(call);
    return call;
  }
}

type Reply = { readonly status: number; readonly body: string } | "cut";
const ok = (body: unknown): Reply => ({ status: 200, body: typeof body === "string" ? body : JSON.stringify(body) });
const refused = (status: number, message: string): Reply => ({ status, body: JSON.stringify({ error: { message } }) });

export async function startBatchServer(): Promise<BatchServer> {
  const detached = new Calls();
  const server = createServer((request, response) => void serve(detached, request, response));
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address() as AddressInfo;
  const real = globalThis.fetch;
  vi.stubGlobal("fetch", (input: string | URL, init?: RequestInit) => {
    const { pathname, search } = new URL(input);
    return real(`http://127.0.0.1:${port}${pathname}${search}`, init);
  });
  return {
    detached: detached.all,
    asked: detached.asked,
    files: detached.files,
    finish: (index, over) => {
      const call = detached.all[index];
      if (call !== undefined) call.over = over;
    },
    fail: (next) => void (detached.next = next),
    refuse: (all) => void (detached.refusal = all),
    forget: () => void detached.all.splice(0),
    async [Symbol.asyncDispose]() {
      vi.unstubAllGlobals();
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

async function serve(detached: Calls, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await text(request);
  const path = (request.url ?? "").replace(/^\/v1/, "");
  detached.asked.push(`${request.method} ${path}`);
  const reply = replyTo(detached, { path, isPost: request.method === "POST", body, headers: request.headers });
  if (reply === "cut") response.destroy();
  else response.writeHead(reply.status, { "content-type": "application/json" }).end(reply.body);
}

interface Asked {
  readonly path: string;
  readonly isPost: boolean;
  readonly body: string;
  readonly headers: StoredCall["headers"];
}

function replyTo(detached: Calls, asked: Asked): Reply {
  const { path, isPost, body, headers } = asked;
  if (detached.refusal !== null) return refused(detached.refusal.status, detached.refusal.message);
  if (isPost && path === "/files") {
    const id = `file-${detached.files.size + 1}`;
    detached.files.set(id, /\{"custom_id".*\}/.exec(body)?.[0] ?? "");
    return ok({ id });
  }
  const starts = isPost && ["/responses", "/batches", "/messages/batches"].includes(path);
  if (starts) {
    const { next } = detached;
    detached.next = null;
    if (next !== null && next !== "lost") return refused(next.status, next.message);
    const call = detached.add(
      `${path.slice(1).replace("/", "-")}-${detached.all.length + 1}`,
      JSON.parse(body) as Json,
      headers,
    );
    return next === "lost" ? "cut" : ok(stateOf(path, call));
  }
  const list = /^\/(messages\/)?batches\?/.exec(path);
  if (list !== null) {
    const listed = detached.all.toReversed().map((call) => stateOf(`/${list[1] ?? ""}batches`, call));
    return ok({ data: listed, has_more: false, last_id: null });
  }
  return lookAt(detached, path);
}

function lookAt(detached: Calls, path: string): Reply {
  const content = /^\/files\/out-([^/]+)\/content$/.exec(path)?.[1];
  if (content !== undefined) return ok(openaiLine(detached.find(content)));
  const [, kind = "", id = "", action] =
    /^\/(responses|batches|messages\/batches)\/([^/]+)(?:\/(\w+))?$/.exec(path) ?? [];
  const call = detached.find(id);
  if (call === undefined) return refused(404, "no such job");
  if (action === "cancel") {
    call.isCancelled = true;
    return ok(stateOf(`/${kind}`, call));
  }
  return ok(action === "results" ? anthropicLine(call) : stateOf(`/${kind}`, call));
}

function stateOf(path: string, call: StoredCall): Json {
  const { id, over, sent, createdAt } = call;
  if (path === "/responses") {
    if (over?.kind === "done") return { ...over.body, id, status: "completed" };
    const error = over?.kind === "refused" ? { code: "invalid_prompt", message: over.message } : null;
    return { id, status: over === null ? "queued" : "failed", error };
  }
  if (path === "/batches") {
    const hasFile = over?.kind === "done" || over?.kind === "refused";
    const status = over === null ? "in_progress" : hasFile ? "completed" : over.kind;
    const errors = over?.kind === "failed" ? { object: "list", data: over.errors } : null;
    const { metadata } = sent;
    return {
      id,
      status,
      metadata,
      created_at: createdAt / 1_000,
      output_file_id: hasFile ? `out-${id}` : null,
      error_file_id: null,
      errors,
    };
  }
  return {
    ...{
      id,
      processing_status: over === null ? "in_progress" : "ended",
      created_at: new Date(createdAt).toISOString(),
    },
    request_counts: { processing: over === null ? 1 : 0, succeeded: over === null ? 0 : 1 },
  };
}

function openaiLine(call: StoredCall | undefined): string {
  const over = call?.over;
  const response =
    over?.kind === "done"
      ? { status_code: 200, body: over.body }
      : { status_code: 400, body: { error: { message: over?.kind === "refused" ? over.message : "" } } };
  return `${JSON.stringify({ custom_id: "k", response, error: null })}\n`;
}

function anthropicLine({ sent, over }: StoredCall): string {
  const [{ custom_id: key } = { custom_id: "" }] = sent["requests"] as readonly { readonly custom_id: string }[];
  const result =
    over?.kind === "done"
      ? { type: "succeeded", message: over.body }
      : over?.kind === "refused"
        ? { type: "errored", error: { type: "error", error: { type: "invalid_request_error", message: over.message } } }
        : { type: "expired" };
  return `${JSON.stringify({ custom_id: key, result })}\n`;
}
