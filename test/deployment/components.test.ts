/**
 * Several components of one app and stage: one with its own stores, one with stores that exist, one whose stores have a
 * key, and whose agents have options and a domain.
 */
import { beforeAll, describe, expect, inject, test } from "vitest";
import { type Capture, capture } from "../../infra/capture.ts";
import { FITTING_TABLE } from "../../infra/made-up.ts";
import type { CairnOptions } from "../../infra/options.ts";
import { planOf } from "../../infra/plan.ts";
import { identityText } from "../../src/adapters/aws/table/store-identity.ts";
import { PLACE } from "./deployed.ts";

const KEY = "arn:aws:kms:eu-west-1:123456789012:key/1234-abcd";
const QUEUE = "arn:aws:sqs:eu-west-1:123456789012:orders";
const CERT = "arn:aws:acm:eu-west-1:123456789012:certificate/1";

const BILLING: CairnOptions = { table: "billing", bucket: "arn:aws:s3:::billing-objects", api: false, alarms: false };
const SAFE: CairnOptions = {
  kmsKey: KEY,
  access: {
    auth: "jwt",
    jwt: {
      ...{ issuer: "https://issuer.example", audience: "cairn", tenantClaim: "org" },
      ...{ jwks: "https://keys.example/keys.json", algorithms: ["ES384"] },
    },
  },
  domain: { name: "agents.example.org", cert: CERT, dns: false },
  env: { PLACE: "shop" },
  agents: {
    teller: {
      ...{ memoryMb: 2_048, env: { QUEUE: "orders" }, layers: ["arn:aws:lambda:eu-west-1:1:layer:fonts:1"] },
      permissions: [{ actions: ["sqs:SendMessage"], resources: [QUEUE] }],
      vpc: { privateSubnets: ["subnet-1"], securityGroups: ["sg-1"] },
    },
  },
};

const place = { app: "cairn", stage: "dev", place: PLACE };

function plan() {
  const agents = ["travel", "teller"].map((agent) => ({ agent, secrets: [] }));
  return planOf({}, inject("deployed").bundles, { agents });
}

let found: Capture;

beforeAll(async () => {
  const others = [
    { name: "Billing", plan: plan(), options: BILLING },
    { name: "Safe", plan: plan(), options: SAFE },
  ];
  found = await capture({ ...place, plan: plan(), others });
});

/** The inputs of all resources of a type in one component, whose names in the description begin with that. */
const of = (component: string, type: string) =>
  found.resources.filter(({ type: own, name }) => own === `aws:${type}` && name.startsWith(component));

const only = (component: string, type: string) => {
  const all = of(component, type);
  expect(all).toHaveLength(1);
  return all[0]?.inputs;
};

const fn = (component: string, name: string) => {
  const prefix = `cairn-dev---${component.toLowerCase()}`;
  const inputs = of(component, "lambda/function:Function").find(
    (each) => each.inputs["name"] === `${prefix}-${name}`,
  )?.inputs;
  const environment = inputs?.["environment"] as { readonly variables: Readonly<Record<string, string>> } | undefined;
  return { inputs, variables: environment?.variables ?? {} };
};

const statementsOf = (component: string, name: string) => {
  const role = found.resources.find(
    ({ inputs }) => inputs["name"] === `cairn-dev---${component.toLowerCase()}-${name}` && "assumeRolePolicy" in inputs,
  );
  return JSON.stringify(role?.inputs);
};

test("no two resources have one name, in the description or in AWS", () => {
  const named = found.resources.map(({ type, name }) => `${type} ${name}`);
  expect(new Set(named).size).toBe(named.length);
  const physical = found.resources.flatMap(({ type, inputs }) => {
    const { name, groupName = "", functionName = "", role = "" } = inputs;
    return typeof name === "string"
      ? [`${type} ${String(groupName)} ${String(functionName)} ${String(role)} ${name}`]
      : [];
  });
  expect(physical.length).toBeGreaterThan(100);
  expect(new Set(physical).size).toBe(physical.length);
});

test("the component Cairn has the names of its stage alone", () => {
  const { resources } = inject("deployed").stages.dev.capture;
  const named = new Set(found.resources.map(({ type, name }) => `${type} ${name}`));
  const missing = resources.filter(({ type, name }) => !named.has(`${type} ${name}`));
  expect(missing).toEqual([]);
});

