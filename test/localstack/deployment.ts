/**
 * A separate table with the described layout, a bucket and a state machine, created on LocalStack and removed
 * afterwards. The machine only parks: each execution stores its token in the table and waits on it.
 */
import { randomBytes } from "node:crypto";
import { DeleteTableCommand } from "@aws-sdk/client-dynamodb";
import { CreateBucketCommand, DeleteBucketCommand } from "@aws-sdk/client-s3";
import { CreateStateMachineCommand, DeleteStateMachineCommand } from "@aws-sdk/client-sfn";
import { inject } from "vitest";
import { clientsOf } from "../../localstack/clients.ts";
import { createTable } from "../../localstack/resources/table.ts";
import { type AwsClients, awsClients } from "../../src/adapters/aws/clients.ts";
import { removeUnder } from "../../src/adapters/aws/bucket/object-store.ts";
import { nameStores } from "../../src/adapters/aws/table/store-id.ts";
import { LIMITS } from "../support/gate/limits.ts";
import { Removals } from "./removals.ts";

export interface Deployment {
  readonly clients: AwsClients;
  readonly table: string;
  readonly bucket: string;
  readonly machine: string;
  /** The stream records of removed rows. */
  readonly stream: Removals;
  /** Random, so that no other round uses the same names. */
  readonly round: string;
}

/** LocalStack loads a service at its first call, which takes time. */

export async function deploy({ named = true }: { readonly named?: boolean } = {}): Promise<Deployment> {
  const clients = awsClients({ requestMs: LIMITS.eventMs });
  const round = randomBytes(5).toString("hex");
  const name = `cairn-${round}`;
  const { lane, url } = inject("stacks");
  const described = lane.resources.find(({ type }) => type === "aws:dynamodb/table:Table");
  const { streamArn = "" } = await createTable(described?.inputs, { clients: clientsOf(url), name });
  await clients.bucket.repeating.send(new CreateBucketCommand({ Bucket: name }));
  if (named) await nameStores({ clients, table: name, bucket: name });
  const made = await clients.machine.send(
    new CreateStateMachineCommand({
      name,
      roleArn: "arn:aws:iam::000000000000:role/states",
      definition: JSON.stringify(parking(name)),
    }),
  );
  const stream = new Removals({ clients, table: name, arn: streamArn });
  return { clients, table: name, bucket: name, machine: made.stateMachineArn ?? "", stream, round };
}

export async function undeploy({ clients, table, bucket, machine }: Deployment): Promise<void> {
  await clients.machine.send(new DeleteStateMachineCommand({ stateMachineArn: machine }));
  await clients.table.repeating.send(new DeleteTableCommand({ TableName: table }));
  await removeUnder({ client: clients.bucket.repeating, bucket }, "");
  await clients.bucket.repeating.send(new DeleteBucketCommand({ Bucket: bucket }));
}

const parking = (table: string) => ({
  StartAt: "Park",
  States: {
    Park: {
      Type: "Task",
      Resource: "arn:aws:states:::aws-sdk:dynamodb:putItem.waitForTaskToken",
      Parameters: {
        TableName: table,
        Item: {
          run: { "S.$": "$$.Execution.Name" },
          item: { S: "token" },
          token: { "S.$": "$$.Task.Token" },
        },
      },
      End: true,
    },
  },
});
