/** What the function that streams events asks of AWS, and what its role allows: each is all of the other. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { statementsOf } from "../../infra/grants.ts";
import { EVENTS, namesOf } from "../../infra/names.ts";
import { createToken } from "../../src/operations/access/tokens.ts";
import { startRun } from "../../src/operations/start.ts";
import type { World } from "../../src/ports/world.ts";
import { dynamoTable } from "../support/aws/dynamo-table.ts";
import { eventReader } from "../support/aws/event-reader.ts";
import { LAMBDA_RUNTIME } from "../support/aws/lambda-streams.ts";
import { drive, runnerOf } from "../support/harness/drive.ts";
import { callsThenFinal, createHarness, scriptedAgent } from "../support/harness/harness.ts";
import { CLAIM } from "../../src/protocol/row-claim.ts";

const NAMES = namesOf("cairn-dev", { partition: "aws", region: "eu-west-1", account: "123456789012" });

beforeEach(() => void vi.stubGlobal("awslambda", LAMBDA_RUNTIME));
afterEach(() => void vi.unstubAllGlobals());

/** Whatever is called of it is noted, as an action of S3. */
const listened = (objects: World["objects"], onCall: (action: string) => void): World["objects"] =>
  new Proxy(objects, {
    get: (target, name: keyof World["objects"]) => {
      onCall(name === "get" ? "s3:GetObject" : `s3 ${name}`);
      return target[name];
    },
  });

const refused = new Proxy({}, { get: (_, name) => () => Promise.reject(new Error(`no ${String(name)} for a reader`)) });

test("readers with tokens, limits and deltas use every grant, and nothing that is not granted", async () => {
  const harness = createHarness();
  const memory = dynamoTable();
  const over = (onSent?: (sent: { readonly operation: string }) => void): World => {
    const process = memory.process(onSent);
    return {
      ...harness.world,
      table: process,
      inbox: process,
      deltas: memory.deltaLog(onSent),
      records: memory.records(onSent),
    };
  };
  const aside = over();
  const agent = scriptedAgent({ reply: callsThenFinal(1) });
  const begin = async () => {
    const started = await startRun(aside, { agent, input: {}, tenant: "local", idempotencyKey: null });
    if (started.kind !== "started") throw new Error(started.kind);
    return started.row;
  };
  const [{ run, born, epoch }, other] = [await begin(), await begin()];
  const made = { tenant: "local", by: "ann", scopes: ["runs:read"] as const, name: null, lifeMs: null };
  const { secret } = await createToken(aside, made);

  const used = new Set<string>();
  const own = over(({ operation }) => used.add(`dynamodb:${operation}`));
  const objects = listened(harness.world.objects, (action) => used.add(action));
  const world = { ...own, objects, chain: refused as World["chain"], leases: refused as World["leases"] };
  const { ask } = eventReader(harness, { world, byToken: true, limits: { local: { requestsPerMinute: 100 } } });
  const asked = { userArn: null, headers: { Authorization: `Bearer ${secret}` }, query: { deltas: "true" } } as const;
  expect((await ask(run, asked)).text).toContain(": the run has no news");
  const now = harness.clock.now();
  const entry = { execution: "x", epoch, retry: 0 };
  const lease = { owner: "a worker", leaseUntil: now + 60_000, level: 99, now };
  const claim = { run: other.run, born: other.born, chain: 1, entry, ...lease };
  expect((await aside.table.decide(claim, CLAIM)).kind).toBe("granted");
  const parts = [{ kind: "text", index: 0, text: "Hello, " }] as const;
  await aside.deltas.append({ run: other.run, born: other.born }, { epoch: 1, version: 0, seq: 1, at: now, parts });
  expect((await ask(other.run, asked)).text).toContain('"text":"Hello, "');
  await drive(runnerOf(aside, agent), { run, born, chain: 1, epoch, agent: agent.name });
  expect((await ask(run, asked)).text).toContain("event: end");

  const granted = statementsOf(EVENTS, NAMES, { secrets: [] }).flatMap(({ actions }) => actions);
  // S3 reports a missing object only to a role that may list, and Lambda itself writes the log.
  const unseen = new Set(["s3:ListBucket", "logs:CreateLogStream", "logs:PutLogEvents"]);
  expect([...used].toSorted()).toEqual(granted.filter((action) => !unseen.has(action)).toSorted());
});
