/**
 * Which versions of the beat function new runs begin with: the alias `live` of that function, and its weights. An alias has
 * one version that gets all runs, or two of which the second gets a share.
 */
import { paginateDescribeAlarms } from "@aws-sdk/client-cloudwatch";
import { GetAliasCommand, UpdateAliasCommand, paginateListVersionsByFunction } from "@aws-sdk/client-lambda";
import { DescribeStateMachineCommand } from "@aws-sdk/client-sfn";
import type { Rollout, RolloutPort, Shares } from "../../ports/rollout.ts";
import { StoreUnreachable } from "../../ports/world.ts";
import { isNamed, reaching } from "./errors.ts";
import { LIVE } from "./machine-input.ts";
import { callsIn } from "./machine-inspection.ts";
import type { ReadingClients } from "./reading-clients.ts";

type Clients = Pick<ReadingClients, "functions" | "machine" | "alarms">;

/** Of the deployment with that machine. */
export const rolloutOf = (clients: Clients, machine: string): RolloutPort => ({
  read: () => readRollout(clients, machine),
  move: (read, to) => moveRollout(clients, read, to),
  alarms: () => alarmsNow(clients, machine),
});

/** @throws StoreUnreachable where AWS does not answer or does not let this identity look. */
export const readRollout = (clients: Clients, machine: string): Promise<Rollout> =>
  reaching("the alias live of the beat function", async () => {
    const { definition = "" } = await clients.machine.send(
      new DescribeStateMachineCommand({ stateMachineArn: machine }),
    );
    const { beat } = callsIn(definition);
    if (beat === null) throw new StoreUnreachable(`the machine ${machine} calls no beat function; deploy cairn again`);
    const alias = await clients.functions.send(new GetAliasCommand({ FunctionName: beat, Name: LIVE }));
    const published: string[] = [];
    for await (const page of paginateListVersionsByFunction({ client: clients.functions }, { FunctionName: beat })) {
      published.push(...(page.Versions ?? []).flatMap(({ Version = "" }) => (/^\d+$/.test(Version) ? [Version] : [])));
    }
    const [weight] = Object.entries(alias.RoutingConfig?.AdditionalVersionWeights ?? {});
    return {
      beat,
      version: alias.FunctionVersion ?? "",
      next: weight === undefined ? null : { version: weight[0], percent: Math.round(weight[1] * 100) },
      published: published.toSorted((one, other) => Number(one) - Number(other)),
      revision: alias.RevisionId ?? "",
    };
  });

/** Only if the alias is still as it was read. */
export const moveRollout = ({ functions }: Clients, read: Rollout, to: Shares): ReturnType<RolloutPort["move"]> =>
  reaching("the alias live of the beat function", async () => {
    const weights = to.next === null ? {} : { [to.next.version]: to.next.percent / 100 };
    try {
      await functions.send(
        new UpdateAliasCommand({
          ...{ FunctionName: read.beat, Name: LIVE, FunctionVersion: to.version, RevisionId: read.revision },
          RoutingConfig: { AdditionalVersionWeights: weights },
        }),
      );
      return "moved";
    } catch (error) {
      if (isNamed(error, "PreconditionFailedException")) return "changedMeanwhile";
      throw error;
    }
  });

/** Names of the alarms of that deployment that are in alarm now. */
export const alarmsNow = ({ alarms }: Clients, machine: string): Promise<readonly string[]> =>
  reaching("the alarms of the deployment", async () => {
    const AlarmNamePrefix = `${machine.split(":").at(-1) ?? ""}.`;
    const found: string[] = [];
    for await (const { MetricAlarms = [] } of paginateDescribeAlarms({ client: alarms }, { AlarmNamePrefix })) {
      const standing = MetricAlarms.filter(({ StateValue }) => StateValue === "ALARM");
      found.push(...standing.flatMap(({ AlarmName }) => AlarmName ?? []));
    }
    return found;
  });
