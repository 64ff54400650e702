/**
 * Which versions of the beat function new runs begin with: the alias `live` of that function, and its weights. An alias
 * gives all runs to one version, or a share of them to a second one.
 */
import { paginateDescribeAlarms } from "@aws-sdk/client-cloudwatch";
import { GetAliasCommand, UpdateAliasCommand, paginateListVersionsByFunction } from "@aws-sdk/client-lambda";
import { DescribeStateMachineCommand } from "@aws-sdk/client-sfn";
import { StoreUnreachable } from "../../ports/world.ts";
import { isNamed, reaching } from "./errors.ts";
import { LIVE } from "./machine-input.ts";
import { callsIn } from "./machine-inspection.ts";
import type { ReadingClients } from "./reading-clients.ts";

/** The state of the alias `live`. */
export interface Rollout {
  /** The name or ARN of the beat function. */
  readonly beat: string;
  /** The version of every new run, except for the share of `next`. */
  readonly version: string;
  readonly next: { readonly version: string; readonly percent: number } | null;
  /** Every published version, the newest last. */
  readonly published: readonly string[];
  /** Changes with each change of the alias. */
  readonly revision: string;
}

/** `changedMeanwhile`: the alias has changed since it was read, and was left as it is. */
export type Moved = "moved" | "changedMeanwhile";

type Clients = Pick<ReadingClients, "functions" | "machine" | "alarms">;

/** Reads the alias. Throws `StoreUnreachable` if AWS does not answer or denies access. */
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

/** Changes the alias, only if it is still as it was read. */
export const moveRollout = (
  { functions }: Clients,
  read: Rollout,
  to: Pick<Rollout, "version" | "next">,
): Promise<Moved> =>
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

/** The names of the deployment's alarms that are in alarm now. */
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
