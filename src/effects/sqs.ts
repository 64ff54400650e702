/**
 * A message to an SQS queue as the effect of a tool.
 *
 * A FIFO queue drops a second message with the same deduplication ID, which is the key of the call, for five minutes. So
 * a call may be repeated within that time, and its outcome is unknown after that: the class is `probed`, with the time of
 * the first attempt as before-image.
 *
 * A standard queue deduplicates nothing and cannot be asked: the class is `unsafe`, unless the user has a probe, such
 * as a table of the consumer.
 */
import type * as z from "zod";
import type { Json } from "../core/json.ts";
import type { Probe, ProbeContext, Tool, ToolContext } from "../ports/agent.ts";
import { tool } from "../sdk/define.ts";
import { type AwsClientLike, awsFailure, requireSingleAttempt } from "./aws-errors.ts";
import { attemptUnderKey } from "./later-attempt.ts";
import { type RequestContext, type ToolSettings, requireMethods } from "./settings.ts";

interface SendMessage {
  readonly QueueUrl: string;
  readonly MessageBody: string;
  readonly MessageGroupId?: string;
  readonly MessageDeduplicationId?: string;
  readonly MessageAttributes: Record<string, Record<"DataType" | "StringValue", string>>;
}

/** The client `SQS` of `@aws-sdk/client-sqs`. */
export interface SqsLike extends AwsClientLike {
  sendMessage(
    input: SendMessage,
    options: { readonly abortSignal: AbortSignal },
  ): Promise<{ readonly MessageId?: string | undefined; readonly SequenceNumber?: string | undefined }>;
}

export interface SqsMessage {
  /** A text goes as it is, any other value as JSON. */
  readonly body: Json;
  /** The message group; a FIFO queue needs one. */
  readonly group?: string;
  /** Text attributes beside `cairnKey`, `cairnRun` and `cairnEpoch`, by which a consumer drops duplicates and stale senders. */
  readonly attributes?: Readonly<Record<string, string>>;
}

export interface SqsSendOptions<Schema extends z.ZodType> {
  /** For a standard queue it has `maxAttempts: 1`. */
  readonly client: SqsLike;
  /** The URL of a FIFO queue ends with `.fifo`. */
  readonly queueUrl: string;
  readonly message: (context: Omit<RequestContext<z.output<Schema>>, "secrets">) => SqsMessage | Promise<SqsMessage>;
  /** Whether the message of that key was sent, for example by a table of its consumer. */
  readonly probe?: (context: ProbeContext<z.output<Schema>>) => Probe | Promise<Probe>;
  /** Default: `Date.now`. */
  readonly now?: () => number;
}

/** SQS deduplicates for five minutes. Two of them are for the way of the repeated message and for clocks that differ. */
const REPEATABLE_MS = 3 * 60_000;

/** The queue drops a request that lands late, so a probe need not wait for it. */
const SETTLE_MS = 1_000;

/**
 * A tool whose calls send messages.
 *
 * @example
 *   const announce = sqsSend({
 *     input: z.object({ order: z.string() }),
 *     client: new SQS({}),
 *     queueUrl: "https://sqs.eu-central-1.amazonaws.com/123456789012/orders.fifo",
 *     message: ({ input }) => ({ body: input, group: input.order }),
 *   });
 */
export function sqsSend<Schema extends z.ZodType>(
  options: ToolSettings<Schema> & SqsSendOptions<Schema>,
): Tool<Schema> {
  const { client, queueUrl, message, probe, now = Date.now, ...settings } = options;
  const next = "write client: new SQS({ ... }) of @aws-sdk/client-sqs; SQSClient has only the method send";
  requireMethods(client, ["sendMessage"], next);
  const isFifo = queueUrl.endsWith(".fifo");
  const fifo = {
    effect: "probed" as const,
    settleMs: SETTLE_MS,
    before: () => ({ sentAt: now() }),
    probe: (context: ProbeContext<z.output<Schema>>): Probe | Promise<Probe> => {
      const { sentAt } = context.before as { readonly sentAt: number };
      if (now() - sentAt < REPEATABLE_MS) return { kind: "absent" };
      return probe === undefined ? { kind: "unknown" } : probe(context);
    },
  };
  const standard = probe === undefined ? { effect: "unsafe" as const } : { effect: "probed" as const, probe };
  return tool({
    ...(isFifo ? fifo : standard),
    ...settings,
    run: async (context) => {
      const leave = async () => send(client, { queueUrl, isFifo, message: await message(context) }, context);
      if (isFifo) return attemptUnderKey(context.attempt, leave);
      await requireSingleAttempt(client, "a standard queue");
      return leave();
    },
  });
}

async function send(
  client: SqsLike,
  { queueUrl, isFifo, message }: { readonly queueUrl: string; readonly isFifo: boolean; readonly message: SqsMessage },
  context: Pick<ToolContext<unknown>, "key" | "run" | "epoch" | "signal">,
) {
  const { key, run, epoch, signal } = context;
  const { body, group, attributes } = message;
  if (isFifo && group === undefined) throw new Error("a FIFO queue needs a message group: message must return a group");
  const texts = { ...attributes, cairnKey: key, cairnRun: run, cairnEpoch: String(epoch) };
  const input: SendMessage = {
    QueueUrl: queueUrl,
    MessageBody: typeof body === "string" ? body : JSON.stringify(body),
    ...(group !== undefined && { MessageGroupId: group }),
    ...(isFifo && { MessageDeduplicationId: key }),
    MessageAttributes: Object.fromEntries(
      Object.entries(texts).map(([name, StringValue]) => [name, { DataType: "String", StringValue }]),
    ),
  };
  try {
    const { MessageId = null, SequenceNumber = null } = await client.sendMessage(input, { abortSignal: signal });
    return { message: MessageId, sequence: SequenceNumber };
  } catch (error) {
    throw awsFailure(error, "the message");
  }
}
