/**
 * What a function is told by its environment, which is read here and nowhere else. Each setting is a function of its own,
 * so that what a bundle does not call is not in it: a deployment gives each function what it reads, and no more.
 */
import { deploymentOf } from "../src/adapters/aws/keys.ts";
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

/** What a whole world needs. */
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

/** Changes with each deployment of other code. */
export const deployment = (): string => named("CAIRN_DEPLOYMENT");

export const telemetryOf = (service: string): Telemetry =>
  lambdaTelemetry({ deployment: deploymentOf(machineArn()), service });

export function named(name: string): string {
  const value = process.env[name];
  if (value) return value;
  throw new Error(`${name} is not set: the deployment of this function is not complete`);
}
