/**
 * The part of Lambda's runtime that streams responses: `awslambda.streamifyResponse` marks a handler, and
 * `HttpResponseStream.from` puts status and headers before the body, in the format that API Gateway reads.
 */
import { PassThrough, type Writable } from "node:stream";

const MARK = Symbol.for("aws.lambda.runtime.handler.streaming");

/** What separates status and headers from the body. */
const SEPARATOR = Buffer.alloc(8);

/** The global of the runtime. */
export const LAMBDA_RUNTIME = {
  streamifyResponse: <Event>(handler: LambdaStreamingHandler<Event>): LambdaStreamingHandler<Event> =>
    Object.assign(handler, { [MARK]: "response" }),
  HttpResponseStream: {
    from: (response: Writable, metadata: object): Writable => {
      response.write(JSON.stringify(metadata));
      response.write(SEPARATOR);
      return response;
    },
  },
};

export interface Streamed {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

/** Invokes a handler of this runtime. `response` resolves when the handler has ended its stream. */
export function invoke<Event>(
  handler: LambdaStreamingHandler<Event>,
  of: { readonly event: Event; readonly leftMs: () => number },
): { readonly stream: PassThrough; readonly ended: Promise<void>; readonly response: () => Promise<Streamed> } {
  if ((handler as { readonly [MARK]?: unknown })[MARK] !== "response") throw new Error("the handler does not stream");
  const stream = new PassThrough({ highWaterMark: 1_024 * 1_024 });
  const ended = handler(of.event, stream, { getRemainingTimeInMillis: of.leftMs });
  return {
    ...{ stream, ended },
    response: async () => {
      await ended;
      return streamedIn(Buffer.concat(await stream.toArray()));
    },
  };
}

function streamedIn(bytes: Buffer): Streamed {
  const at = bytes.indexOf(SEPARATOR);
  if (at === -1) throw new Error(`no status precedes the body: ${bytes.toString("utf8").slice(0, 200)}`);
  const { statusCode, headers } = JSON.parse(bytes.subarray(0, at).toString("utf8")) as {
    readonly statusCode: number;
    readonly headers: Streamed["headers"];
  };
  return { status: statusCode, headers, text: bytes.subarray(at + SEPARATOR.length).toString("utf8") };
}
