/** The AWS world fulfils the contracts of the ports, case by case, on the real service interfaces. */
import { afterAll, beforeAll, describe, test } from "vitest";
import {
  chainCases,
  deltaCases,
  memoryCases,
  objectStoreCases,
  recordCases,
  runTableCases,
} from "cairn-run/conformance";
import { type Deployment, deploy, undeploy } from "./deployment.ts";
import { worldsOf } from "./worlds.ts";

let deployment: Deployment;

beforeAll(async () => {
  deployment = await deploy();
});
afterAll(async () => {
  await undeploy(deployment);
});

describe("aws", () => {
  const worlds = worldsOf(() => deployment);
  test.each(runTableCases)("RunTable: $name", ({ run }) => run(worlds.table()));
  test.each(objectStoreCases)("ObjectStore: $name", ({ run }) => run(worlds.objects()));
  test.each(recordCases)("Records: $name", ({ run }) => run(worlds.records()));
  test.each(memoryCases)("Memory: $name", ({ run }) => run(worlds.memories()));
  test.each(deltaCases)("DeltaLog: $name", ({ run }) => run(worlds.deltas()));
  test.each(chainCases)("Chain: $name", ({ run }) => run(worlds.chain()));
});
