/** The removed rows in a table's stream, read from its beginning like an event source reads it. */
import { type AttributeValue, DeleteItemCommand, PutItemCommand } from "@aws-sdk/client-dynamodb";
import type { AwsClients } from "../../src/adapters/aws/clients.ts";
import { removedIncarnation } from "../../src/adapters/aws/table/schema.ts";
import type { Incarnation } from "../../src/protocol/row.ts";
import { eventually } from "./eventually.ts";

interface StreamRecord {
  readonly eventName: string;
  readonly dynamodb: { readonly OldImage?: Readonly<Record<string, { readonly S?: string }>> };
}

const MARK = "mark";

export class Removals {
  readonly #clients: AwsClients;
  readonly #table: string;
  readonly #arn: string;
  readonly #iterators = new Map<string, string | undefined>();
  readonly #told: Incarnation[] = [];
  readonly #marks = new Set<string>();
  #count = 0;

  constructor(of: { readonly clients: AwsClients; readonly table: string; readonly arn: string }) {
    this.#clients = of.clients;
    this.#table = of.table;
    this.#arn = of.arn;
  }

  /** The stream reports a mark that is removed last after all other removals, so the list before it is complete. */
  async removedOf(run: string): Promise<readonly string[]> {
    this.#count += 1;
    const mark = `${MARK}${this.#count}`;
    const key: Record<string, AttributeValue> = { run: { S: run }, item: { S: mark } };
    await this.#clients.table.repeating.send(new PutItemCommand({ TableName: this.#table, Item: key }));
    await this.#clients.table.repeating.send(new DeleteItemCommand({ TableName: this.#table, Key: key }));
    await eventually(async () => {
      await this.#read();
      return this.#marks.has(mark) ? true : null;
    });
    return this.#told.filter((each) => each.run === run).map(({ born }) => born);
  }

  async #read(): Promise<void> {
    const { StreamDescription } = await call("DescribeStream", { StreamArn: this.#arn });
    for (const { ShardId } of StreamDescription.Shards) {
      if (!this.#iterators.has(ShardId)) {
        const start = { StreamArn: this.#arn, ShardId, ShardIteratorType: "TRIM_HORIZON" };
        this.#iterators.set(ShardId, (await call("GetShardIterator", start)).ShardIterator);
      }
      const iterator = this.#iterators.get(ShardId);
      if (iterator === undefined) continue;
      const { Records, NextShardIterator } = await call("GetRecords", { ShardIterator: iterator });
      this.#iterators.set(ShardId, NextShardIterator);
      for (const record of Records) this.#note(record);
    }
  }

  #note({ eventName, dynamodb }: StreamRecord): void {
    if (eventName !== "REMOVE" || dynamodb.OldImage === undefined) return;
    const removed = removedIncarnation(dynamodb.OldImage);
    if (removed !== null) this.#told.push(removed);
    const item = dynamodb.OldImage["item"]?.S ?? "";
    if (item.startsWith(MARK)) this.#marks.add(item);
  }
}

interface Answer {
  readonly StreamDescription: { readonly Shards: readonly { readonly ShardId: string }[] };
  readonly ShardIterator: string;
  readonly Records: readonly StreamRecord[];
  readonly NextShardIterator?: string;
}

/** Streams have a separate interface; the emulator does not verify the signature. */
async function call(operation: string, input: object): Promise<Answer> {
  const answer = await fetch(process.env["AWS_ENDPOINT_URL"] ?? "", {
    method: "POST",
    headers: {
      "content-type": "application/x-amz-json-1.0",
      "x-amz-target": `DynamoDBStreams_20120810.${operation}`,
      authorization:
        "AWS4-HMAC-SHA256 Credential=test/20240101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0",
      "x-amz-date": "20240101T000000Z",
    },
    body: JSON.stringify(input),
  });
  if (!answer.ok) throw new Error(`${operation}: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as Answer;
}
