/** Deployments in one account do not collide: every name begins with the prefix of its deployment. */
import { expect, test } from "vitest";
import { type Deployed, STAGES, deployed } from "./deployed.ts";

/** Resources within another resource that has such a name: a role, a group of schedules, a function. */
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
  const deployment = deployed(stage);
  const names = namesOf(deployment);
  expect(names.length).toBeGreaterThan(60);
  const begins = new RegExp(`^(/aws/lambda/|/aws/vendedlogs/apis/)?${deployment.names.prefix}([-.]|$)`);
  // Function archives are in a bucket that SST keeps for the account.
  expect(names.filter((name) => !begins.test(name) && name !== "@{Bootstrap.assets}")).toEqual([]);
});

test("two stages have no name in common", () => {
  const [dev, production] = STAGES.map((stage) => new Set(namesOf(deployed(stage))));
  expect([...(dev ?? [])].filter((name) => production?.has(name))).toEqual(["@{Bootstrap.assets}"]);
});

/** The suffix that a stage would add to `-dev` so that its name of one resource equals another resource's name. */
function added(ends: readonly string[]): readonly string[] {
  return ends.flatMap((end) =>
    ends.flatMap((other) => (end !== other && end.endsWith(other) ? end.slice(0, end.length - other.length) : [])),
  );
}

const IS_STAGE = /^-[a-z0-9]+(?:-[a-z0-9]+)*$/;

test.each(STAGES)("no stage with a longer name has a name in common with %s", (stage) => {
  const { resources, names } = deployed(stage);
  const ends = Map.groupBy(
    resources.flatMap(({ type, inputs }) => {
      const { name } = inputs;
      const isOwn = typeof name === "string" && name.startsWith(names.prefix) && WITHIN[type] === undefined;
      return isOwn ? [{ type, end: name.slice(names.prefix.length) }] : [];
    }),
    ({ type }) => type,
  );
  expect(ends.size).toBeGreaterThan(6);
  for (const [type, named] of ends) {
    const meeting = added(named.map(({ end }) => end)).filter((each) => IS_STAGE.test(each));
    expect(meeting, type).toEqual([]);
  }
  // With one schedule group named `-agents` and one without a suffix, the stage `dev-agents` would collide with `dev`.
  expect(added(["", "-agents"]).filter((each) => IS_STAGE.test(each))).toEqual(["-agents"]);
  expect(added(["", ".agents"]).filter((each) => IS_STAGE.test(each))).toEqual([]);
});
