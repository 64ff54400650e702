/** What the LocalStack tests use: two deployments as an operator sees them, and access to their internals. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import { InvokeCommand, LambdaClient } from "@aws-sdk/client-lambda";
import {
  DescribeExecutionCommand,
  type HistoryEvent,
  StopExecutionCommand,
  paginateGetExecutionHistory,
} from "@aws-sdk/client-sfn";
import { expect, inject } from "vitest";
import type { Agent } from "../../src/ports/agent.ts";
import { dueOf } from "../../src/adapters/aws/table/keys.ts";
import { dueAt } from "../../src/protocol/due.ts";
import { ATTRIBUTES } from "../../src/adapters/aws/table/attributes.ts";
import { type AwsClients, awsClients } from "../../src/adapters/aws/clients.ts";
import { ROUTE_ERROR } from "../../src/adapters/aws/machine/machine-input.ts";
import { withKernel } from "../../src/features/compose.ts";
import { awsWorld } from "../../src/adapters/aws/world.ts";
import { executionName } from "../../src/protocol/ids.ts";
import type { FileContent } from "../../src/core/file.ts";
import type { Json } from "../../src/core/json.ts";
import { limitsFor } from "../../src/protocol/limits.ts";
import type { World } from "../../src/ports/world.ts";
import type { Row } from "../../src/protocol/row.ts";
import { type Shown, ledger, show } from "../../src/operations/views.ts";
import { startRun } from "../../src/operations/start.ts";
import { LIMITS } from "../support/gate/limits.ts";
import { waitUntil } from "../support/gate/safety.ts";
import { rewriteRow } from "../support/runs/rewrite-row.ts";
import type { LanePlace, Stack } from "./stacks.ts";

export interface Stacks extends Readonly<Record<"lane" | "impatient", Stack>>, LanePlace {
  readonly beatSeconds: number;
}

declare module "vitest" {
  export interface ProvidedContext {
    stacks: Stacks;
  }
}

export interface Lane {
  readonly stack: Stack;
  readonly world: World;
  readonly clients: AwsClients;
}

export const laneOf = (name: "lane" | "impatient"): Lane => laneAt(inject("stacks")[name]);

export function laneAt(stack: Stack): Lane {
  const { beatSeconds } = inject("stacks");
  const clients = awsClients();
  const limits = limitsFor(beatSeconds * 1_000, stack.limits);
  return {
    stack,
    clients,
    world: withKernel(awsWorld({ ...stack, limits, clients, telemetry: { record: () => {} } })),
  };
}

/** Waits until the assertion holds. */
export const until = <T>(holds: () => T | Promise<T>, timeout = LIMITS.runMs): Promise<T> => waitUntil(holds, timeout);

export async function started(
  { world }: Pick<Lane, "world">,
  of: {
    readonly agent: Agent;
    readonly input: Json;
    readonly key?: string;
    readonly files?: readonly FileContent[];
  },
): Promise<Row> {
  const { agent, input, key = null, files = [] } = of;
  const begun = await startRun(world, { agent, input, files, tenant: "lane", idempotencyKey: key });
  if (begun.kind !== "started") throw new Error(`the run was not started: ${begun.kind}`);
  return begun.row;
}

/** A world whose process dies before it can start or wake an execution. */
export const dying = (of: World): World => ({
  ...of,
  chain: { start: async () => ({ kind: "started" }), wake: async () => ({ kind: "awake" }) },
});

export async function rowOf({ world }: Lane, run: string): Promise<Row> {
  const row = await world.table.read(run, Date.now());
  if (row === null) throw new Error(`run ${run} is gone`);
  return row;
}

export async function shown({ world }: Lane, run: string): Promise<Shown> {
  const found = await show(world, run);
  if (found === null) throw new Error(`run ${run} is gone`);
  return found;
}

export async function ended(lane: Lane, run: string): Promise<Shown> {
  await until(
    async () => expect(await rowOf(lane, run)).toMatchObject({ phase: expect.stringMatching(ENDED) }),
    LIMITS.sceneMs,
  );
  return shown(lane, run);
}

const ENDED = /^(Completed|Failed|Cancelled)$/;

/** Waits until the run waits on a token. */
export const parked = (lane: Lane, run: string): Promise<Row> =>
  until(async () => {
    const row = await rowOf(lane, run);
    expect(row.park).not.toBeNull();
    return row;
  });

/** The keys of the run's calls, in order. */
export async function keysOf({ world }: Lane, run: string): Promise<readonly string[]> {
  return ((await ledger(world, run)) ?? []).flatMap(({ key }) => key ?? []);
}

/** How often a call with that key was made, in any process. */
export function callsOf(key: string): number {
  return readFileSync(join(inject("stacks").files, key), "utf8")
    .trim()
    .split("\n").length;
}

/** Read by the fixtures that replace functions. */
export const markOf = (name: string): string => join(inject("stacks").files, name);

