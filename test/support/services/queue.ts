/** An SQS queue behind HTTP. A FIFO queue drops a known deduplication ID for five minutes of the given clock. */
import { createHash } from "node:crypto";
import { SQS } from "@aws-sdk/client-sqs";
import { onTestFinished } from "vitest";
import type { FakeService } from "../../../src/testing/kit/index.ts";
import { type ServedAnswer, json, lost, serve } from "./http-server.ts";
import { type MadeEffect, serviceView } from "./service-view.ts";

type QueueFault = "none" | "answerLost" | "denied";

export interface Queue {
  readonly client: SQS;
  readonly url: string;
  readonly service: FakeService<unknown>;
  /** The bodies of all requests since the last reset. */
  readonly requests: readonly SentMessage[];
}

interface SentMessage {
  readonly MessageBody: string;
  readonly MessageGroupId?: string;
  readonly MessageDeduplicationId?: string;
  readonly MessageAttributes: Readonly<Record<string, { readonly StringValue: string }>>;
}

const WINDOW_MS = 5 * 60_000;

export async function startQueue(of: {
  readonly name?: string;
  readonly now?: () => number;
  readonly fault?: (request: { readonly nth: number }) => QueueFault;
  /** Called when a message is in the queue. */
  readonly onAccepted?: () => void;
  readonly maxAttempts?: number;
}): Promise<Queue> {
  const { name = "orders.fifo", now = Date.now, fault = () => "none" as const, onAccepted, maxAttempts = 1 } = of;
  const messages: MadeEffect[] = [];
  const requests: SentMessage[] = [];
  const seen = new Map<string, { readonly at: number; readonly answer: ServedAnswer }>();
  const accept = (sent: SentMessage): ServedAnswer => {
    const id = sent.MessageDeduplicationId;
    const known = id === undefined ? undefined : seen.get(id);
    if (known !== undefined && now() - known.at < WINDOW_MS) return known.answer;
    const key = sent.MessageAttributes["cairnKey"]?.StringValue ?? "";
    messages.push({ key, input: sent.MessageBody, result: null, undone: false });
    const answer = json(200, {
      MessageId: `m${messages.length}`,
      MD5OfMessageBody: createHash("md5").update(sent.MessageBody).digest("hex"),
      ...(id !== undefined && { SequenceNumber: String(messages.length) }),
    });
    if (id !== undefined) seen.set(id, { at: now(), answer });
    onAccepted?.();
    return answer;
  };
  const url = await serve(({ body }) => {
    const sent = JSON.parse(String(body)) as SentMessage;
    requests.push(sent);
    const befalls = fault({ nth: requests.length });
    if (befalls === "denied") return json(403, { __type: "com.amazonaws.sqs#AccessDeniedException", message: "no" });
    return lost(accept(sent), befalls === "answerLost");
  });
  const client = new SQS({
    ...{ endpoint: url, region: "eu-central-1", maxAttempts },
    credentials: { accessKeyId: "test", secretAccessKey: "test" },
  });
  onTestFinished(() => client.destroy());
  const reset = (): void => {
    messages.length = 0;
    requests.length = 0;
    seen.clear();
  };
  const service = serviceView({ name: "queue", effects: () => messages, reset });
  return { client, url: `${url}/123456789012/${name}`, service, requests };
}
