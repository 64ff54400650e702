/**
 * The function that cleans up after removed rows, which expired or were purged. The table's stream invokes it. The
 * stream holds back later records until a record has succeeded, and gives up after some tries. The search for orphans
 * finds what is left behind then.
 */
import { bucketClients, tableClients } from "../src/adapters/aws/clients.ts";
import { systemClock as clock } from "../src/adapters/aws/clock.ts";
import { Dynamo } from "../src/adapters/aws/table/dynamo.ts";
import { dynamoInbox } from "../src/adapters/aws/table/messages.ts";
import { dynamoDeltaLog } from "../src/adapters/aws/table/delta-log.ts";
import { s3ObjectStore } from "../src/adapters/aws/bucket/object-store.ts";
import { dynamoRunTable } from "../src/adapters/aws/table/run-table.ts";
import { removedIncarnation } from "../src/adapters/aws/table/schema.ts";
import { alarm } from "../src/history/alarm.ts";
import { cleanUp } from "../src/history/clean-up.ts";
import { sentenceOf } from "../src/codec/value.ts";
import { bucketName, tableName, telemetryOf } from "./settings.ts";

const table = tableName();
const dynamo = new Dynamo({ clients: tableClients(), table, clock });
const world = {
  table: dynamoRunTable({ dynamo, table }),
  inbox: dynamoInbox(dynamo),
  deltas: dynamoDeltaLog(dynamo),
  objects: s3ObjectStore({ clients: bucketClients(), bucket: bucketName() }),
  clock,
  telemetry: telemetryOf("cleanup"),
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

/** Cleans up after each removed row of a batch. Returns the first record that failed, from which the stream goes on. */
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
