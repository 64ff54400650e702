/** Reads the state machine, the functions that it calls, and what surrounds them: stream, schedules, alarms, quotas. */
import { type MetricAlarm, paginateDescribeAlarms } from "@aws-sdk/client-cloudwatch";
import {
  type EventSourceMappingConfiguration,
  GetAccountSettingsCommand,
  GetFunctionConcurrencyCommand,
  GetFunctionConfigurationCommand,
  type LambdaClient,
  ListEventSourceMappingsCommand,
} from "@aws-sdk/client-lambda";
import { type ScheduleSummary, paginateListSchedules } from "@aws-sdk/client-scheduler";
import { DescribeStateMachineCommand } from "@aws-sdk/client-sfn";
import { type DescribedAgents, agentsDescribed } from "../described-agents.ts";
import { type Look, look, lookOn, untried } from "./looks.ts";
import type { ReadingClients } from "./reading-clients.ts";
import type { TableSeen } from "./table-inspection.ts";

/** The functions that the state machine calls. */
export type CalledRole = "beat" | "park" | "sweep";

/** Those functions, and the one behind the table's stream. */
export type FunctionRole = CalledRole | "cleanup";

export interface MachineSeen {
  readonly status: string;
  readonly type: string;
  /** The stored definition: JSON. */
  readonly definition: string;
  readonly calls: MachineCalls;
}

export interface MachineCalls extends Readonly<Record<CalledRole, string | null>> {
  /** The function of an isolated agent, with `{}` in place of the agent's name; null if all agents share `beat`. */
  readonly agents: string | null;
}

/** A function as it is deployed. */
export interface FunctionSeen {
  readonly arn: string;
  readonly state: string;
  readonly runtime: string;
  readonly architecture: string;
  readonly timeoutSeconds: number;
  /**
   * Only variables that name parts of the world. `secrets` has the names of other variables that look like secrets,
   * never their values.
   */
  readonly env: Readonly<Record<string, string>>;
  readonly secrets: readonly string[];
  /** The agents that its description names; null if it names none. */
  readonly described: DescribedAgents | null;
  /** The reserved concurrency; null: none, or the caller may not read it. */
  readonly reserved: number | null;
}

/** An event source mapping of the table's stream. */
export interface MappingSeen {
  readonly function: string;
  readonly state: string;
  readonly filters: readonly string[];
  readonly onFailure: string | null;
  readonly reportsFailures: boolean;
}

export interface ScheduleSeen {
  readonly name: string;
  readonly isEnabled: boolean;
}

export interface AlarmSeen {
  readonly name: string;
  readonly state: string;
  readonly tellsSomebody: boolean;
}

export interface MachineLooks {
  readonly machine: Look<MachineSeen>;
  readonly functions: { readonly [F in FunctionRole]: Look<FunctionSeen> };
  /** The function of each requested agent, by the agent's name; empty if the state machine calls no such functions. */
  readonly agents: Readonly<Record<string, Look<FunctionSeen>>>;
  /** The stream mappings of the clean-up function. */
  readonly cleanUp: Look<{ readonly mappings: readonly MappingSeen[] }>;
  /** The schedules that invoke the sweeper. */
  readonly sweeper: Look<{ readonly schedules: readonly ScheduleSeen[] }>;
  readonly alarms: Look<{ readonly alarms: readonly AlarmSeen[] }>;
  readonly account: Look<{ readonly concurrency: number; readonly unreserved: number }>;
}

