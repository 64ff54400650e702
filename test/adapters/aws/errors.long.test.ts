/**
 * Every AWS response becomes an outcome, `ambiguous`, or `StoreUnreachable` with a message that says what to do.
 * A conditional write is sent once, whatever happens; idempotent requests are retried.
 */
import { beforeEach, describe, expect, test, vi } from "vitest";
import { newRow } from "../../../src/protocol/row.ts";
import { rowItem } from "../../../src/adapters/aws/table/item.ts";
import { StoreUnreachable, type World } from "../../../src/ports/world.ts";
import { type Answer, ok, refusal, startAwsServer } from "../../support/aws/aws-server.ts";
import { awsWorldAt, useAwsServer } from "../../support/aws/aws-world.ts";
import { FORMAT } from "../../../src/protocol/row.ts";
import { PURGE } from "../../../src/protocol/row-removal.ts";

/** An error of S3. */
const xmlRefusal = (status: number, code: string): Answer => ({
  kind: "xml",
  status,
  body: `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code><Message>${code} it is</Message></Error>`,
});

const RUN = `acme-${"a".repeat(26)}`;
const BORN = "aaaaaaaaaa";
const NOW = 1_700_000_000_000;
const OF = { run: RUN, born: BORN, now: NOW };
const PAYLOAD = { run: RUN, born: BORN, chain: 1, epoch: 0, agent: "clerk" };
const MESSAGE = { id: "m", sentAt: NOW, body: { kind: "user", text: "hello", by: "anna" } } as const;

const server = useAwsServer();

beforeEach(() => {
  // The retry settings of the environment do not apply to conditional writes.
  vi.stubEnv("AWS_MAX_ATTEMPTS", "7");
});

/** A test without a response waits this long. */
const HANGING_MS = 1_500;

/** The outcome of an operation when the server responds like that. */
async function after<T>(answers: readonly Answer[], operation: (world: World) => Promise<T>): Promise<T> {
  server.answer(...answers);
  const isHanging = answers.some(({ kind }) => kind === "hang");
  return operation(awsWorldAt(server.endpoint, isHanging ? HANGING_MS : undefined));
}

const request = ({ table }: World) => table.request({ ...OF, want: "cancel" });
const read = ({ table }: World) => table.read(RUN, NOW);
const deliver = ({ inbox }: World) => inbox.deliver({ ...OF, message: MESSAGE, digest: "of these", deadline: NOW });
const put = ({ objects }: World) => objects.put("runs/a", Uint8Array.of(1));
const get = ({ objects }: World) => objects.get("runs/a");
const start = ({ chain }: World) => chain.start(`${RUN}-${BORN}-1`, PAYLOAD);
const wake = ({ chain }: World) => chain.wake("token");

const row = newRow({
  ...{ run: RUN, born: BORN, now: NOW, deadline: NOW + 1, parent: null, tenant: "acme", agent: "travel" },
  ...{ agentVersion: "1", inputDigest: "digest", snapshot: { version: 0, key: "snapshots/0", digest: "digest" } },
});
const ITEM = rowItem(row);
const cancelled = (...codes: readonly string[]): Answer =>
  refusal("TransactionCanceledException", { CancellationReasons: codes.map((Code) => ({ Code })) });

