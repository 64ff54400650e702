/** The beats of each agent in a function of their own: what it is called, what it may know, and what happens without it. */
import { describe, expect, test } from "vitest";

import { dashboardOf } from "../../infra/dashboard.ts";
import { environmentOf } from "../../infra/environment.ts";
import { statementsOf } from "../../infra/grants.ts";
import { agentFunction, checkAgentFunctions, namesOf, prefixOf } from "../../infra/names.ts";
import { agentFunctionsOf, functionsOf, planOf, secondsOf, secretsOf } from "../../infra/plan.ts";
import { watchesOf } from "../../infra/watches.ts";
import type { DeployOptions } from "../../src/sdk/config.ts";
import {
  DEFINITIONS,
  PAYLOAD,
  attemptOf,
  startMachine,
  outcomeOf,
  reply,
  endWithReply,
} from "../support/aws/state-machine-start.ts";
import { crashMachineTask, startMachineRun, runMachineToEnd } from "../support/aws/state-machine-runs.ts";
import type { Running } from "../support/aws/state-machine.ts";
import { scriptedAgent, createHarness } from "../support/harness/harness.ts";

const GONE = { error: "Lambda.ResourceNotFoundException" };
const names = namesOf("cairn-dev", { partition: "aws", region: "eu-west-1", account: "123456789012" });
const CLERK = { agent: "clerk", secrets: ["CARD_KEY", "TOKEN"] };
const TELLER = { agent: "teller", secrets: ["TOKEN"] };
const planned = (deploy: DeployOptions = {}, agents = [CLERK, TELLER]) => planOf({ deploy }, [], { agents });

describe("a deployment with isolated agents", () => {
  test("has a function of beats for each agent, and a shared one", () => {
    expect(functionsOf(planned()).filter((fn) => fn.startsWith("beat"))).toEqual(["beat", "beat_clerk", "beat_teller"]);
    expect(names.functionName("beat_clerk")).toBe("cairn-dev-beat_clerk");
    expect(secondsOf("beat_clerk", { beatSeconds: 90 })).toBe(90);
  });

  test("has only the shared one with one agent, or when its config asks for that", () => {
    expect(agentFunctionsOf(planned({}, [CLERK]))).toEqual([]);
    expect(agentFunctionsOf(planned({ isolation: "none" }))).toEqual([]);
    expect(agentFunctionsOf(planned({ isolation: "agent" }))).toHaveLength(2);
  });

  test("refuses a function whose name is too long for AWS, with the remedy", () => {
    const agent = "a".repeat(64 - "cairn-dev-beat_".length);
    expect(() => checkAgentFunctions(names, [agent, "clerk"])).not.toThrow();
    expect(() => checkAgentFunctions(names, ["clerk", `${agent}bc`])).toThrow(
      /AWS takes 64 characters; make the stage or the agent's name 2 shorter, or set deploy.isolation to "none"/,
    );
  });

  test.each([
    ["Clerk", "clerk"],
    ["clerk", "Clerk"],
  ])("refuses %s and %s, whose role names AWS treats as equal, with the remedy", (one, other) => {
    expect(() => checkAgentFunctions(names, [one, "teller", other])).toThrow(
      new RegExp(`^agents ${one} and ${other} cannot both .* rename one, or set deploy.isolation to "none"`),
    );
  });

  test("has no name in common with another stage", () => {
    expect(() => prefixOf("cairn", "dev-beat_clerk")).toThrow("cannot name a deployment");
  });
});