export async function inspectMachine(deployment: {
  readonly clients: ReadingClients;
  readonly names: Names;
  readonly table: Look<TableSeen>;
  /** The agents that should have a function of their own. */
  readonly agents: readonly string[];
}): Promise<MachineLooks> {
  const { clients, names } = deployment;
  const client = clients.functions;
  const machine = await look("states:DescribeStateMachine", async () => {
    const found = await clients.machine.send(new DescribeStateMachineCommand({ stateMachineArn: names.machine }));
    const { definition = "", status = "", type = "" } = found;
    return { definition, status, type, calls: callsIn(definition) };
  });
  const called = (which: CalledRole): Promise<Look<FunctionSeen>> =>
    lookOn(machine, {
      needs: "machine",
      see: async ({ calls }) => (calls[which] === null ? { kind: "missing" } : lookAtFunction(client, calls[which])),
    });
  const [beat, park, sweep, cleanUp, account] = await Promise.all([
    ...([called("beat"), called("park"), called("sweep")] as const),
    lookOn(deployment.table, { needs: "table", see: ({ stream }) => lookAtStream(client, stream?.arn ?? null) }),
    look("lambda:GetAccountSettings", async () => {
      const { AccountLimit: limit } = await client.send(new GetAccountSettingsCommand());
      const { ConcurrentExecutions: concurrency = 0, UnreservedConcurrentExecutions: unreserved = 0 } = limit ?? {};
      return { concurrency, unreserved };
    }),
  ]);
  const cleanup = await lookOn(cleanUp, {
    needs: "stream-followed",
    see: async ({ mappings: [first] }) =>
      first === undefined ? untried("stream-followed") : lookAtFunction(client, first.function),
  });
  const functions = { beat, park, sweep, cleanup };
  const pattern = machine.kind === "seen" ? machine.seen.calls.agents : null;
  const looks = (pattern === null ? [] : deployment.agents).map(
    async (agent) => [agent, await lookAtFunction(client, ofAgent(pattern ?? "", agent))] as const,
  );
  const agents = Object.fromEntries(await Promise.all(looks));
  const [sweeper, alarms] = await Promise.all([
    lookOn(sweep, { needs: "function-sweep", see: ({ arn }) => lookAtSchedules(clients, arn) }),
    lookAtAlarms(clients, { names, functions: [...Object.values(functions), ...Object.values(agents)] }),
  ]);
  return { machine, functions, agents, cleanUp, sweeper, alarms, account };
}

/** The functions that the states of a definition invoke; none if the text is not a definition. */
export function callsIn(definition: string): MachineSeen["calls"] {
  const states = statesOf(definition);
  const calledBy = (state: string): string | null => states[state]?.Parameters?.FunctionName ?? null;
  const { "FunctionName.$": format = "" } = states["Beat"]?.Parameters ?? {};
  const agents = /^States\.Format\('([^']+)', \$\.agent\)$/.exec(format)?.[1] ?? null;
  const beat = calledBy(agents === null ? "Beat" : "Shared");
  return { beat, park: calledBy("Park"), sweep: calledBy("Rescue"), agents };
}

/** The function of an agent. `pattern` is `MachineCalls.agents`. */
export const ofAgent = (pattern: string, agent: string): string => pattern.replace("{}", agent);

interface Task {
  readonly Parameters?: { readonly FunctionName?: string; readonly "FunctionName.$"?: string };
}

function statesOf(definition: string): Readonly<Record<string, Task>> {
  try {
    return (JSON.parse(definition) as { readonly States?: Readonly<Record<string, Task>> }).States ?? {};
  } catch {
    return {};
  }
}

const SECRET = /SECRET|TOKEN|PASSWORD|CREDENTIAL|API_?KEY/i;
/** Values that are not secrets themselves: references to a secret elsewhere, and placeholders. */
const NO_SECRET = /^(arn:|ssm:|secretsmanager:|\/|none$|$)/;

