/**
 * Asks the function of the sweeper to deliver notifications at once. Beats note them and cannot send them, since they may
 * not read the keys that sign them. A request that fails costs time only: the next sweep delivers what is noted.
 */
import type { LambdaClient } from "@aws-sdk/client-lambda";
import { type ClientOptions, configOf } from "./clients.ts";

const REQUEST_MS = 3_000;

/** What the function of the sweeper is asked. */
export type DeliveryTask = { readonly kind: "deliver" };

export interface DeliveryRequests {
  /** Sends a request, and waits for nothing. */
  readonly noted: () => void;
  /** Waits for the answers of the requests: Lambda freezes a process after its own answer. Never rejects. */
  readonly flush: () => Promise<void>;
}

export function deliveryRequests(functionName: string, options: ClientOptions = {}): DeliveryRequests {
  let client: Promise<LambdaClient> | null = null;
  let sent: Promise<unknown>[] = [];
  const send = async (): Promise<void> => {
    const { InvokeCommand } = await import("@aws-sdk/client-lambda");
    const task: DeliveryTask = { kind: "deliver" };
    const Payload = new TextEncoder().encode(JSON.stringify(task));
    const found = await (client ??= clientWith(options));
    await found.send(new InvokeCommand({ FunctionName: functionName, InvocationType: "Event", Payload }));
  };
  return {
    noted: () => void sent.push(send().catch(() => undefined)),
    flush: async () => {
      const waiting = sent;
      sent = [];
      await Promise.all(waiting);
    },
  };
}

/** Loaded only where something is noted, so that other beats start without it. */
async function clientWith(options: ClientOptions): Promise<LambdaClient> {
  const { LambdaClient } = await import("@aws-sdk/client-lambda");
  return new LambdaClient(configOf(options, REQUEST_MS));
}
