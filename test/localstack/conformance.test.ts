/** The AWS world fulfils the contracts of the ports, case by case, on the real service interfaces. */
import { afterAll, beforeAll, describe, test } from "vitest";
import { chainCases, objectStoreCases, runTableCases } from "cairn-run/conformance";
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
  test.each(chainCases)("Chain: $name", ({ run }) => run(worlds.chain()));
});
