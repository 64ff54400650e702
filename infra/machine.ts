/** Creates the state machine with the definition that the chain's own table generates, under a fixed name. */
import { definitionOf } from "../src/adapters/aws/machine/asl.ts";
import { type AgentBeat, type Functions, publish } from "./functions.ts";
import { agentFunction } from "./names.ts";
import { machineTimesOf } from "./plan.ts";
import type { Site } from "./site.ts";
import { MACHINE_TRACES, isTraced } from "./tracing.ts";
import { trustOf } from "./trust.ts";

/** `agents`: the functions of isolated agents. The state machine calls them by the name of a run's agent. */
export function createMachine(
  site: Site,
  { functions, agents }: { readonly functions: Functions; readonly agents: readonly AgentBeat[] },
): aws.sfn.StateMachine {
  const { names, plan, called } = site;
  const { beat, park, sweep, start, api } = functions;
  const ofEach = agents.map(({ fn, made }) => publish(fn, made, site));
  // The shared function is published after the others. Otherwise a run that waits for a new agent would find it there,
  // before the agent's own function is available.
  const live = [...ofEach, publish("beat", beat, site, ofEach)];
  const role = new aws.iam.Role(called("MachineRole"), {
    name: `${names.prefix}-machine`,
    assumeRolePolicy: trustOf(names, "states"),
  });
  /**
   * Permission for every name that an agent's function can have, even if no agent is isolated any more. An execution
   * may call a function that was removed. AWS reports it as missing only to a caller that may invoke it; another caller
   * is denied (`Lambda.AWSLambdaException`). The state machine would take that for throttling, and retry for an hour.
   */
  const ofAgents = names.functionArn(agentFunction("*"));
  const policy = new aws.iam.RolePolicy(called("MachineCalls"), {
    name: "calls",
    role: role.name,
    policy: $jsonStringify({
      Version: "2012-10-17",
      Statement: [
        {
          ...{ Effect: "Allow", Action: ["lambda:InvokeFunction"] },
          Resource: [beat.arn, $interpolate`${beat.arn}:*`, park.arn, sweep.arn, ofAgents],
        },
        ...(isTraced(plan)
          ? [{ Effect: "Allow", Action: MACHINE_TRACES.actions, Resource: MACHINE_TRACES.resources }]
          : []),
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
    called("Machine"),
    {
      ...{ name: names.prefix, type: "STANDARD", roleArn: role.arn, definition },
      ...(isTraced(plan) && { tracingConfiguration: { enabled: true } }),
    },
    // Start functions of an earlier version pass no agent name to the execution, so they are updated first.
    { dependsOn: [policy, ...live, ...(agents.length === 0 ? [] : [start, api])] },
  );
}
