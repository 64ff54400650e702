/** Deployments of one account do not meet: all that has a name begins with the one of its own. */
import { expect, test } from "vitest";
import { type Deployed, STAGES, deployed } from "./deployed.ts";

/** They lie in something that has such a name: a role, a group of schedules, a function. */
const WITHIN: Readonly<Record<string, string>> = {
  "aws:iam/rolePolicy:RolePolicy": "role",
  "aws:scheduler/schedule:Schedule": "groupName",
  "aws:lambda/alias:Alias": "functionName",
};

const NAMING = ["name", "bucket", "dashboardName", "tableName"];

const namesOf = ({ resources }: Deployed): readonly string[] =>
  resources.flatMap(({ type, inputs }) => {
    const naming = WITHIN[type];
    return (naming === undefined ? NAMING : [naming])
      .map((input) => inputs[input])
      .filter((each) => each !== undefined)
      .map(String);
  });

test.each(STAGES)("all names in %s begin with its prefix", (stage) => {
  const on = deployed(stage);
  const names = namesOf(on);
  expect(names.length).toBeGreaterThan(60);
  const begins = new RegExp(`^(/aws/lambda/|/aws/vendedlogs/apis/)?${on.names.prefix}(-|$)`);
  // Archives of functions lie in a bucket that SST keeps for the account.
  expect(names.filter((name) => !begins.test(name) && name !== "@{Bootstrap.assets}")).toEqual([]);
});

test("two stages share no name", () => {
  const [dev, production] = STAGES.map((stage) => new Set(namesOf(deployed(stage))));
  expect([...(dev ?? [])].filter((name) => production?.has(name))).toEqual(["@{Bootstrap.assets}"]);
});