export const leaveMark = (name: string): void => writeFileSync(markOf(name), "");

/** The response of a function to its invoker. */
export async function invoke({ stack }: Lane, fn: "sweep" | "start", event: unknown): Promise<unknown> {
  const client = new LambdaClient();
  const FunctionName = `${stack.table}-${fn}`;
  const { FunctionError, Payload } = await client.send(
    new InvokeCommand({ FunctionName, Payload: JSON.stringify(event) }),
  );
  const answer = Buffer.from(Payload ?? []).toString();
  if (FunctionError !== undefined) throw new Error(`${FunctionName}: ${answer}`);
  return JSON.parse(answer) as unknown;
}

export const sweep = (lane: Lane): Promise<unknown> => invoke(lane, "sweep", { kind: "sweep" });

const arnOf = ({ stack }: Lane, execution: string): string =>
  `${stack.machine.replace(":stateMachine:", ":execution:")}:${execution}`;

export const nameOf = ({ run, born }: Row, chain: number): string => executionName(run, born, chain);

export async function statusOf(lane: Lane, execution: string): Promise<string> {
  const executionArn = arnOf(lane, execution);
  return (await lane.clients.machine.send(new DescribeExecutionCommand({ executionArn }))).status ?? "";
}

/** Stops the execution of a parked run, as an operator can, so that the run is abandoned. */
export async function loseExecution(lane: Lane, row: Row): Promise<void> {
  const execution = nameOf(row, row.chain);
  await lane.clients.machine.send(new StopExecutionCommand({ executionArn: arnOf(lane, execution) }));
  // On AWS it has ended by now. LocalStack notices only when its current task ends.
  await lane.world.chain.wake(row.park?.token ?? "");
  await until(async () => expect(await statusOf(lane, execution)).not.toBe("RUNNING"));
}

export async function historyOf(lane: Lane, execution: string): Promise<readonly HistoryEvent[]> {
  const events: HistoryEvent[] = [];
  const paginated = paginateGetExecutionHistory(
    { client: lane.clients.machine },
    { executionArn: arnOf(lane, execution) },
  );
  for await (const page of paginated) events.push(...(page.events ?? []));
  return events;
}

/** The states that an execution entered, in order. */
export async function statesOf(lane: Lane, execution: string): Promise<readonly string[]> {
  const events = await historyOf(lane, execution);
  return events.flatMap(({ stateEnteredEventDetails }) => stateEnteredEventDetails?.name ?? []);
}

/** The function versions that the beats of an execution called, in order. */
export async function versionsOf(lane: Lane, execution: string): Promise<readonly string[]> {
  const events = await historyOf(lane, execution);
  const called = events.flatMap(({ taskScheduledEventDetails }) => {
    const { Qualifier } = JSON.parse(taskScheduledEventDetails?.parameters ?? "{}") as { readonly Qualifier?: string };
    return Qualifier ?? [];
  });
  return called.filter((version, index) => version !== called[index - 1]);
}

/** The task failures of an execution, without the routes of its beats, which are caught errors. */
export async function failuresIn(lane: Lane, execution: string): Promise<readonly string[]> {
  const events = await historyOf(lane, execution);
  const errors = events.flatMap(({ taskFailedEventDetails }) => taskFailedEventDetails?.error ?? []);
  return errors.filter((error) => !error.startsWith(ROUTE_ERROR));
}

/** Changes an attribute of a row past the port, with a valid checksum, to simulate passed time or many events. */
export async function setAttribute(
  { stack, clients, world }: Lane,
  run: string,
  of: { readonly name: keyof typeof ATTRIBUTES; readonly value: number },
): Promise<void> {
  const row = await world.table.read(run, 0);
  if (row === null) throw new Error(`run ${run} is gone`);
  const changed = rewriteRow(row, { [of.name]: of.value });
  const { checksum = "" } = changed;
  await clients.table.repeating.send(
    new UpdateItemCommand({
      TableName: stack.table,
      Key: { run: { S: run }, item: { S: "row" } },
      UpdateExpression: "SET #name = :value, #checksum = :checksum, #due = :due",
      ConditionExpression: "attribute_exists(#run)",
      ExpressionAttributeNames: {
        ...{ "#name": ATTRIBUTES[of.name], "#checksum": ATTRIBUTES.checksum, "#run": "run", "#due": ATTRIBUTES.due },
      },
      ExpressionAttributeValues: {
        ...{ ":value": { N: String(of.value) }, ":checksum": { S: checksum } },
        ":due": { S: dueOf(dueAt(changed), run) },
      },
    }),
  );
}

/** LocalStack removes expired items on request; DynamoDB does it by itself within days. */
export async function removeExpired(): Promise<void> {
  const { url } = inject("stacks");
  const { ok } = await fetch(`${url}/_aws/dynamodb/expired`, { method: "DELETE" });
  expect(ok).toBe(true);
}
