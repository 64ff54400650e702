/** Agents that have a Lambda function each: what they do not share, and a run whose agent has none. */
import { GetRolePolicyCommand } from "@aws-sdk/client-iam";
import { GetFunctionConfigurationCommand } from "@aws-sdk/client-lambda";
import { PutParameterCommand, SSMClient } from "@aws-sdk/client-ssm";
import { beforeAll, describe, expect, inject, test } from "vitest";
import { clientsOf } from "../../localstack/clients.ts";
import { PLACE } from "../../localstack/place.ts";
import { inspectAws } from "../../src/adapters/aws/doctor/inspection.ts";
import { parameterOf } from "../../src/adapters/aws/table/keys.ts";
import { readingClients } from "../../src/adapters/aws/doctor/reading-clients.ts";
import { moveRollout, readBeatFunctions, readRollout } from "../../src/adapters/aws/machine/rollout.ts";
import { awsChecks } from "../../src/adapters/aws/doctor/checks.ts";
import { judgeAll } from "../../src/ports/diagnosis.ts";
import { limitsFor } from "../../src/protocol/limits.ts";
import { sendRequest } from "../../src/engine/loop/request.ts";
import { clerk } from "./fixtures/clerk.ts";
import { gatherer } from "./fixtures/gatherer.ts";
import { latecomer } from "./fixtures/latecomer.ts";
import { planter } from "./fixtures/planter.ts";
import { type Policy, allows, grantsOf } from "./iam.ts";
import { type Lane, ended, historyOf, laneAt, nameOf, parked, rowOf, started, statesOf, until } from "./lane.ts";
import { deployStacks } from "./stacks.ts";

const clients = clientsOf(inject("stacks").url);
const AGENTS = ["clerk.ts", "gatherer.ts", "planter.ts"] as const;
const deployed = async (agents: readonly string[]): Promise<Lane> =>
  laneAt((await deployStacks(inject("stacks"), { agents, names: ["isolated"] })).isolated);

let lane: Lane;
let parameter: string;

beforeAll(async () => {
  lane = await deployed(AGENTS);
  parameter = parameterOf(lane.stack.table, "LANE_PLANTED");
  const put = { Name: parameter, Value: "pl4nted/secret", Type: "SecureString", Overwrite: true } as const;
  await new SSMClient().send(new PutParameterCommand(put));
});

async function grantsTo(agent: string) {
  const RoleName = `${lane.stack.table}-beat_${agent}`;
  const { PolicyDocument = "" } = await clients.roles.send(
    new GetRolePolicyCommand({ RoleName, PolicyName: "inline" }),
  );
  return grantsOf(JSON.parse(decodeURIComponent(PolicyDocument)) as Policy);
}

/** The functions that the tasks of an execution called, in order, each as often as it was in turn. */
async function calledIn(execution: string): Promise<readonly string[]> {
  const called = (await historyOf(lane, execution)).flatMap(({ taskScheduledEventDetails }) => {
    const asked = JSON.parse(taskScheduledEventDetails?.parameters ?? "{}") as { readonly FunctionName?: string };
    return asked.FunctionName?.split(`:function:${lane.stack.table}-`)[1] ?? [];
  });
  return called.filter((name, index) => name !== called[index - 1]);
}

describe("agents with a function each", () => {
  test("share no process, no environment and no secret", async () => {
    const planting = await started(lane, { agent: planter, input: {} });
    expect(await ended(lane, planting.run)).toMatchObject({ status: "completed", result: { has: 14 } });
    const gathering = await started(lane, { agent: gatherer, input: {} });
    expect(await ended(lane, gathering.run)).toMatchObject({
      status: "completed",
      result: { planted: [false, false, null], parameters: "[]", function: `${lane.stack.table}-beat_gatherer` },
    });
    const need = {
      action: "ssm:GetParameter",
      resource: `arn:aws:ssm:${PLACE.region}:${PLACE.account}:parameter${parameter}`,
    };
    expect((await grantsTo("planter")).some((grant) => allows(grant, need))).toBe(true);
    expect((await grantsTo("gatherer")).some((grant) => allows(grant, need))).toBe(false);
    const FunctionName = `${lane.stack.table}-beat_planter`;
    const { Environment } = await clients.functions.send(new GetFunctionConfigurationCommand({ FunctionName }));
    expect(Environment?.Variables?.["CAIRN_PARAMETERS"]).toBe('["LANE_PLANTED"]');
  });

  test("are each called under their own name, also after a death", async () => {
    const row = await started(lane, { agent: clerk, input: { steps: [{ do: "order", wrong: 1 }] } });
    expect(await ended(lane, row.run)).toMatchObject({ status: "completed" });
    expect(await calledIn(nameOf(row, 1))).toEqual(["beat_clerk"]);
    expect(await statesOf(lane, nameOf(row, 1))).toContain("Died");
  });

  test("are rolled out one by one", async () => {
    const reading = readingClients();
    const functions = await readBeatFunctions(reading, lane.stack.machine);
    expect(functions.map(({ agent }) => agent)).toEqual(expect.arrayContaining(["clerk", "gatherer", "planter"]));
    const fn = functions.find(({ agent }) => agent === "gatherer") ?? { agent: null, beat: "" };
    const read = await readRollout(reading, fn);
    const [first = ""] = read.published;
    expect(await moveRollout(reading, read, { version: first, next: null })).toBe("moved");
    expect(await readRollout(reading, fn)).toMatchObject({ agent: "gatherer", version: first, next: null });
  });

  test("are well for the doctor, which misses one that is not deployed", async () => {
    const judged = async (agents: readonly string[]) => {
      const aws = await inspectAws({ names: lane.stack, probe: false, agents, onLook: () => {} });
      const seen = { aws, limits: limitsFor(60_000), agents, isolated: agents };
      const all = judgeAll(awsChecks({ production: false }), { seen, production: false });
      return all.filter(({ id }) => id === "function-agents" || id === "machine-definition");
    };
    expect(await judged(["clerk", "planter"])).toMatchObject([{ status: "ok" }, { status: "ok" }]);
    expect(await judged(["clerk", "nobody"])).toMatchObject([
      { status: "ok" },
      { status: "warn", why: expect.stringContaining("agent nobody has no function") },
    ]);
  });
});

test("a run whose agent has no function waits for its agent, and goes on in its function once that is deployed", async () => {
  const row = await started(lane, { agent: latecomer, input: {} });
  await until(async () => expect(await rowOf(lane, row.run)).toMatchObject({ phase: "AwaitingAgent" }));
  await parked(lane, row.run);
  // The first name is that of a function which is not there.
  expect((await calledIn(nameOf(row, 1))).slice(0, 3)).toEqual(["beat_latecomer", "beat", "park"]);
  expect(await statesOf(lane, nameOf(row, 1))).not.toContain("Died");
  await deployed([...AGENTS, "latecomer.ts"]);
  await sendRequest(lane.world, { run: row.run, want: "resume" });
  expect(await ended(lane, row.run)).toMatchObject({
    ...{ status: "completed", result: { function: `${lane.stack.table}-beat_latecomer`, parameters: "[]" } },
  });
  expect(await rowOf(lane, row.run)).toMatchObject({ chain: 1, takeovers: 0, deaths: 0 });
  expect((await calledIn(nameOf(row, 1))).at(-1)).toBe("beat_latecomer");
});
