/** `deploy.tracing`: what traces with X-Ray, what its roles may do more, and that nothing else of the deployment changes. */
import { beforeAll, expect, test } from "vitest";
import { type Capture, type Resource, capture } from "../../infra/capture.ts";
import { functionsOf } from "../../infra/plan.ts";
import { type PolicyStatement, policyOf } from "../support/aws/iam-policies.ts";
import { PLACE, deployed } from "./deployed.ts";

const STAGE = "production";
const { plan, capture: untraced, names } = deployed(STAGE);

let traced: Capture;

beforeAll(async () => {
  const options = { ...plan.options, tracing: "xray" } as const;
  traced = await capture({ plan: { ...plan, options }, app: "cairn", stage: STAGE, place: PLACE });
});

const ofType = ({ resources }: Capture, type: string) => resources.filter((each) => each.type === `aws:${type}`);

/** The statements of each role by the name of the role, whichever way they are given. */
function statementsIn(given: Capture): ReadonlyMap<string, readonly PolicyStatement[]> {
  const inline = ofType(given, "iam/role:Role").flatMap(({ name, inputs }) => {
    const policies = (inputs["inlinePolicies"] ?? []) as readonly { readonly policy: string }[];
    return [[String(inputs["name"] ?? name), policies.flatMap(({ policy }) => policyOf(policy).Statement)] as const];
  });
  const all = new Map(inline);
  for (const { inputs } of ofType(given, "iam/rolePolicy:RolePolicy")) {
    const role = String(inputs["role"]);
    all.set(role, [...(all.get(role) ?? []), ...policyOf(inputs["policy"]).Statement]);
  }
  return all;
}

/** The properties that turn tracing on. */
const SWITCHES = ["tracingConfig", "tracingConfiguration", "xrayTracingEnabled"];

const switchesOf = ({ inputs }: Resource) =>
  Object.fromEntries(Object.entries(inputs).filter(([property]) => SWITCHES.includes(property)));

test("every function, the state machine and the stage of the API trace, and nothing else has a switch", () => {
  const found = traced.resources.flatMap((each) => {
    const on = switchesOf(each);
    return Object.keys(on).length === 0 ? [] : [[String(each.inputs["name"] ?? each.type), on] as const];
  });
  expect(Object.fromEntries(found)).toEqual({
    ...Object.fromEntries(
      functionsOf(plan).map((fn) => [names.functionName(fn), { tracingConfig: { mode: "Active" } }]),
    ),
    [names.prefix]: { tracingConfiguration: { enabled: true } },
    "aws:apigateway/stage:Stage": { xrayTracingEnabled: true },
  });
});

test("the roles of functions and machine may send traces, and no role may do anything else more", () => {
  const before = statementsIn(untraced);
  const after = statementsIn(traced);
  expect([...after.keys()].toSorted()).toEqual([...before.keys()].toSorted());
  const more = [...after].flatMap(([role, statements]) => {
    const known = new Set((before.get(role) ?? []).map((each) => JSON.stringify(each)));
    expect(statements.filter((each) => known.has(JSON.stringify(each)))).toHaveLength(known.size);
    const added = statements.filter((each) => !known.has(JSON.stringify(each)));
    return added.length === 0 ? [] : [[role, added] as const];
  });
  const sends = ["xray:PutTraceSegments", "xray:PutTelemetryRecords"];
  const allowed = (Action: readonly string[]) => [{ Effect: "Allow", Action, Resource: ["*"] }];
  const samples = ["xray:GetSamplingRules", "xray:GetSamplingTargets"];
  expect(Object.fromEntries(more)).toEqual({
    ...Object.fromEntries(functionsOf(plan).map((fn) => [names.functionName(fn), allowed(sends)])),
    [`${names.prefix}-machine`]: allowed([...sends, ...samples]),
  });
});

test("all else of the deployment is the same with and without tracing", () => {
  // The policies have a test of their own, and an archive lies in the folder of its capture.
  const apart = new Set([...SWITCHES, "inlinePolicies", "policy", "source"]);
  const others = ({ resources }: Capture) =>
    resources
      .map((each) => {
        const inputs = Object.entries(each.inputs).filter(([property]) => !apart.has(property));
        return { ...each, inputs: Object.fromEntries(inputs) };
      })
      .toSorted((one, other) => `${one.type} ${one.name}`.localeCompare(`${other.type} ${other.name}`));
  expect(others(traced)).toEqual(others(untraced));
  expect(untraced.resources.flatMap((each) => Object.keys(switchesOf(each)))).toEqual([]);
});
