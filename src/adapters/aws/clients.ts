/**
 * The AWS clients, configured by the standard environment alone. The SDK itself reads region, credentials and
 * `AWS_ENDPOINT_URL`, so the same code talks to AWS and to an emulator.
 *
 * Each store has two clients. A conditional write is sent once. If the SDK retried it, the first copy could refuse the
 * retry, and the caller could not tell who wrote the row (schedules 6, 7, 37). Only
 * `history/resolve-ambiguous-write.ts` sends it again. The SDK retries, with backoff, every request that is safe to
 * repeat.
 */
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { S3Client } from "@aws-sdk/client-s3";
import { SFNClient } from "@aws-sdk/client-sfn";

/** The clients of one store: `once` for conditional writes, `repeating` for everything that is safe to repeat. */
export interface Pair<Client> {
  readonly once: Client;
  readonly repeating: Client;
}

export interface AwsClients {
  readonly table: Pair<DynamoDBClient>;
  readonly bucket: Pair<S3Client>;
  readonly machine: SFNClient;
}

/** Tries of a request that is safe to repeat, the first included. */
const TRIES_MAX = 4;
const CONNECT_MS = 2_000;
/**
 * From the request to the head of its response. Several such waits fit into the time that a beat keeps free to commit.
 */
const ROW_MS = 3_000;
/** Objects are larger: up to 8 MiB. */
const OBJECT_MS = 15_000;
const CHAIN_MS = 5_000;

/** `endpoint` and `requestMs` are for tests with a server of their own. */
export interface ClientOptions {
  readonly endpoint?: string;
  readonly requestMs?: number;
}

export const awsClients = (options: ClientOptions = {}): AwsClients => ({
  table: tableClients(options),
  bucket: bucketClients(options),
  machine: machineClient(options),
});

/**
 * The clients of the table alone. A function that imports only this loads no other client; so for the other two stores.
 */
export function tableClients(options: ClientOptions = {}): Pair<DynamoDBClient> {
  const repeating = new DynamoDBClient(configOf(options, ROW_MS));
  return { repeating, once: new DynamoDBClient({ ...configOf(options, ROW_MS), ...onceLike(repeating) }) };
}

export function bucketClients(options: ClientOptions = {}): Pair<S3Client> {
  const config = { ...configOf(options, OBJECT_MS), ...CHECKSUMS };
  const repeating = new S3Client(config);
  return { repeating, once: new S3Client({ ...config, ...onceLike(repeating) }) };
}

export const machineClient = (options: ClientOptions = {}): SFNClient => new SFNClient(configOf(options, CHAIN_MS));

/** The timeouts and retries of every client of cairn. */
export const configOf = ({ endpoint, requestMs }: ClientOptions, usualMs: number) => ({
  ...(endpoint === undefined ? {} : { endpoint }),
  maxAttempts: TRIES_MAX,
  requestHandler: {
    connectionTimeout: CONNECT_MS,
    requestTimeout: requestMs ?? usualMs,
    // Without this the SDK only warns, and a beat would wait until it is killed.
    throwOnRequestTimeout: true,
    socketTimeout: requestMs ?? usualMs,
  },
});

const CHECKSUMS = {
  requestChecksumCalculation: "WHEN_SUPPORTED",
  responseChecksumValidation: "WHEN_SUPPORTED",
} as const;

/** Both clients of a pair share one pool of connections and one credential provider. */
const onceLike = ({ config }: DynamoDBClient | S3Client) => ({
  maxAttempts: 1,
  requestHandler: config.requestHandler,
  credentials: config.credentials,
});
