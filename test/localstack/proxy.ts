/**
 * An HTTP proxy in front of the emulator that injects faults of networks and services into chosen requests: responses
 * that are lost, requests that never arrive or arrive after their timeout, service failures that were applied and ones
 * that were not, throttling, conflicts and refusals.
 */
import { type IncomingMessage, type ServerResponse, createServer, request } from "node:http";
import type { AddressInfo } from "node:net";

export const FAULTS = [
  "answer lost",
  "request lost",
  "failed but applied",
  "failed",
  "throttled",
  "conflict",
  "denied",
  "late",
] as const;
/** `silent`: the connection stays open without an answer until the fault ends. */
export type Fault = (typeof FAULTS)[number] | "silent";

/** The name of a request: the operation of DynamoDB or Step Functions, or the method of S3. */
export type Matches = (name: string, index: number) => boolean;

interface Request {
  readonly name: string;
  readonly isObject: boolean;
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: Buffer;
}

interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly body: Buffer;
}

/** How many other requests pass before a late request. */
const LATE_BY = 2;

export class FaultProxy {
  /** The names of all requests since the last `meet`. */
  readonly seen: string[] = [];
  readonly #target: URL;
  readonly #server = createServer((from, to) => void this.#serve(from, to));
  #matches: Matches = () => false;
  #fault: Fault = "failed";
  #met = 0;
  readonly #late: { others: number; readonly arrive: () => void }[] = [];
  readonly #silent: (() => void)[] = [];
  readonly #underWay = new Set<Promise<unknown>>();

  constructor(target: string) {
    this.#target = new URL(target);
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** How many requests met the fault. */
  get met(): number {
    return this.#met;
  }

  async open(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return this;
  }

  /** From now on each matching request meets that fault, at most `times` times. */
  meet(fault: Fault, matches: Matches, times = 1): void {
    this.seen.length = 0;
    this.#met = 0;
    this.#fault = fault;
    this.#matches = (name, index) => this.#met < times && matches(name, index);
  }

  /** Ends all faults and waits until every late request has arrived. */
  async calm(): Promise<void> {
    this.#matches = () => false;
    for (const { arrive } of this.#late.splice(0)) arrive();
    for (const hangUp of this.#silent.splice(0)) hangUp();
    await Promise.all(this.#underWay);
  }

  async close(): Promise<void> {
    await this.calm();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(from: IncomingMessage, to: ServerResponse): Promise<void> {
    const asked = await received(from);
    this.seen.push(asked.name);
    const isMet = this.#matches(asked.name, this.seen.length - 1);
    if (isMet) this.#met += 1;
    const answer = isMet ? await this.#faulty(asked, this.#fault) : await this.#forwarded(asked);
    if (answer === null) {
      to.socket?.destroy();
      return;
    }
    to.writeHead(answer.status, answer.headers);
    to.end(answer.body);
    if (!isMet) this.#onePassed();
  }

  /** Null: the connection is lost. */
  async #faulty(asked: Request, fault: Fault): Promise<Answer | null> {
    switch (fault) {
      case "answer lost":
        await this.#forwarded(asked);
        return null;
      case "request lost":
        return null;
      case "failed but applied":
        await this.#forwarded(asked);
        return refusal(asked, { status: 500, json: "InternalServerError", xml: "InternalError" });
      case "failed":
        return refusal(asked, { status: 500, json: "InternalServerError", xml: "InternalError" });
      case "throttled":
        return refusal(asked, { status: asked.isObject ? 503 : 400, json: "ThrottlingException", xml: "SlowDown" });
      case "conflict":
        return conflict(asked);
      case "denied":
        return refusal(asked, {
          status: asked.isObject ? 403 : 400,
          json: "AccessDeniedException",
          xml: "AccessDenied",
        });
      case "silent":
        await new Promise<void>((hangUp) => this.#silent.push(hangUp));
        return null;
      case "late":
        await new Promise<void>((resolve) => this.#late.push({ others: LATE_BY, arrive: resolve }));
        await this.#forwarded(asked);
        return null;
    }
  }

  #onePassed(): void {
    for (const late of [...this.#late]) {
      late.others -= 1;
      if (late.others > 0) continue;
      this.#late.splice(this.#late.indexOf(late), 1);
      late.arrive();
    }
  }

  #forwarded({ method, path, headers, body }: Request): Promise<Answer> {
    const { hostname, port, host } = this.#target;
    const forwarded = new Promise<Answer>((resolve, reject) => {
      const onward = request({ hostname, port, method, path, headers: { ...headers, host } }, (incoming) => {
        whole(incoming).then((bytes) => {
          const { statusCode = 502, headers: given } = incoming;
          resolve({ status: statusCode, headers: given, body: bytes });
        }, reject);
      });
      onward.on("error", reject);
      onward.end(body);
    });
    this.#underWay.add(forwarded);
    return forwarded.finally(() => this.#underWay.delete(forwarded));
  }
}

async function received(from: IncomingMessage): Promise<Request> {
  const { method = "GET", url: path = "/" } = from;
  const { expect: _, connection: __, ...headers } = from.headers;
  const target = headers["x-amz-target"];
  const operation = typeof target === "string" ? target.slice(target.indexOf(".") + 1) : null;
  const name = operation ?? `${method} object`;
  return { name, isObject: operation === null, method, path, headers, body: await whole(from) };
}

async function whole(from: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of from) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** Each service reports conflicting writes in its own way. */
function conflict(asked: Request): Answer {
  if (asked.name !== "TransactWriteItems") {
    const status = asked.isObject ? 409 : 400;
    return refusal(asked, { status, json: "TransactionConflictException", xml: "ConditionalRequestConflict" });
  }
  const CancellationReasons = [{ Code: "None" }, { Code: "TransactionConflict" }, { Code: "None" }];
  const body = { __type: "com.amazonaws#TransactionCanceledException", message: "conflict", CancellationReasons };
  return json(400, body);
}

function refusal(asked: Request, of: { readonly status: number; readonly json: string; readonly xml: string }): Answer {
  if (!asked.isObject) return json(of.status, { __type: `com.amazonaws#${of.json}`, message: "as the test wants it" });
  const body = Buffer.from(`<Error><Code>${of.xml}</Code><Message>as the test wants it</Message></Error>`);
  return { status: of.status, headers: { "content-type": "application/xml" }, body };
}

const json = (status: number, body: object): Answer => ({
  ...{ status, headers: { "content-type": "application/x-amz-json-1.0" } },
  body: Buffer.from(JSON.stringify(body)),
});
