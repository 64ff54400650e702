/** The state machine: the definition that the chain's own table makes, under a fixed name. */
import { definitionOf } from "../src/adapters/aws/asl.ts";
import { type AgentBeat, type Functions, publish } from "./functions.ts";
import { agentFunction } from "./names.ts";
import { machineTimesOf } from "./plan.ts";
import type { Site } from "./site.ts";
import { trustOf } from "./trust.ts";

/** The functions of isolated agents, which the machine calls by the name of a run's agent. */
export function createMachine(
  { names, plan }: Site,
  { functions, agents }: { readonly functions: Functions; readonly agents: readonly AgentBeat[] },
): aws.sfn.StateMachine {
  const { beat, park, sweep, start, api } = functions;
  const ofEach = agents.map(({ fn, made }) => publish(fn, made, { plan }));
  // A run that waits for a new agent must not find it in the shared function before the agent has its own.
  const live = [...ofEach, publish("beat", beat, { plan, after: ofEach })];
  const role = new aws.iam.Role("MachineRole", {
    name: `${names.prefix}-machine`,
    assumeRolePolicy: trustOf(names, "states"),
  });
  /**
   * Every name that the function of an agent can have, also where no agent is isolated any more. An execution may call a
   * function that was removed: AWS says that it is not there only to a caller that may invoke it. Any other call is denied
   * (`Lambda.AWSLambdaException`), which the machine would take for a throttle and try again for an hour.
   */
  const ofAgents = names.functionArn(agentFunction("*"));
  const policy = new aws.iam.RolePolicy("MachineCalls", {
    name: "calls",
    role: role.name,
    policy: $jsonStringify({
      Version: "2012-10-17",
      Statement: [
        {
          ...{ Effect: "Allow", Action: ["lambda:InvokeFunction"] },
          Resource: [beat.arn, $interpolate`${beat.arn}:*`, park.arn, sweep.arn, ofAgents],
        },
      ],
    }),
  });
  const definition = $resolve([beat.arn, park.arn, sweep.arn]).apply(([beatArn, parkArn, sweepArn]) =>
    JSON.stringify(
      definitionOf({
        functions: {
          ...{ beat: beatArn, park: parkArn, sweep: sweepArn },
          ...(agents.length === 0 ? {} : { agents: names.functionArn(agentFunction("{}")) }),
        },
        ...machineTimesOf(plan),
      }),
    ),
  );
  return new aws.sfn.StateMachine(
    "Machine",
    { name: names.prefix, type: "STANDARD", roleArn: role.arn, definition },
    // A function of an earlier version starts executions whose input names no agent.
    { dependsOn: [policy, ...live, ...(agents.length === 0 ? [] : [start, api])] },
  );
}