describe("a conditional write with an unknown outcome is ambiguous and was sent once", () => {
  const answers: readonly (readonly [string, Answer])[] = [
    ["a lost connection", { kind: "drop" }],
    ["no answer in time", { kind: "hang" }],
    ["an answer that breaks off", { kind: "breakOff" }],
    ["an answer that is none", { kind: "xml", status: 200, body: "<html>" }],
    ["a failure of the service", refusal("InternalServerError", {}, 500)],
    ["a failure without a name", { kind: "xml", status: 502, body: "" }],
    ["throttling of the table", refusal("ProvisionedThroughputExceededException")],
    ["throttling of the account", refusal("ThrottlingException")],
    ["a request limit", refusal("RequestLimitExceeded")],
    ["a transaction in the way", refusal("TransactionConflictException")],
  ];
  test.each(answers)("row: %s", async (_, answer) => {
    expect(await after([answer], request)).toMatchObject({ kind: "ambiguous", why: expect.stringContaining("runs") });
    expect(server.asked.map(({ what }) => what)).toEqual(["DynamoDB_20120810.UpdateItem"]);
  });

  const puts: readonly (readonly [string, Answer])[] = [
    ["a lost connection", { kind: "drop" }],
    ["no answer in time", { kind: "hang" }],
    ["another put under way", xmlRefusal(409, "ConditionalRequestConflict")],
    ["a failure of the service", xmlRefusal(500, "InternalError")],
    ["a request that took too long", xmlRefusal(400, "RequestTimeout")],
  ];
  test.each(puts)("object: %s", async (_, answer) => {
    expect(await after([answer], put)).toMatchObject({ kind: "ambiguous", why: expect.stringContaining("payloads") });
    expect(server.asked).toHaveLength(1);
    expect(server.asked[0]?.headers).toMatchObject({ "if-none-match": "*" });
  });

  test.each([
    ["a transaction in the way", cancelled("None", "TransactionConflict", "None")],
    ["throttling", cancelled("None", "ThrottlingError", "None")],
    ["a failure of the service", refusal("InternalServerError", {}, 500)],
    ["a lost connection", { kind: "drop" }],
  ] as const)("delivery: %s", async (_, answer) => {
    expect(await after([answer], deliver)).toMatchObject({ kind: "ambiguous" });
    expect(server.asked).toHaveLength(1);
  });
});

describe("an expected response becomes an outcome", () => {
  test("a refused write gets its outcome from the returned row", async () => {
    const ended = { ...ITEM, ts: { S: "acme#completed" } };
    const refused = (Item?: object) => refusal("ConditionalCheckFailedException", Item === undefined ? {} : { Item });
    expect(await after([refused(ended)], request)).toMatchObject({ kind: "late", row: { status: "completed" } });
    expect(await after([refused()], request)).toEqual({ kind: "missing" });
    expect(await after([refused({ ...ITEM, born: { S: "bbbbbbbbbb" } })], request)).toEqual({ kind: "missing" });
    expect(await after([refused({ ...ITEM, f: { N: String(FORMAT + 1) } })], request)).toMatchObject({ kind: "newer" });
    expect(await after([refused({ ...ITEM, e: { S: "no number" } })], request)).toMatchObject({ kind: "unreadable" });
  });

  test("a refused delivery gets its outcome from its cancellation reasons", async () => {
    const reasons = (seen: object, row: object) =>
      refusal("TransactionCanceledException", { CancellationReasons: [seen, row, { Code: "None" }] });
    const fit = { Code: "None" };
    const failed = (Item?: object) => ({ Code: "ConditionalCheckFailed", ...(Item === undefined ? {} : { Item }) });
    const found = ok({ Item: ITEM });
    expect(await after([reasons(failed({}), fit), found], deliver)).toEqual({ kind: "duplicate", row });
    // The line above has an item without a digest: that of a report, or of a child that is left alone.
    const seen = { dg: { S: "of other words" } };
    expect(await after([reasons(failed(seen), fit), found], deliver)).toEqual({ kind: "conflict", row });
    expect(await after([reasons(fit, failed())], deliver)).toEqual({ kind: "missing" });
    const ended = { ...ITEM, ts: { S: "acme#failed" } };
    expect(await after([reasons(fit, failed(ended))], deliver)).toMatchObject({ kind: "late" });
    // The deadline is later already, so the second write leaves it unchanged.
    expect(await after([reasons(fit, failed(ITEM)), ok(), found], deliver)).toEqual({ kind: "delivered", row });
    expect(server.asked.map(({ body }) => body.includes("SET #wakeCount = #wakeCount + :one, #deadline"))).toEqual([
      ...[true, false, false],
    ]);
  });

  test("objects: an existing one and a missing one", async () => {
    expect(await after([xmlRefusal(412, "PreconditionFailed")], put)).toEqual({ kind: "exists" });
    expect(await after([xmlRefusal(404, "NoSuchKey")], get)).toBeNull();
  });

  test("chain: spent names and dead tokens", async () => {
    const spent = refusal("ExecutionAlreadyExists");
    const described = (status: string) => ok({ status, startDate: 1, executionArn: "arn", stateMachineArn: "arn" });
    expect(await after([ok({ executionArn: "arn", startDate: 1 })], start)).toEqual({ kind: "started" });
    expect(JSON.parse(JSON.parse(server.asked[0]?.body ?? "").input)).toEqual({
      ...PAYLOAD,
      ...{ tries: 0, died: null, changed: null, backoff: 1, code: "live" },
    });
    expect(await after([spent, described("RUNNING")], start)).toEqual({ kind: "exists", running: true });
    const executionArn = `arn:aws:states:eu-west-1:111122223333:execution:cairn:${RUN}-${BORN}-1`;
    expect(JSON.parse(server.asked[1]?.body ?? "")).toMatchObject({ executionArn });
    expect(await after([spent, described("TIMED_OUT")], start)).toEqual({ kind: "exists", running: false });
    expect(await after([spent, refusal("ExecutionDoesNotExist")], start)).toEqual({ kind: "exists", running: true });
    for (const name of ["TaskTimedOut", "TaskDoesNotExist", "InvalidToken"]) {
      expect(await after([refusal(name)], wake)).toEqual({ kind: "awake" });
    }
    expect(await after([ok()], wake)).toEqual({ kind: "woken" });
  });
});

