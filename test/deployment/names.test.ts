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
  const begins = new RegExp(`^(/aws/lambda/|/aws/vendedlogs/apis/)?${on.names.prefix}([-.]|$)`);
  // Archives of functions lie in a bucket that SST keeps for the account.
  expect(names.filter((name) => !begins.test(name) && name !== "@{Bootstrap.assets}")).toEqual([]);
});

test("two stages share no name", () => {
  const [dev, production] = STAGES.map((stage) => new Set(namesOf(deployed(stage))));
  expect([...(dev ?? [])].filter((name) => production?.has(name))).toEqual(["@{Bootstrap.assets}"]);
});

/** Of two names of one kind: what a stage of the app would have to add to `-dev` so that the one is its other. */
function added(ends: readonly string[]): readonly string[] {
  return ends.flatMap((end) =>
    ends.flatMap((other) => (end !== other && end.endsWith(other) ? end.slice(0, end.length - other.length) : [])),
  );
}

const IS_STAGE = /^-[a-z0-9]+(?:-[a-z0-9]+)*$/;

test.each(STAGES)("no stage with a longer name has a name of %s", (stage) => {
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
  // With a group of schedules named `-agents` beside one without an end, the stage `dev-agents` would meet `dev`.
  expect(added(["", "-agents"]).filter((each) => IS_STAGE.test(each))).toEqual(["-agents"]);
  expect(added(["", ".agents"]).filter((each) => IS_STAGE.test(each))).toEqual([]);
});
