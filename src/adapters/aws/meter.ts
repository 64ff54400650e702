/**
 * Counts the requests that the clients send, with retries, and the capacity that DynamoDB charged. So the cost of a run
 * is measured, not estimated.
 */
import type { AwsClients } from "./clients.ts";

export interface MeteredCall {
  readonly service: "table" | "bucket" | "machine";
  /** `UpdateItem`, `PutObject`, `StartExecution`. */
  readonly operation: string;
  /** The input of the request, as the SDK takes it. */
  readonly input: Readonly<Record<string, unknown>>;
  /** Capacity units of DynamoDB; null if it gave none, as after a refusal. */
  readonly units: number | null;
}

/** Calls `onCall` for every request of these clients once it is answered, refused or lost. */
export function meter(clients: AwsClients, onCall: (call: MeteredCall) => void): void {
  const { table, bucket, machine } = clients;
  for (const client of [table.once, table.repeating]) {
    const stack = client.middlewareStack as unknown as Stack;
    stack.add((next) => (args) => next({ ...args, input: { ...args.input, ReturnConsumedCapacity: "TOTAL" } }), {
      name: "cairnCapacity",
      step: "initialize",
    });
    tell(stack, "table", onCall);
  }
  for (const client of [bucket.once, bucket.repeating]) {
    tell(client.middlewareStack as unknown as Stack, "bucket", onCall);
  }
  tell(machine.middlewareStack as unknown as Stack, "machine", onCall);
}

/** The part of the clients' middleware stacks that is used here. Each client has its own types. */
interface Stack {
  add(
    middleware: (next: Handler, context: { readonly commandName?: string }) => Handler,
    options: { readonly name: string; readonly step: string; readonly priority?: string },
  ): void;
}

interface Call {
  readonly input: object;
}

interface Result {
  readonly output: object;
}

type Handler = (call: Call) => Promise<Result>;

/** It sits after the SDK's own retries, so that each request counts. */
function tell(stack: Stack, service: MeteredCall["service"], onCall: (call: MeteredCall) => void): void {
  stack.add(
    (next, { commandName = "" }) =>
      async (call) => {
        const operation = commandName.replace(/Command$/, "");
        let units: number | null = null;
        try {
          const result = await next(call);
          units = unitsOf(result.output);
          return result;
        } finally {
          onCall({ service, operation, units, input: { ...call.input } });
        }
      },
    { name: `cairnMeter`, step: "finalizeRequest", priority: "low" },
  );
}

interface Consumed {
  readonly CapacityUnits?: number;
}

/** The capacity of one operation, which reports one table or a list of tables. */
function unitsOf(output: object): number | null {
  const consumed = "ConsumedCapacity" in output ? (output.ConsumedCapacity as Consumed | readonly Consumed[]) : null;
  if (consumed == null) return null;
  const each = Array.isArray(consumed) ? (consumed as readonly Consumed[]) : [consumed as Consumed];
  return each.reduce((sum, { CapacityUnits = 0 }) => sum + CapacityUnits, 0);
}