describe("stores that exist", () => {
  test("are used, and neither created nor configured", () => {
    expect(of("Billing", "dynamodb/table:Table")).toEqual([]);
    const ofBuckets = found.resources.filter(
      ({ type, inputs }) => /:s3\//.test(type) && inputs["bucket"] === "billing-objects",
    );
    expect(ofBuckets).toEqual([expect.objectContaining({ name: "BillingStoreOfBucket" })]);
    expect(fn("Billing", "beat_teller").variables).toMatchObject({
      CAIRN_TABLE: "billing",
      CAIRN_BUCKET: "billing-objects",
    });
    expect(statementsOf("Billing", "beat_teller")).toContain("table/billing");
    expect(only("Billing", "lambda/eventSourceMapping:EventSourceMapping")).toMatchObject({
      eventSourceArn: "@{BillingRunsTable.streamArn}",
    });
  });

  test("are marked with the ID of the store, so that no other component uses them", () => {
    const store = "123456789012/eu-west-1/cairn-dev---billing";
    expect(only("Billing", "dynamodb/tableItem:TableItem")).toMatchObject({ item: expect.stringContaining(store) });
    expect(of("Billing", "s3/bucketObjectv2:BucketObjectv2").map(({ inputs }) => inputs)).toContainEqual(
      expect.objectContaining({ bucket: "billing-objects", content: identityText(store) }),
    );
  });

  test.each([
    [
      "a table without a stream",
      { "aws:dynamodb/getTable:getTable": { ...FITTING_TABLE, streamEnabled: false } },
      /table billing cannot hold runs:\s+its stream must be on/,
    ],
    [
      "a bucket of another region",
      { "aws:s3/getBucket:getBucket": { bucketRegion: "us-east-1" } },
      /bucket billing-objects is in us-east-1, and this deployment in eu-west-1/,
    ],
  ])("are refused before anything is created: %s", async (_, answers, why) => {
    await expect(capture({ ...place, plan: plan(), options: BILLING, answers })).rejects.toThrow(why);
  });
});

test("a component without API and alarms has neither", () => {
  expect(of("Billing", "apigateway/restApi:RestApi")).toEqual([]);
  expect(of("Billing", "cloudwatch/metricAlarm:MetricAlarm")).toEqual([]);
  expect(of("Safe", "apigateway/restApi:RestApi")).toHaveLength(1);
});

test("a key encrypts table and bucket, and every function may use it through them only", () => {
  expect(only("Safe", "dynamodb/table:Table")).toMatchObject({
    serverSideEncryption: { enabled: true, kmsKeyArn: KEY },
  });
  const encryption = only("Safe", "s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration");
  expect(encryption).toMatchObject({
    rules: [
      { applyServerSideEncryptionByDefault: { sseAlgorithm: "aws:kms", kmsMasterKeyId: KEY }, bucketKeyEnabled: true },
    ],
  });
  for (const name of ["beat", "beat_teller", "park", "start", "sweep", "cleanup", "api"]) {
    expect(statementsOf("Safe", name)).toMatch(/kms:Decrypt.+kms:ViaService/);
  }
  expect(statementsOf("Billing", "beat")).not.toContain("kms:");
});

test("the options of an agent hold in its own function, and those of the component in all functions with agents", () => {
  const teller = fn("Safe", "beat_teller");
  expect(teller.variables).toMatchObject({ PLACE: "shop", QUEUE: "orders" });
  expect(teller.inputs).toMatchObject({
    memorySize: 2_048,
    layers: ["arn:aws:lambda:eu-west-1:1:layer:fonts:1"],
    vpcConfig: { subnetIds: ["subnet-1"], securityGroupIds: ["sg-1"] },
  });
  expect(statementsOf("Safe", "beat_teller")).toContain(QUEUE);
  expect(statementsOf("Safe", "beat_teller")).toContain("ec2:CreateNetworkInterface");
  for (const other of ["beat_travel", "beat", "api"]) {
    expect(fn("Safe", other).variables).toMatchObject({ PLACE: "shop" });
    expect(fn("Safe", other).variables).not.toHaveProperty("QUEUE");
    expect(statementsOf("Safe", other)).not.toContain(QUEUE);
  }
  expect(fn("Safe", "beat_travel").inputs).toMatchObject({ memorySize: 512 });
  expect(fn("Safe", "sweep").variables).not.toHaveProperty("PLACE");
});

test("a domain leads to the API", () => {
  expect(only("Safe", "apigateway/domainName:DomainName")).toMatchObject({ domainName: "agents.example.org" });
  expect(of("Safe", "apigateway/basePathMapping:BasePathMapping")).toHaveLength(1);
});

test("the API of a component with tokens of an issuer passes every request to its function, which knows the issuer", () => {
  const authorizations = (component: string) =>
    found.resources
      .filter(
        ({ type, name }) =>
          type === "aws:apigateway/method:Method" && name.startsWith("Safe") === (component === "Safe"),
      )
      .map(({ inputs }) => inputs["authorization"]);
  expect(authorizations("Safe")).not.toContain("AWS_IAM");
  expect(authorizations("others")).toContain("AWS_IAM");
  expect(JSON.parse(String(fn("Safe", "api").variables["CAIRN_ACCESS"]))).toEqual(SAFE.access);
  expect(fn("Safe", "beat").variables).not.toHaveProperty("CAIRN_ACCESS");
});
