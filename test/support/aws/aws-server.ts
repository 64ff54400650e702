/** A server that responds like AWS services, with the responses that a test scripted. */
import { vi } from "vitest";
import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";

export type Answer =
  | { readonly kind: "json"; readonly status: number; readonly body: object }
  | { readonly kind: "xml"; readonly status: number; readonly body: string; readonly headers?: Record<string, string> }
  /** The connection closes before a response. */
  | { readonly kind: "drop" }
  /** There is never a response. */
  | { readonly kind: "hang" }
  /** The header announces more bytes than arrive. */
  | { readonly kind: "breakOff" };

interface Asked {
  /** `DynamoDB_20120810.UpdateItem`, or method and path. */
  readonly what: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

export interface AwsServer {
  readonly endpoint: string;
  /** Every request so far. */
  readonly asked: readonly Asked[];
  /** The coming responses; the last one repeats forever. */
  answer(...answers: readonly Answer[]): void;
  /** Responds to each coming request by what it asks for. */
  answerWith(respond: (asked: Asked) => Answer): void;
  close(): Promise<void>;
}

export const ok = (body: object = {}): Answer => ({ kind: "json", status: 200, body });

/** An error in the JSON protocols of DynamoDB and Step Functions. */
export const refusal = (name: string, more: object = {}, status = 400): Answer => ({
  ...{ kind: "json", status },
  body: { __type: `com.amazonaws#${name}`, message: `${name} it is`, ...more },
});

export async function startAwsServer(): Promise<AwsServer> {
  const asked: Asked[] = [];
  let answers: readonly Answer[] = [];
  let respond: ((asked: Asked) => Answer) | null = null;
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const what = String(request.headers["x-amz-target"] ?? `${request.method} ${request.url}`);
    const seen = { what, headers: request.headers, body: Buffer.concat(chunks).toString() };
    asked.push(seen);
    if (respond !== null) return give(respond(seen), response);
    const [answer = ok(), ...rest] = answers;
    if (rest.length > 0) answers = rest;
    give(answer, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    answer: (...to) => {
      asked.length = 0;
      answers = to;
      respond = null;
    },
    answerWith: (by) => {
      asked.length = 0;
      respond = by;
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Bytes are base64 in AWS's JSON. */
const asBase64 = (_: string, value: unknown): unknown =>
  value instanceof Uint8Array ? Buffer.from(value).toString("base64") : value;

function give(answer: Answer, response: ServerResponse): void {
  if (answer.kind === "hang") return;
  if (answer.kind === "drop") {
    response.socket?.destroy();
    return;
  }
  if (answer.kind === "breakOff") {
    response.writeHead(200, { "content-length": "100" });
    response.write("half", () => response.socket?.destroy());
    return;
  }
  const type = answer.kind === "json" ? "application/x-amz-json-1.0" : "application/xml";
  const headers = answer.kind === "xml" ? answer.headers : {};
  response.writeHead(answer.status, { "content-type": type, ...headers });
  response.end(answer.kind === "json" ? JSON.stringify(answer.body, asBase64) : answer.body);
}

/** Sets environment variables so that AWS clients use this server; `vi.unstubAllEnvs` reverts them. */
export function stubAwsEnvironment(): void {
  vi.stubEnv("AWS_REGION", "eu-west-1");
  vi.stubEnv("AWS_ACCESS_KEY_ID", "AKIAEXAMPLE");
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", "example");
  vi.stubEnv("AWS_EC2_METADATA_DISABLED", "true");
}