describe("an idempotent request is retried", () => {
  const fault = refusal("InternalServerError", {}, 500);
  test.each([
    ["a read", [fault, { kind: "drop" }, ok({ Item: ITEM })], read, 3],
    ["a start", [refusal("ThrottlingException"), ok({ executionArn: "arn", startDate: 1 })], start, 2],
    ["a get", [xmlRefusal(503, "SlowDown"), { kind: "xml", status: 200, body: "bytes" }], get, 2],
    ["a get that breaks off", [{ kind: "breakOff" }, { kind: "xml", status: 200, body: "bytes" }], get, 2],
  ] as const)("%s", async (_, answers, operation, requests) => {
    expect(await after(answers, operation as (world: World) => Promise<unknown>)).not.toBeNull();
    expect(server.asked).toHaveLength(requests);
  });

  test("but not forever", async () => {
    await expect(after([fault], read)).rejects.toThrow(StoreUnreachable);
    expect(server.asked).toHaveLength(4);
    await expect(after([{ kind: "breakOff" }], get)).rejects.toThrow("the bucket payloads cannot be used");
    expect(server.asked).toHaveLength(3);
  });
});

type Operation = (world: World) => Promise<unknown>;

describe("an error of a store says what to do", () => {
  const cases: readonly (readonly [string, Operation, Answer, RegExp])[] = [
    ["no table", request, refusal("ResourceNotFoundException"), /table runs .*does not exist.*deploy/],
    ["no table to read", read, refusal("ResourceNotFoundException"), /table runs .*does not exist/],
    ["no bucket", put, xmlRefusal(404, "NoSuchBucket"), /bucket payloads .*does not exist/],
    ["no bucket to read", get, xmlRefusal(404, "NoSuchBucket"), /bucket payloads .*does not exist/],
    ["no machine", start, refusal("StateMachineDoesNotExist"), /state machine .*does not exist/],
    ["a row may not be written", request, refusal("AccessDeniedException"), /access is denied.*permissions/],
    ["an object may not be put", put, xmlRefusal(403, "AccessDenied"), /access is denied/],
    ["an object may not be read", get, xmlRefusal(403, "AccessDenied"), /access is denied.*s3:ListBucket/],
    ["unknown keys", request, refusal("UnrecognizedClientException"), /credentials are not valid/],
    ["a wrong secret", put, xmlRefusal(403, "SignatureDoesNotMatch"), /credentials are not valid/],
    ["expired credentials", request, refusal("ExpiredTokenException"), /expired.*sign in/],
    ["expired credentials of S3", put, xmlRefusal(400, "ExpiredToken"), /expired.*sign in/],
    ["a wrong region", put, xmlRefusal(301, "PermanentRedirect"), /region/],
    ["a wrong region of a signature", get, xmlRefusal(400, "AuthorizationHeaderMalformed"), /region/],
    ["a wrong clock", put, xmlRefusal(403, "RequestTimeTooSkewed"), /clock/],
    ["a disabled key", put, xmlRefusal(400, "KMS.DisabledException"), /encryption key/],
    ["another layout", request, refusal("ValidationException"), /refused the request.*deployed/],
    ["throttling of a read", read, refusal("ThrottlingException"), /throttling.*later/],
  ];
  test.each(cases)("%s", async (_, operation, answer, words) => {
    const failure = await after([answer], operation).then(
      () => null,
      (error: unknown) => error,
    );
    expect(failure).toBeInstanceOf(StoreUnreachable);
    expect((failure as Error).message).toMatch(words);
  });

  test("no server listens at the address", async () => {
    const gone = await startAwsServer();
    await gone.close();
    const world = awsWorldAt(gone.endpoint);
    for (const operation of [request, read, put, start]) {
      await expect(operation(world)).rejects.toThrow(/nothing answers at its address.*AWS_ENDPOINT_URL/);
    }
  });

  test("missing credentials or region", async () => {
    for (const name of ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"]) vi.stubEnv(name, undefined);
    vi.stubEnv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere");
    vi.stubEnv("AWS_CONFIG_FILE", "/nowhere");
    await expect(after([ok()], request)).rejects.toThrow(/there are no credentials.*sign in/);
    vi.stubEnv("AWS_REGION", undefined);
    await expect(after([ok()], read)).rejects.toThrow(/region is not set.*AWS_REGION/);
    expect(server.asked).toEqual([]);
  });
});

const NOTHING = { rows: [], behind: [], damaged: [], next: null };

test("invalid run IDs, tenants and cursors are answered without a request", async () => {
  const { table, inbox } = awsWorldAt(server.endpoint);
  server.answer(ok());
  const nobody = { ...OF, run: "../etc/passwd" };
  expect(await table.read(nobody.run, NOW)).toBeNull();
  expect(await table.request({ ...nobody, want: "cancel" })).toEqual({ kind: "missing" });
  expect(await inbox.deliver({ ...nobody, message: MESSAGE, deadline: NOW })).toEqual({ kind: "missing" });
  expect(await table.decide(nobody, PURGE)).toEqual({ kind: "missing" });
  expect(await inbox.unread({ ...nobody, limit: 9 })).toEqual([]);
  await inbox.clear({ ...nobody, ids: ["m"] });
  await inbox.forget(nobody);
  const page = { limit: 9, now: NOW, status: null };
  const cursors = ["", "x", "[]", "16/", `99/${RUN}`, "-1", `000000000000000${RUN}`, "\u0000", "~".repeat(9_000)];
  for (const after of cursors.flatMap((cursor) => [cursor, Buffer.from(cursor).toString("base64url")])) {
    expect(await table.list({ ...page, tenant: "acme", after })).toEqual(NOTHING);
    expect(await table.alive({ ...page, after })).toEqual(NOTHING);
  }
  expect(await table.list({ ...page, tenant: "acme#running", after: null })).toEqual(NOTHING);
  expect(server.asked).toEqual([]);
});
