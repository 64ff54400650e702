/**
 * The deployed schedules of agents. LocalStack's Scheduler stores them but never fires, so the test does its work:
 * it passes the target's input, with the time filled in, to the target's function.
 */
import { GetScheduleCommand } from "@aws-sdk/client-scheduler";
import { InvokeCommand } from "@aws-sdk/client-lambda";
import { expect, inject, test } from "vitest";
import { clientsOf } from "../../localstack/clients.ts";
import { callsOf, ended, keysOf, laneOf, rowOf } from "./lane.ts";

const lane = laneOf("lane");
const { functions, schedules } = clientsOf(inject("stacks").url);

/** Delivers a firing like Scheduler. */
async function fire([Name, GroupName]: readonly [string, string], at: Date): Promise<unknown> {
  const { Target } = await schedules.send(new GetScheduleCommand({ Name, GroupName }));
  const time = at.toISOString().replace(/\.\d+Z$/, "Z");
  const Payload = (Target?.Input ?? "").replaceAll("<aws.scheduler.scheduled-time>", time);
  const answer = await functions.send(new InvokeCommand({ FunctionName: Target?.Arn, Payload }));
  const said = Buffer.from(answer.Payload ?? []).toString();
  if (answer.FunctionError !== undefined) throw new Error(said);
  return JSON.parse(said);
}

const clerk = ["clerk", `${lane.stack.table}.agents`] as const;

test("a firing that is delivered twice starts one run with the input of its agent", async () => {
  const at = new Date();
  const first = (await fire(clerk, at)) as { readonly kind: string; readonly run: string };
  expect(first).toEqual({ kind: "started", run: expect.stringMatching(/^local-/) });
  expect(await fire(clerk, at)).toEqual({ kind: "exists", run: first.run });
  expect(await ended(lane, first.run)).toMatchObject({ status: "completed" });
  expect(await rowOf(lane, first.run)).toMatchObject({ agent: "clerk", chain: 1, takeovers: 0 });
  expect((await keysOf(lane, first.run)).map(callsOf)).toEqual([1]);
});

test.each(["Sweep", "Orphans"])("%s is delivered to a function that accepts it", async (name) => {
  expect(await fire([name, lane.stack.table], new Date())).toBeNull();
});
