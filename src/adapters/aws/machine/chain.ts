/**
 * Chain on Step Functions Standard. A name starts one execution, ever. While that execution runs, AWS answers a
 * repeated start with the same payload like the first one. Every other repeated start must find out whether the
 * execution runs.
 */
import {
  DescribeExecutionCommand,
  type SFNClient,
  SendTaskSuccessCommand,
  StartExecutionCommand,
} from "@aws-sdk/client-sfn";
import type { Chain } from "../../../ports/chain.ts";
import { isNamed, reachingService } from "../errors.ts";
import { firstInput } from "./machine-input.ts";

/** The chain on the state machine with the ARN `machine`. Both operations reject only with `StoreUnreachable`. */
export function stepFunctionsChain({
  client,
  machine,
}: {
  readonly client: SFNClient;
  readonly machine: string;
}): Chain {
  const service = `the state machine ${machine}`;
  /** An execution that exists but cannot be described yet has just begun. */
  const isRunning = async (name: string): Promise<boolean> => {
    try {
      const { status } = await client.send(new DescribeExecutionCommand({ executionArn: executionArn(machine, name) }));
      return status === "RUNNING" || status === "PENDING_REDRIVE";
    } catch (error) {
      if (isNamed(error, "ExecutionDoesNotExist")) return true;
      throw error;
    }
  };
  return {
    start: (name, payload) =>
      reachingService(service, async () => {
        const input = JSON.stringify(firstInput(payload));
        try {
          await client.send(new StartExecutionCommand({ stateMachineArn: machine, name, input }));
          return { kind: "started" };
        } catch (error) {
          if (!isNamed(error, "ExecutionAlreadyExists")) throw error;
          return { kind: "exists", running: await isRunning(name) };
        }
      }),
    wake: (token) =>
      reachingService(service, async () => {
        try {
          await client.send(new SendTaskSuccessCommand({ taskToken: token, output: "{}" }));
          return { kind: "woken" };
        } catch (error) {
          if (isNamed(error, "TaskTimedOut", "TaskDoesNotExist", "InvalidToken")) return { kind: "awake" };
          throw error;
        }
      }),
  };
}

/** The ARN of an execution. `machine` is `arn:…:stateMachine:NAME`, perhaps with a version or an alias after it. */
export function executionArn(machine: string, name: string): string {
  const [arn, partition, service, region, account, , definition] = machine.split(":");
  return [arn, partition, service, region, account, "execution", definition, name].join(":");
}
