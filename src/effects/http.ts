/**
 * An HTTP request as the effect of a tool. Its class follows from what the service can do: `keyed` if it honours
 * idempotency keys, `probed` if a lookup can find the effect, otherwise `unsafe`. So no class is claimed that the
 * service does not earn.
 */
import type * as z from "zod";
import type { Effect } from "../core/calls/effects.ts";
import type { OfCall, Probe, ProbeContext, Tool, ToolContext, Undo } from "../ports/agent.ts";
import { isErrorNamed, sentenceOf } from "../codec/value.ts";
import { OutcomeUnknown } from "../sdk/outcome.ts";
import { tool } from "../sdk/define.ts";
import {
  type HttpAnswer,
  type HttpRequest,
  type Verdict,
  reasonOf,
  sendHttp,
  throwFor,
  verdictOf,
} from "./http-answer.ts";
import { attemptUnderKey } from "./later-attempt.ts";
import type { RequestContext, ToolSettings, UndoRequestContext } from "./settings.ts";

export interface HttpEffectOptions<Schema extends z.ZodType> extends HttpTarget {
  /** The request, the same for every attempt of one call: a service may compare it with the first one of its key. */
  readonly request: (context: RequestContext<z.output<Schema>>) => HttpRequest | Promise<HttpRequest>;
  /** The GET request that finds the effect of a call by its key. It makes the tool `probed`. */
  readonly lookup?: (context: RequestContext<z.output<Schema>>) => HttpRequest | Promise<HttpRequest>;
  /** What the answer of the lookup means. Default: 2xx happened with its body as result, 404 and 410 absent. */
  readonly found?: (answer: HttpAnswer) => Probe;
  /** The result of the call. Default: the body of the answer. Of an answer of over 8 MB the result is a note. */
  readonly result?: (answer: HttpAnswer) => unknown;
  readonly undo?: HttpUndo<z.output<Schema>>;
}

interface HttpTarget {
  /** The service makes one effect of all requests with the same key. Default: false. */
  readonly honoursKeys?: boolean;
  /** The header with the idempotency key. Default: `Idempotency-Key`. */
  readonly keyHeader?: string;
  /** The header with the epoch, for a service that refuses an epoch below the highest one it has seen. Default: none. */
  readonly epochHeader?: string;
  /** The request of a call, and of its undo, carries the headers of its trace. Default: false. */
  readonly sendsTrace?: boolean;
  /** What an answer says about the effect. Undefined: what its status says. It is not asked about one of over 8 MB. */
  readonly judge?: (answer: HttpAnswer) => Verdict | undefined;
}

export interface HttpUndo<Input> {
  /** The request that undoes the call `of`; null if there is nothing to undo. 404 and 410 count as done. */
  readonly request: (context: UndoRequestContext<Input>) => HttpRequest | null | Promise<HttpRequest | null>;
  /** The class of the undo itself. Default: `keyed` if the service honours keys, otherwise `unsafe`. */
  readonly effect?: Exclude<Effect, "none" | "probed">;
}

/**
 * A tool whose calls are HTTP requests.
 *
 * @example
 *   const order = httpEffect({
 *     input: z.object({ book: z.string() }),
 *     honoursKeys: true,
 *     request: ({ input }) => ({ url: "https://shop.example/orders", body: input }),
 *     undo: { request: ({ of }) => ({ url: `https://shop.example/orders/${of.key}`, method: "DELETE" }) },
 *   });
 */
export function httpEffect<Schema extends z.ZodType>(
  options: ToolSettings<Schema> & HttpEffectOptions<Schema>,
): Tool<Schema> {
  const { request, lookup, found, result = ({ body }) => body, undo, ...rest } = options;
  const { honoursKeys = false, keyHeader, epochHeader, sendsTrace = false, judge, ...settings } = rest;
  const target = {
    honoursKeys,
    sendsTrace,
    ...(keyHeader && { keyHeader }),
    ...(epochHeader && { epochHeader }),
    // Without its body the answer could be misjudged.
    ...(judge && { judge: (answer: HttpAnswer) => (answer.isTooLarge ? "unknown" : judge(answer)) }),
  };
  return tool({
    ...settings,
    effect: lookup ? "probed" : honoursKeys ? "keyed" : "unsafe",
    run: (context) => {
      const ask = async () => {
        const answer = await act(target, context, await request(context));
        // The effect is done, so an answer that cannot be read must not make it a failure.
        return answer.isTooLarge ? reasonOf(answer) : readAnswer("result", answer, result);
      };
      // Without keys only the lookup keeps a call from being repeated, so what it says is taken as the truth.
      return lookup && honoursKeys ? attemptUnderKey(context.attempt, ask) : ask();
    },
    ...(lookup && {
      probe: async (context: ProbeContext<z.output<Schema>>) =>
        probed(await sendHttp({ method: "GET", ...(await lookup(context)), signal: context.signal }), found),
    }),
    ...(undo && { undo: undoBy(target, undo) }),
  });
}

function undoBy<Input>(target: HttpTarget, { request, effect }: HttpUndo<Input>): Undo<Input> {
  const isGone = ({ status }: HttpAnswer): boolean => status === 404 || status === 410;
  const judge = (answer: HttpAnswer): Verdict | undefined => (isGone(answer) ? "done" : target.judge?.(answer));
  return {
    effect: effect ?? (target.honoursKeys ? "keyed" : "unsafe"),
    run: async (context: ToolContext<Input> & OfCall) => {
      const asked = await request(context);
      if (asked !== null) await act({ ...target, judge }, context, asked);
      return null;
    },
  };
}

async function act(
  { honoursKeys = false, keyHeader = "Idempotency-Key", epochHeader, sendsTrace = false, judge }: HttpTarget,
  { key, epoch, signal, traceparent, tracestate }: Omit<ToolContext<unknown>, "input">,
  request: HttpRequest,
): Promise<HttpAnswer> {
  const trace = { traceparent, ...(tracestate !== undefined && { tracestate }) };
  const headers = {
    ...(sendsTrace && trace),
    ...request.headers,
    [keyHeader]: key,
    ...(epochHeader && { [epochHeader]: String(epoch) }),
  };
  const answer = await sendHttp({ ...request, headers, signal });
  const judged = judge && (await readAnswer("judge", answer, judge));
  const verdict = judged ?? verdictOf(answer.status, { honoursKeys });
  return verdict === "done" ? answer : throwFor(verdict, answer);
}

/**
 * What the user's function says of an answer. The request has left, so an error of that function leaves the outcome
 * unknown: a failure would let the model repeat the effect under another key.
 */
async function readAnswer<T>(name: string, answer: HttpAnswer, read: (answer: HttpAnswer) => T): Promise<Awaited<T>> {
  try {
    return await read(answer);
  } catch (error) {
    if (isErrorNamed(error, "Rejected") || isErrorNamed(error, "OutcomeUnknown")) throw error;
    throw new OutcomeUnknown(`${name} failed: ${sentenceOf(error)}; ${reasonOf(answer)}`, { cause: error });
  }
}

/** What the answer of a lookup means. A function of the user would misread an answer without its body. */
function probed(answer: HttpAnswer, found: ((answer: HttpAnswer) => Probe) | undefined): Probe {
  if (found !== undefined) return answer.isTooLarge ? { kind: "unknown" } : found(answer);
  const { status, body, isTooLarge } = answer;
  if (status >= 200 && status < 300) return { kind: "happened", result: isTooLarge ? reasonOf(answer) : body };
  return status === 404 || status === 410 ? { kind: "absent" } : { kind: "unknown" };
}