describe("the function of an agent", () => {
  test.each([
    ["beat_clerk", ["CARD_KEY", "TOKEN"]],
    ["beat_teller", ["TOKEN"]],
    ["beat", ["CARD_KEY", "TOKEN"]],
  ] as const)("%s knows and may read the secrets %j", (fn, secrets) => {
    const plan = planned();
    const own = secretsOf(fn, plan);
    expect(own).toEqual(secrets);
    expect(environmentOf(fn, { names, plan })["CAIRN_PARAMETERS"]).toBe(JSON.stringify(secrets));
    const granted = statementsOf(fn, names, { secrets: own }).filter(({ actions }) =>
      actions.includes("ssm:GetParameter"),
    );
    expect(granted.flatMap(({ resources }) => resources)).toEqual(secrets.map(names.parameterArn));
  });

  test("has otherwise the environment and permissions of the shared one, and its own log", () => {
    const plan = planned({ env: { SERVICES: "x" } });
    const { CAIRN_PARAMETERS: _, ...told } = environmentOf("beat_teller", { names, plan });
    expect(environmentOf("beat", { names, plan })).toMatchObject(told);
    expect(Object.keys(told)).toContain("SERVICES");
    const [shared, own] = (["beat", "beat_teller"] as const).map((fn) => statementsOf(fn, names, { secrets: [] }));
    expect(own?.slice(0, -1)).toEqual(shared?.slice(0, -1));
    expect(own?.at(-1)?.resources).toEqual([`${names.logGroupArn("beat_teller")}:*`]);
  });
});

describe("the alarms of isolated agents", () => {
  const plan = planned();
  const watches = watchesOf(names, plan);
  const named = (end: string) => watches.filter(({ name }) => name.endsWith(end)).map(({ name }) => name);

  test("cover throttling and timeouts of each function; one that throws routes has no alarm on errors", () => {
    for (const fn of functionsOf(plan)) {
      expect(named("-throttled")).toContain(`${fn}-throttled`);
      expect(named("-near-timeout")).toContain(`${fn}-near-timeout`);
    }
    expect(named("-errors").filter((name) => name.startsWith("beat"))).toEqual([]);
  });

  test("lead to the log of the agent's function, and name it", () => {
    const todoOf = (name: string): string => watches.find((each) => each.name === name)?.todo ?? "";
    for (const { name, todo } of watches) {
      expect(todo.length, name).toBeLessThan(900);
      // Only what one function does is in the log of that one.
      if (name !== "beat-near-timeout") expect(todo, name).not.toContain("/aws/lambda/cairn-dev-beat ");
      expect(todo.includes("AGENT is the agent of the run"), name).toBe(todo.includes("cairn-dev-beat_AGENT"));
    }
    expect(todoOf("takeovers")).toContain("aws logs tail /aws/lambda/cairn-dev-beat_AGENT --since");
    expect(todoOf("takeovers")).toContain("if that has no function, read the log of cairn-dev-beat");
    expect(todoOf("beat_clerk-near-timeout")).toContain("aws logs tail /aws/lambda/cairn-dev-beat_clerk --since");
    expect(todoOf("runs-queued-long")).toContain("beat_AGENT-throttled");
  });

  test("are on the dashboard, in widgets of as many alarms as CloudWatch allows", () => {
    const many = planned({}, [...Array.from({ length: 40 }, (_, at) => ({ agent: `agent-${at}`, secrets: [] }))]);
    const all = watchesOf(names, many);
    const { widgets } = dashboardOf(names, { watches: all, plan: many });
    const shown = widgets.flatMap((each) => (each.type === "alarm" ? [each.properties.alarms] : []));
    expect(shown.flat()).toEqual(all.map(({ name }) => names.alarmArn(name)));
    expect(Math.max(...shown.map(({ length }) => length))).toBe(100);
    const rows = widgets.filter(({ x }) => x === 0).map(({ y, height }) => [y, y + height]);
    expect(rows.slice(1).map(([top]) => top)).toEqual(rows.slice(0, -1).map(([, bottom]) => bottom));
    const curves = widgets.flatMap((each) => (each.type === "metric" ? each.properties.metrics : [])).map(String);
    for (const metric of ["Throttles", "Duration"])
      expect(
        curves.some((curve) => curve.startsWith(`AWS/Lambda,${metric},FunctionName,cairn-dev-beat_agent-7,`)),
      ).toBe(true);
  });
});

