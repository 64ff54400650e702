/**
 * The AWS world: rows and inboxes in one DynamoDB table, objects in one S3 bucket, executions of one Step Functions
 * state machine. With an emulator it works the same: `AWS_ENDPOINT_URL` selects the endpoint, and this code does not
 * depend on it.
 */
import { createHash, randomBytes } from "node:crypto";
import { FEW_REQUESTS } from "../../ports/stored-sizes.ts";
import type { Limits } from "../../protocol/limits.ts";
import { NO_SEAL_KEYS, type SealKeys } from "../../ports/seal-keys.ts";
import { NO_SECRETS, type Secrets } from "../../ports/secrets.ts";
import type { Clock, Random, Telemetry, Stores } from "../../ports/world.ts";
import { stepFunctionsChain } from "./machine/chain.ts";
import { type AwsClients, awsClients } from "./clients.ts";
import { clockBesideAws } from "./clock.ts";
import type { placesIn } from "./places.ts";
import { dynamoDeltaLog } from "./table/delta-log.ts";
import { Dynamo } from "./table/dynamo.ts";
import { dynamoInbox } from "./table/messages.ts";
import { s3ObjectLinks } from "./bucket/object-links.ts";
import { s3ObjectStore } from "./bucket/object-store.ts";
import { dynamoRecords } from "./table/records.ts";
import { dynamoRunTable } from "./table/run-table.ts";
import { StatusShards } from "./table/status-shards.ts";
import { dynamoMutexLeases } from "./table/mutex-leases.ts";

/** The ports of a deployment. Creates clients for AWS unless the caller passes some. */
export function awsWorld(given: {
  readonly table: string;
  readonly bucket: string;
  /** The ARN of the state machine. */
  readonly machine: string;
  readonly limits: Limits;
  readonly telemetry: Telemetry;
  /** Absent: no secrets. A function without them must not write values from outside, since it could not redact them. */
  readonly secrets?: Secrets;
  readonly sealKeys?: SealKeys;
  /** How many shards of the index of statuses it writes. Absent: 1. Null: as many as the table records. */
  readonly statusShards?: number | null;
  /** Only where runs are shown, so that no other function loads it. Absent: a run names no places. */
  readonly places?: typeof placesIn;
  readonly clients?: AwsClients;
  readonly clock?: Clock;
  readonly random?: Random;
}): Stores {
  const { table, bucket, machine, limits, telemetry, clients = awsClients() } = given;
  const clock = given.clock ?? clockBesideAws([clients.table.once, clients.table.repeating]);
  const dynamo = new Dynamo({ clients: clients.table, table, clock });
  return {
    table: dynamoRunTable({ dynamo, table, shards: new StatusShards(dynamo, given.statusShards) }),
    inbox: dynamoInbox(dynamo),
    leases: dynamoMutexLeases(dynamo),
    records: dynamoRecords(dynamo),
    deltas: dynamoDeltaLog(dynamo),
    objects: s3ObjectStore({ clients: clients.bucket, bucket }),
    links: s3ObjectLinks({ client: clients.bucket.repeating, bucket }),
    chain: stepFunctionsChain({ client: clients.machine, machine }),
    clock,
    random: given.random ?? { hex: () => randomBytes(32).toString("hex") },
    telemetry,
    secrets: given.secrets ?? NO_SECRETS,
    sealKeys: given.sealKeys ?? NO_SEAL_KEYS,
    limits,
    ...(given.places !== undefined && { placesOf: given.places({ table, bucket, machine }) }),
    sizes: FEW_REQUESTS,
    hash: (text) => createHash("sha256").update(text, "utf8").digest("hex"),
  };
}
