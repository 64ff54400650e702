/** Where a run is in the services of a deployment: names and links that an operator opens or copies. */
import { executionName } from "../../protocol/ids.ts";
import type { Row } from "../../protocol/row.ts";
import type { RunPlaces } from "../../ports/run-places.ts";
import { executionArn } from "./machine/chain.ts";
import { itemKey } from "./table/item.ts";
import { ROW_ITEM, deploymentOf, objectsOf } from "./table/keys.ts";

/** The functions that log about single runs. */
const LOGGING = ["beat", "start", "sweep", "api"] as const;

/** `machine`: the ARN of the state machine, after which the deployment and its functions are named. */
export function placesIn({
  table,
  bucket,
  machine,
}: {
  readonly table: string;
  readonly bucket: string;
  readonly machine: string;
}): (row: Row) => RunPlaces {
  const deployment = deploymentOf(machine);
  return (row) => {
    const arn = executionArn(machine, executionName(row.run, row.born, row.chain));
    return {
      executionArn: arn,
      executionUrl: pageOf(arn),
      objects: `s3://${bucket}/${objectsOf(row)}/`,
      table,
      rowKey: JSON.stringify(itemKey(row.run, ROW_ITEM)),
      logsQuery: logsQueryOf(row.run),
      logGroups: LOGGING.map((name) => `/aws/lambda/${deployment}-${name}`),
    };
  };
}

/** The page of an execution in the console of AWS. Other partitions have consoles at other addresses. */
function pageOf(arn: string): string | null {
  const [, partition, , region = ""] = arn.split(":");
  if (partition !== "aws" || !/^[\w-]+$/.test(region)) return null;
  return `https://${region}.console.aws.amazon.com/states/home?region=${region}#/v2/executions/details/${encodeURIComponent(arn)}`;
}

/** Every record of telemetry names its run in the field `run`. A run ID needs no quoting: it has letters, digits and dashes. */
const logsQueryOf = (run: string): string =>
  [
    "fields @timestamp, service, level, message, detail.why",
    `| filter run = "${run}"`,
    "| sort @timestamp asc",
    "| limit 1000",
  ].join("\n");
