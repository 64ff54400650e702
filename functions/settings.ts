/**
 * The settings of a function. Only this file reads the environment. Each setting is its own function, so that a bundle
 * contains only the settings that it uses: a deployment gives each function only those.
 */
import { deploymentOf } from "../src/adapters/aws/table/keys.ts";
import { lambdaTelemetry } from "../src/adapters/aws/telemetry.ts";
import { otlpSpans } from "../src/adapters/otlp/exporter.ts";
import { type Limits, limitsFor } from "../src/protocol/limits.ts";
import type { Spans } from "../src/ports/spans.ts";
import type { AccessOptions } from "../src/sdk/access.ts";
import type { Webhook } from "../src/ports/webhooks.ts";
import type { Telemetry } from "../src/ports/world.ts";

export interface Settings {
  readonly table: string;
  readonly bucket: string;
  readonly machine: string;
  readonly limits: Limits;
  readonly statusShards: number;
  readonly telemetry: Telemetry;
}

/** The settings that a whole world needs. */
export function settingsOf(service: string): Settings {
  return {
    table: tableName(),
    bucket: bucketName(),
    machine: machineArn(),
    limits: limitsFor(Number(named("CAIRN_BEAT_SECONDS")) * 1_000, JSON.parse(process.env["CAIRN_LIMITS"] || "{}")),
    statusShards: Number(process.env["CAIRN_STATUS_SHARDS"] || 1),
    telemetry: telemetryOf(service),
  };
}

export const tableName = (): string => named("CAIRN_TABLE");

export const bucketName = (): string => named("CAIRN_BUCKET");

export const machineArn = (): string => named("CAIRN_MACHINE");

/** The ID of the deployment, which changes when its code changes. */
export const deployment = (): string => named("CAIRN_DEPLOYMENT");

export const telemetryOf = (service: string): Telemetry =>
  lambdaTelemetry({ deployment: deploymentOf(machineArn()), service });

/** How the API identifies its callers; empty: by IAM. The limits of tenants are in the bundle. */
export const access = (): Omit<AccessOptions, "limits"> =>
  JSON.parse(process.env["CAIRN_ACCESS"] || "{}") as Omit<AccessOptions, "limits">;

/** The endpoints that hear of the runs. */
export const webhooks = (): readonly Webhook[] =>
  JSON.parse(process.env["CAIRN_WEBHOOKS"] || "[]") as readonly Webhook[];

/** The function that delivers notifications; null: the deployment has no webhooks. */
export const sweepFunction = (): string | null => process.env["CAIRN_SWEEP"] || null;

/** Where the beats send their spans; undefined if `deploy.env` of the config names no collector. */
export const spansOf = (): Spans | undefined => otlpSpans(process.env);

/** An environment variable that must be set. Throws if it is missing or empty. */
export function named(name: string): string {
  const value = process.env[name];
  if (value) return value;
  throw new Error(`${name} is not set: the deployment of this function is not complete`);
}
