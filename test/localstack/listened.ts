/** The world of each function, with clients whose requests are recorded. */
import type { S3Client } from "@aws-sdk/client-s3";
import { FUNCTIONS, type FunctionName } from "../../infra/bundle.ts";
import { type AwsClients, awsClients } from "../../src/adapters/aws/clients.ts";
import { systemClock } from "../../src/adapters/aws/clock.ts";
import { meter } from "../../src/adapters/aws/meter.ts";
import { withKernel } from "../../src/features/compose.ts";
import { awsWorld } from "../../src/adapters/aws/world.ts";
import { limitsFor } from "../../src/protocol/limits.ts";
import type { World } from "../../src/ports/world.ts";
import { LIMITS } from "../support/gate/limits.ts";
import type { Deployment } from "./deployment.ts";
import { type Arns, type Need, needsOf } from "./iam.ts";

export interface Listened {
  readonly deployment: Deployment;
  /** A world whose clock is ahead by that many milliseconds. */
  readonly worldOf: (fn: FunctionName, change?: { readonly laterMs?: number; readonly losesPut?: true }) => World;
  /** The world whose requests are not recorded. */
  readonly aside: World;
  /** The recorded requests of each function so far. */
  readonly needs: ReadonlyMap<FunctionName, readonly Need[]>;
}

/** `arns` maps table, bucket and state machine to their names in the policies. */
export function listened(deployment: Deployment, arns: Arns): Listened {
  const needs = new Map<FunctionName, Need[]>(FUNCTIONS.map((fn) => [fn, []]));
  const worldWith = (clients: AwsClients, laterMs = 0): World => {
    const now = (): number => Date.now() + laterMs;
    const clock = { ...systemClock, now, earliest: now };
    // Short times, so that all waits end soon.
    const limits = limitsFor(60_000, { settleMs: 1, overdueMs: 1 });
    return withKernel(awsWorld({ ...deployment, clients, limits, clock, telemetry: { record: () => undefined } }));
  };
  return {
    ...{ deployment, needs },
    worldOf: (fn, { laterMs = 0, losesPut } = {}) => {
      const clients = awsClients({ requestMs: LIMITS.eventMs });
      meter(clients, (call) => needs.get(fn)?.push(...needsOf(call, arns)));
      if (losesPut) loseFirstAnswer(clients.bucket.once);
      return worldWith(clients, laterMs);
    },
    aside: worldWith(deployment.clients),
  };
}

/** The put is applied, but its response is lost. */
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
