/**
 * Which versions of a function of beats new runs begin with: the alias `live` of that function, and its weights. An alias has
 * one version that gets all runs, or two of which the second gets a share. Isolated agents have a function each, and an alias
 * each.
 */
import { paginateDescribeAlarms } from "@aws-sdk/client-cloudwatch";
import {
  GetAliasCommand,
  UpdateAliasCommand,
  paginateListFunctions,
  paginateListVersionsByFunction,
} from "@aws-sdk/client-lambda";
import { DescribeStateMachineCommand } from "@aws-sdk/client-sfn";
import type { BeatFunction, Rollout, RolloutPort, Shares } from "../../../ports/rollout.ts";
import { StoreUnreachable } from "../../../ports/world.ts";
import { isNamed, reachingService } from "../errors.ts";
import { LIVE } from "./machine-input.ts";
import { callsIn, ofAgent } from "../doctor/machine-inspection.ts";
import type { ReadingClients } from "../doctor/reading-clients.ts";

type Clients = Pick<ReadingClients, "functions" | "machine" | "alarms">;

/** The rollout of the deployment with that machine. */
export const rolloutOf = (clients: Clients, machine: string): RolloutPort => ({
  functions: () => readBeatFunctions(clients, machine),
  read: (fn) => readRollout(clients, fn),
  move: (read, to) => moveRollout(clients, read, to),
  alarms: () => alarmsNow(clients, machine),
});

/**
 * The functions that the machine calls for new runs: the one of all agents, or those of isolated agents, sorted by name.
 *
 * @throws StoreUnreachable if AWS does not answer or denies access
 */
export const readBeatFunctions = (clients: Clients, machine: string): Promise<readonly BeatFunction[]> =>
  reachingService("the functions of beats", async () => {
    const { definition = "" } = await clients.machine.send(
      new DescribeStateMachineCommand({ stateMachineArn: machine }),
    );
    const { beat, agents } = callsIn(definition);
    if (beat === null) throw new StoreUnreachable(`the machine ${machine} calls no beat function; deploy cairn again`);
    if (agents === null) return [{ agent: null, beat }];
    const prefix = ofAgent(agents, "");
    const found: BeatFunction[] = [];
    for await (const { Functions = [] } of paginateListFunctions({ client: clients.functions }, {})) {
      for (const { FunctionArn = "" } of Functions)
        if (FunctionArn.startsWith(prefix)) found.push({ agent: FunctionArn.slice(prefix.length), beat: FunctionArn });
    }
    return found.toSorted((one, other) => one.beat.localeCompare(other.beat));
  });

/** @throws StoreUnreachable where AWS does not answer or does not let this identity look. */
export const readRollout = (clients: Pick<Clients, "functions">, { agent, beat }: BeatFunction): Promise<Rollout> =>
  reachingService(`the alias live of ${beat}`, async () => {
    const alias = await clients.functions.send(new GetAliasCommand({ FunctionName: beat, Name: LIVE }));
    const published: string[] = [];
    for await (const page of paginateListVersionsByFunction({ client: clients.functions }, { FunctionName: beat })) {
      published.push(...(page.Versions ?? []).flatMap(({ Version = "" }) => (/^\d+$/.test(Version) ? [Version] : [])));
    }
    const [weight] = Object.entries(alias.RoutingConfig?.AdditionalVersionWeights ?? {});
    return {
      agent,
      beat,
      version: alias.FunctionVersion ?? "",
      next: weight === undefined ? null : { version: weight[0], percent: Math.round(weight[1] * 100) },
      published: published.toSorted((one, other) => Number(one) - Number(other)),
      revision: alias.RevisionId ?? "",
    };
  });

/** Changes the alias, only if it is still as it was read. */
export const moveRollout = (
  { functions }: Pick<Clients, "functions">,
  read: Rollout,
  to: Shares,
): ReturnType<RolloutPort["move"]> =>
  reachingService(`the alias live of ${read.beat}`, async () => {
    const weights = to.next === null ? {} : { [to.next.version]: to.next.percent / 100 };
    try {
      await functions.send(
        new UpdateAliasCommand({
          FunctionName: read.beat,
          Name: LIVE,
          FunctionVersion: to.version,
          RevisionId: read.revision,
          RoutingConfig: { AdditionalVersionWeights: weights },
        }),
      );
      return "moved";
    } catch (error) {
      if (isNamed(error, "PreconditionFailedException")) return "changedMeanwhile";
      throw error;
    }
  });

/** The names of the deployment's alarms that are in alarm now. */
export const alarmsNow = ({ alarms }: Clients, machine: string): Promise<readonly string[]> =>
  reachingService("the alarms of the deployment", async () => {
    const AlarmNamePrefix = `${machine.split(":").at(-1) ?? ""}.`;
    const found: string[] = [];
    for await (const { MetricAlarms = [] } of paginateDescribeAlarms({ client: alarms }, { AlarmNamePrefix })) {
      const standing = MetricAlarms.filter(({ StateValue }) => StateValue === "ALARM");
      found.push(...standing.flatMap(({ AlarmName }) => AlarmName ?? []));
    }
    return found;
  });
