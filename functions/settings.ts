/**
 * The settings of a function. Only this file reads the environment. Each setting is its own function, so that a bundle
 * contains only the settings that it uses: a deployment gives each function only those.
 */
import { deploymentOf } from "../src/adapters/aws/table/keys.ts";
import { lambdaTelemetry } from "../src/adapters/aws/telemetry.ts";
import { type Limits, limitsFor } from "../src/protocol/limits.ts";
import type { Telemetry } from "../src/ports/world.ts";

export interface Settings {
  readonly table: string;
  readonly bucket: string;
  readonly machine: string;
  readonly limits: Limits;
  readonly telemetry: Telemetry;
}

/** The settings that a whole world needs. */
export function settingsOf(service: string): Settings {
  return {
    table: tableName(),
    bucket: bucketName(),
    machine: machineArn(),
    limits: limitsFor(Number(named("CAIRN_BEAT_SECONDS")) * 1_000, JSON.parse(process.env["CAIRN_LIMITS"] || "{}")),
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

/** An environment variable that must be set. Throws if it is missing or empty. */
export function named(name: string): string {
  const value = process.env[name];
  if (value) return value;
  throw new Error(`${name} is not set: the deployment of this function is not complete`);
}
