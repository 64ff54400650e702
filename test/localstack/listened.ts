/** The world as each function has it, through clients that are listened to. */
import type { S3Client } from "@aws-sdk/client-s3";
import { FUNCTIONS, type FunctionName } from "../../infra/bundle.ts";
import { type AwsClients, awsClients } from "../../src/adapters/aws/clients.ts";
import { systemClock } from "../../src/adapters/aws/clock.ts";
import { meter } from "../../src/adapters/aws/meter.ts";
import { awsWorld } from "../../src/adapters/aws/world.ts";
import { limitsFor } from "../../src/protocol/limits.ts";
import type { World } from "../../src/ports/world.ts";
import type { Deployment } from "./deployment.ts";
import { type Arns, type Need, needsOf } from "./iam.ts";

export interface Listened {
  readonly deployment: Deployment;
  /** With a clock that is ahead by so much. */
  readonly worldOf: (fn: FunctionName, change?: { readonly laterMs?: number; readonly losesPut?: true }) => World;
  /** Nobody listens to this one. */
  readonly aside: World;
  /** What was asked for by each function so far. */
  readonly needs: ReadonlyMap<FunctionName, readonly Need[]>;
}

const REQUEST_MS = 60_000;

/** `arns`: what the policies call the table, the bucket and the machine that are spoken to. */
export function listened(deployment: Deployment, arns: Arns): Listened {
  const needs = new Map<FunctionName, Need[]>(FUNCTIONS.map((fn) => [fn, []]));
  const worldWith = (clients: AwsClients, laterMs = 0): World => {
    const now = (): number => Date.now() + laterMs;
    const clock = { ...systemClock, now, earliest: now };
    // Whatever is due is due soon.
    const limits = limitsFor(60_000, { settleMs: 1, overdueMs: 1 });
    return awsWorld({ ...deployment, clients, limits, clock, telemetry: { record: () => undefined } });
  };
  return {
    ...{ deployment, needs },
    worldOf: (fn, { laterMs = 0, losesPut } = {}) => {
      const clients = awsClients({ requestMs: REQUEST_MS });
      meter(clients, (call) => needs.get(fn)?.push(...needsOf(call, arns)));
      if (losesPut) loseFirstAnswer(clients.bucket.once);
      return worldWith(clients, laterMs);
    },
    aside: worldWith(deployment.clients),
  };
}

/** What was put is there, and nobody is told. */
function loseFirstAnswer(client: S3Client): void {
  let isLost = false;
  client.middlewareStack.add(
    (next) => async (call) => {
      const result = await next(call);
      if (isLost) return result;
      isLost = true;
      throw Object.assign(new Error("the answer was lost"), { name: "TimeoutError" });
    },
    { name: "lost", step: "initialize" },
  );
}
