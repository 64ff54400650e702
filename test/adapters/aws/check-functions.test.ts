/** What the doctor says of the functions that isolated agents have for themselves. */
import { expect, test } from "vitest";
import { isolatedOf } from "../../../src/sdk/config.ts";
import { agentsDescribed, describedAs } from "../../../src/adapters/aws/described-agents.ts";
import type { AwsSeen } from "../../../src/adapters/aws/doctor/inspection.ts";
import type { Look } from "../../../src/adapters/aws/doctor/looks.ts";
import type { FunctionSeen } from "../../../src/adapters/aws/doctor/machine-inspection.ts";
import { awsChecks } from "../../../src/adapters/aws/doctor/checks.ts";

import { judgeAll } from "../../../src/ports/diagnosis.ts";
import * as at from "../../support/aws/healthy-deployment.ts";

const { HEALTHY, withChanges, inspected } = at;
const MACHINE = HEALTHY.machine.kind === "seen" ? HEALTHY.machine.seen : null;
const BEAT = HEALTHY.functions.beat.kind === "seen" ? HEALTHY.functions.beat.seen : null;
const isolating = withChanges("machine", {
  definition: at.ISOLATED,
  ...(MACHINE === null ? {} : { calls: { ...MACHINE.calls, agents: at.AGENTS } }),
});
const own = (agent: string, change: Partial<FunctionSeen> = {}): Look<FunctionSeen> =>
  inspected({
    ...(BEAT as FunctionSeen),
    arn: at.AGENTS.replace("{}", agent),
    env: { ...BEAT?.env, CAIRN_PARAMETERS: '["ONLY_ITS_OWN"]' },
    ...change,
  });

const judged = (change: Partial<AwsSeen>, isolated: readonly string[]) =>
  judgeAll(awsChecks({ production: false }), {
    seen: at.caseOf({ ...HEALTHY, ...change }, isolated),
    production: false,
  });

const both = (teller: Look<FunctionSeen>): Partial<AwsSeen> => ({
  ...isolating,
  agents: { clerk: own("clerk"), teller },
});

const ENV = { ...BEAT?.env, CAIRN_TABLE: "other" };

test.each<[string, string, RegExp, Partial<AwsSeen>]>([
  ["are as the shared one", "ok", /cairn-beat_clerk: nodejs24.x.*cairn-beat_teller/, both(own("teller"))],
  ["are not there", "warn", /^agent teller has no function/, both({ kind: "missing" })],
  ["were not looked at", "warn", /^agent teller has no function/, { ...isolating, agents: { clerk: own("clerk") } }],
  ["are those of a machine that calls none", "warn", /clerk, teller share the function beat/, {}],
  ["have another runtime", "fail", /nodejs20.x.*it needs nodejs24/, both(own("teller", { runtime: "nodejs20.x" }))],
  ["live longer", "fail", /a timeout of 90 s, and beat has 60 s/, both(own("teller", { timeoutSeconds: 90 }))],
  [
    "are told another table",
    "fail",
    /different environment variables: CAIRN_TABLE$/,
    both(own("teller", { env: ENV })),
  ],
  ["may not be looked at", "unknown", /some:Action/, both({ kind: "denied", action: "some:Action" })],
])("functions of agents that %s are %s", (_, status, why, change) => {
  const verdict = judged(change, ["clerk", "teller"]).find(({ id }) => id === "function-agents");
  expect(verdict).toMatchObject({ status, why: expect.stringMatching(why) });
  expect(verdict?.mend === null).toBe(status === "ok");
});

test("functions of agents are not missed in the deployment of another project", () => {
  const beat = own("clerk", { described: agentsDescribed(describedAs(["baker"])) });
  const elsewhere = { ...both({ kind: "missing" }), functions: { ...HEALTHY.functions, beat } };
  const verdicts = judged(elsewhere, ["clerk", "teller"]);
  expect(verdicts.find(({ id }) => id === "agents-deployed")).toMatchObject({
    status: "warn",
    mend: expect.stringContaining("run doctor in the folder of that project"),
  });
  expect(verdicts.find(({ id }) => id === "function-agents")).toMatchObject({
    status: "unknown",
    why: "needs agents-deployed",
  });
});

test("a machine that calls functions of agents is the one of this version", () => {
  expect(judged(both(own("teller")), []).filter(({ status }) => status !== "ok")).toEqual(
    judged({}, []).filter(({ status }) => status !== "ok"),
  );
});

test("a name in the environment of an agent's function that looks like a secret is told", () => {
  const verdicts = judged(both(own("teller", { secrets: ["MODEL_API_KEY"] })), ["clerk", "teller"]);
  expect(verdicts.find(({ id }) => id === "secrets")).toMatchObject({
    ...{ status: "warn", why: expect.stringContaining("MODEL_API_KEY of the function of teller") },
  });
});

test("two agents or more are isolated, unless their config says otherwise", () => {
  expect(isolatedOf({ isolation: "agent" }, ["clerk", "teller"])).toEqual(["clerk", "teller"]);
  expect(isolatedOf({ isolation: "agent" }, ["clerk"])).toEqual([]);
  expect(isolatedOf({ isolation: "none" }, ["clerk", "teller"])).toEqual([]);
});