describe("the machine of isolated agents", () => {
  const calls = ({ state, task }: Running) => [state, task?.called, task?.code];

  test("calls the function of the run's agent, also after beats, waits, failures and parks", () => {
    const first = startMachine();
    expect(calls(first)).toEqual(["Beat", "cairn-beat_clerk", "live"]);
    expect(calls(endWithReply(first, { route: "beat", epoch: 2 }))).toEqual(["Beat", "cairn-beat_clerk", "7"]);
    expect(calls(endWithReply(first, { route: "wait", epoch: 2 }))).toEqual(["Beat", "cairn-beat_clerk", "7"]);
    expect(calls(first.end({ error: "TypeError" }))).toEqual(["Beat", "cairn-beat_clerk", "live"]);
    const parked = endWithReply(first, { route: "park", epoch: 2 });
    expect(calls(parked.end({ answer: null }))).toEqual(["Beat", "cairn-beat_clerk", "live"]);
  });

  test("takes the agent from the response of a beat, which is that of the row", () => {
    const answer = { ...reply({ route: "beat", epoch: 1 }), agent: "teller" };
    expect(calls(startMachine().end(outcomeOf(answer)))).toEqual(["Beat", "cairn-beat_teller", "7"]);
    const waits = { ...answer, route: "wait" as const };
    expect(calls(startMachine().end(outcomeOf(waits)))).toEqual(["Beat", "cairn-beat_teller", "7"]);
  });

  test("calls the shared function with the same task when that of the agent is missing", () => {
    const shared = endWithReply(startMachine(), { route: "beat", epoch: 2 }).end(GONE);
    expect(calls(shared)).toEqual(["Shared", "cairn-beat", "live"]);
    const attempt = { execution: "local-abc-b1-1", epoch: 2, retry: 500, died: null, changed: null };
    expect(shared.task?.event).toEqual({ kind: "beat", payload: { ...PAYLOAD, epoch: 2 }, attempt, shared: true });
    expect(shared.waited).toBe(0);
  });

  test("then calls the alias of the agent's function, because versions of the shared one are not its own", () => {
    const shared = startMachine().end(GONE);
    for (const route of ["beat", "wait", "park"] as const) {
      const next = shared.end(outcomeOf(reply({ route, epoch: 2, seconds: 5 }), { shared: true }));
      const after = route === "park" ? next.end({ answer: null }) : next;
      expect(calls(after), route).toEqual(["Beat", "cairn-beat_clerk", "live"]);
    }
  });

  test("counts failures of the shared function like failures of the agent's function", () => {
    const died = startMachine().end(GONE).end({ error: "Runtime.ExitError" });
    expect({ state: died.state, attempt: attemptOf(died) }).toMatchObject({
      state: "Beat",
      attempt: { retry: 1_000, died: 0 },
    });
    const again = died.end(GONE).end({ error: "StoreUnreachable" });
    expect({ state: again.state, attempt: attemptOf(again) }).toMatchObject({
      state: "Beat",
      attempt: { retry: 2_000, died: 0 },
    });
    const throttled = died.end(GONE).end({ error: "Lambda.TooManyRequestsException" });
    expect({ state: throttled.state, attempt: attemptOf(throttled) }).toMatchObject({
      state: "Shared",
      attempt: { retry: 1_501, died: 0 },
    });
  });

  test("schedule 24: an attempt with a lost response does not refuse the one of the shared function", async () => {
    const harness = createHarness();
    const by = { world: harness.world, agent: scriptedAgent({}) };
    const { run, machine } = await startMachineRun(harness, by.agent);
    // It claimed the run, and Step Functions repeats the call by itself; then the function is removed.
    await crashMachineTask(machine, by);
    const repeated = machine.end({ error: "Lambda.SdkClientException" });
    expect(repeated.state).toBe("Beat");
    await runMachineToEnd(harness, repeated.end(GONE), by);
    expect(harness.row(run)).toMatchObject({ status: "completed", takeovers: 1, chain: 1, deaths: 0 });
  });

  test("equals the machine without them when agents share a function", () => {
    expect(DEFINITIONS.shared.States.Shared).toBeUndefined();
    expect(DEFINITIONS.shared.States.Beat).toMatchObject({ Parameters: { FunctionName: "cairn-beat" } });
    expect(JSON.stringify(DEFINITIONS.shared)).not.toContain("$.agent");
  });
});

test("every agent name has a function name of its own", () => {
  expect(new Set(["a-b", "a_b", "ab"].map(agentFunction)).size).toBe(3);
});
