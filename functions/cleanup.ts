/**
 * Cleans up after rows that were removed, told by the table's stream: their time was over, or somebody purged them. The
 * stream holds back what follows until a record has succeeded, and gives up after some tries; what is left behind then is
 * found by the look for orphans.
 */
import { bucketClients, tableClients } from "../src/adapters/aws/clients.ts";
import { systemClock as clock } from "../src/adapters/aws/clock.ts";
import { s3ObjectStore } from "../src/adapters/aws/object-store.ts";
import { dynamoRunTable } from "../src/adapters/aws/run-table.ts";
import { removedIncarnation } from "../src/adapters/aws/schema.ts";
import { alarm } from "../src/history/alarm.ts";
import { cleanUp } from "../src/history/clean-up.ts";
import { sentenceOf } from "../src/codec/value.ts";
import { bucketName, tableName, telemetryOf } from "./settings.ts";

const world = {
  table: dynamoRunTable({ clients: tableClients(), table: tableName(), clock }),
  objects: s3ObjectStore({ clients: bucketClients(), bucket: bucketName() }),
  ...{ clock, telemetry: telemetryOf("cleanup") },
};

interface StreamRecord {
  readonly eventName?: string;
  readonly dynamodb?: {
    readonly SequenceNumber?: string;
    readonly OldImage?: Parameters<typeof removedIncarnation>[0];
  };
}

interface Failures {
  readonly batchItemFailures: readonly { readonly itemIdentifier: string }[];
}

export async function handler({ Records }: { readonly Records: readonly StreamRecord[] }): Promise<Failures> {
  for (const { eventName, dynamodb } of Records) {
    const removed = removedIncarnation(dynamodb?.OldImage ?? {});
    if (eventName !== "REMOVE" || removed === null) continue;
    try {
      await cleanUp(world, removed);
    } catch (error) {
      alarm(world, removed.run, { what: "CleanUpFailed", why: sentenceOf(error) });
      return { batchItemFailures: [{ itemIdentifier: dynamodb?.SequenceNumber ?? "" }] };
    }
  }
  return { batchItemFailures: [] };
}
