/** The state machine: the definition that the chain's own table makes, under a fixed name. */
import { definitionOf } from "../src/adapters/aws/asl.ts";
import { type Functions, publishBeat } from "./functions.ts";
import { machineTimesOf } from "./plan.ts";
import type { Site } from "./site.ts";
import { trustOf } from "./trust.ts";

export function createMachine({ names, plan }: Site, functions: Functions): aws.sfn.StateMachine {
  const { beat, park, sweep } = functions;
  const live = publishBeat(functions, plan.options);
  const role = new aws.iam.Role("MachineRole", {
    name: `${names.prefix}-machine`,
    assumeRolePolicy: trustOf(names, "states"),
  });
  const policy = new aws.iam.RolePolicy("MachineCalls", {
    name: "calls",
    role: role.name,
    policy: $jsonStringify({
      Version: "2012-10-17",
      Statement: [
        {
          ...{ Effect: "Allow", Action: ["lambda:InvokeFunction"] },
          Resource: [beat.arn, $interpolate`${beat.arn}:*`, park.arn, sweep.arn],
        },
      ],
    }),
  });
  const definition = $resolve([beat.arn, park.arn, sweep.arn]).apply(([beatArn, parkArn, sweepArn]) =>
    JSON.stringify(
      definitionOf({
        functions: { beat: beatArn, park: parkArn, sweep: sweepArn },
        ...machineTimesOf(plan),
      }),
    ),
  );
  return new aws.sfn.StateMachine(
    "Machine",
    { name: names.prefix, type: "STANDARD", roleArn: role.arn, definition },
    { dependsOn: [policy, live] },
  );
}
