/**
 * The AWS SDK of durable executions, one step per beat. Its transport is a log of checkpoints in a file: each one is
 * synced before it is answered, as the service stores it before it answers.
 */
import { open as openFile } from "node:fs/promises";
import { join } from "node:path";
import { withDurableExecution } from "@aws/durable-execution-sdk-js";

const STATUS = { START: "STARTED", SUCCEED: "SUCCEEDED", FAIL: "FAILED", RETRY: "PENDING", CANCEL: "CANCELLED" };

function transport(log) {
  const operations = new Map();
  let token = 0;
  return {
    getExecutionState: async () => ({ Operations: [...operations.values()] }),
    checkpoint: async ({ Updates = [] }) => {
      const changed = Updates.map(({ Id, ParentId, Name, Type, SubType, Action, Payload, Error }) => {
        const before = operations.get(Id) ?? { Id, ParentId, Name, Type, SubType, StartTimestamp: new Date() };
        const details =
          Payload === undefined && Error === undefined ? {} : { StepDetails: { Attempt: 1, Result: Payload, Error } };
        const operation = { ...before, Status: STATUS[Action], ...details };
        operations.set(Id, operation);
        return operation;
      });
      await log.appendFile(`${JSON.stringify(Updates)}\n`);
      await log.datasync();
      token += 1;
      return { CheckpointToken: String(token), NewExecutionState: { Operations: changed } };
    },
  };
}

async function one(dir, steps, run) {
  const log = await openFile(join(dir, `${run}.log`), "a");
  const handler = withDurableExecution(
    async (_event, context) => {
      for (let turn = 0; turn < steps.beats; turn += 1) {
        await context.step(`beat-${turn}`, async () => ({ reply: steps.model(turn), result: steps.tool(turn) }));
      }
      return "done";
    },
    { durableExecutionClient: transport(log) },
  );
  const execution = { Id: "execution", Type: "EXECUTION", Status: "STARTED", StartTimestamp: new Date() };
  const answer = await handler(
    {
      DurableExecutionArn: `arn:aws:lambda:us-east-1:123456789012:function:bench:1/durable-execution/${run}/1`,
      CheckpointToken: "0",
      InitialExecutionState: { Operations: [{ ...execution, ExecutionDetails: { InputPayload: "{}" } }] },
    },
    { awsRequestId: String(run), functionName: "bench", getRemainingTimeInMillis: () => 900_000 },
  );
  if (String(answer.Status) !== "SUCCEEDED") throw new Error(JSON.stringify(answer));
  await log.close();
}

export const open = async (dir, steps) => ({
  run: () => Promise.all(Array.from({ length: steps.runs }, (_, run) => one(dir, steps, run))),
});