const lookAtFunction = (client: LambdaClient, FunctionName: string): Promise<Look<FunctionSeen>> =>
  look("lambda:GetFunctionConfiguration", async () => {
    const found = await client.send(new GetFunctionConfigurationCommand({ FunctionName }));
    const variables = Object.entries(found.Environment?.Variables ?? {});
    const reserved = await look("lambda:GetFunctionConcurrency", async () => {
      const { ReservedConcurrentExecutions: count = null } = await client.send(
        new GetFunctionConcurrencyCommand({ FunctionName }),
      );
      return { count };
    });
    return {
      arn: found.FunctionArn ?? FunctionName,
      state: found.State ?? "Active",
      runtime: found.Runtime ?? "none",
      architecture: found.Architectures?.[0] ?? "x86_64",
      timeoutSeconds: found.Timeout ?? 0,
      env: Object.fromEntries(variables.filter(([name]) => name.startsWith("CAIRN_") && !SECRET.test(name))),
      secrets: variables.flatMap(([name, value]) => (SECRET.test(name) && !NO_SECRET.test(value) ? [name] : [])),
      described: agentsDescribed(found.Description ?? ""),
      reserved: reserved.kind === "seen" ? reserved.seen.count : null,
    };
  });

async function lookAtStream(client: LambdaClient, stream: string | null): Promise<MachineLooks["cleanUp"]> {
  if (stream === null) return untried("table-stream");
  return look("lambda:ListEventSourceMappings", async () => {
    const { EventSourceMappings: found = [] } = await client.send(
      new ListEventSourceMappingsCommand({ EventSourceArn: stream }),
    );
    return { mappings: found.map(mappingOf) };
  });
}

const mappingOf = (found: EventSourceMappingConfiguration): MappingSeen => ({
  function: found.FunctionArn ?? "",
  state: found.State ?? "unknown",
  filters: (found.FilterCriteria?.Filters ?? []).flatMap(({ Pattern }) => Pattern ?? []),
  onFailure: found.DestinationConfig?.OnFailure?.Destination ?? null,
  reportsFailures: (found.FunctionResponseTypes ?? []).includes("ReportBatchItemFailures"),
});

/** Every schedule whose target is that function. */
const lookAtSchedules = ({ schedules: client }: ReadingClients, arn: string): Promise<MachineLooks["sweeper"]> =>
  look("scheduler:ListSchedules", async () => {
    const found: ScheduleSummary[] = [];
    for await (const { Schedules = [] } of paginateListSchedules({ client, pageSize: 100 }, {}))
      found.push(...Schedules);
    const schedules = found
      .filter(({ Target }) => Target?.Arn === arn)
      .map(({ Name: name = "", State }) => ({ name, isEnabled: State === "ENABLED" }));
    return { schedules };
  });

/** The alarms of this deployment. They match by name, by a metric of cairn, or by a metric of one of its resources. */
const lookAtAlarms = (
  { alarms: client }: ReadingClients,
  deployment: { readonly names: Names; readonly functions: readonly Look<FunctionSeen>[] },
): Promise<MachineLooks["alarms"]> =>
  look("cloudwatch:DescribeAlarms", async () => {
    const found: MetricAlarm[] = [];
    for await (const { MetricAlarms = [] } of paginateDescribeAlarms({ client }, { AlarmTypes: ["MetricAlarm"] })) {
      found.push(...MetricAlarms);
    }
    const { names } = deployment;
    const functions = deployment.functions.flatMap((each) =>
      each.kind === "seen" ? [each.seen.arn.split(":")[6] ?? ""] : [],
    );
    const ours = new Set([names.table, names.bucket, names.machine, ...functions]);
    const prefix = `${names.machine.split(":").at(-1) ?? ""}.`;
    const isOurs = ({ AlarmName, Namespace, Dimensions = [] }: MetricAlarm): boolean =>
      AlarmName?.startsWith(prefix) === true ||
      Namespace === "cairn" ||
      Dimensions.some(({ Value = "" }) => ours.has(Value));
    const alarms = found.filter(isOurs).map((alarm) => ({
      name: alarm.AlarmName ?? "",
      state: alarm.StateValue ?? "unknown",
      tellsSomebody: alarm.ActionsEnabled === true && (alarm.AlarmActions ?? []).length > 0,
    }));
    return { alarms };
  });

export interface Names {
  readonly table: string;
  readonly bucket: string;
  /** The ARN of the state machine. */
  readonly machine: string;
}
