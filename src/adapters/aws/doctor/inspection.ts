/**
 * Reads everything about a deployment that `cairn doctor` judges, as values. It starts from the table, the bucket and
 * the state machine, and follows the names that they contain. It never guesses a name.
 *
 * It reads the caller's identity first. Without credentials or a reachable endpoint, every other look would fail with
 * the same error.
 */
import { GetCallerIdentityCommand } from "@aws-sdk/client-sts";
import { type BucketLooks, inspectBucket } from "./bucket-inspection.ts";
import { type MachineLooks, inspectMachine, type Names } from "./machine-inspection.ts";
import { type Look, look, untried } from "./looks.ts";
import { type Dated, clockGapMs, tellDates } from "../dates.ts";
import { type ReadingClients, readingClients } from "./reading-clients.ts";
import { type TableLooks, inspectTable } from "./table-inspection.ts";

/** Everything that was seen of a deployment. Each look may have failed on its own. */
export interface AwsSeen extends TableLooks, BucketLooks, MachineLooks {
  readonly names: Names;
  /** When the looks were made, epoch milliseconds. */
  readonly at: number;
  readonly caller: Look<{ readonly account: string; readonly arn: string }>;
  readonly region: Look<{ readonly name: string }>;
  readonly clock: Look<{ readonly gapMs: number }>;
}

/** Makes all looks. A look that fails is a value, which says why. */
export async function inspectAws({
  names,
  probe,
  onLook,
  agents = [],
  clients = readingClients(),
}: {
  readonly names: Names;
  /** Whether to send the put that the bucket must refuse. */
  readonly probe: boolean;
  readonly onLook: (what: string) => void;
  /** The agents that should have a function of their own. */
  readonly agents?: readonly string[];
  readonly clients?: ReadingClients;
}): Promise<AwsSeen> {
  let dated: Dated | null = null;
  tellDates(clients.caller, (each) => (dated = each));
  onLook("asking AWS for the identity of the caller");
  const [caller, region] = await Promise.all([
    look("sts:GetCallerIdentity", async () => {
      const { Account: account = "", Arn: arn = "" } = await clients.caller.send(new GetCallerIdentityCommand());
      return { account, arn };
    }),
    look("", async () => ({ name: await clients.caller.config.region() })),
  ]);
  const clock: Look<{ gapMs: number }> =
    dated === null ? untried("an answer of AWS") : { kind: "seen", seen: { gapMs: clockGapMs(dated) } };
  const known = { names, at: Date.now(), caller, region, clock };
  if (region.kind !== "seen" || (caller.kind === "failed" && caller.isHopeless)) {
    return { ...known, ...NOTHING };
  }
  onLook("checking the table, the bucket, the machine and what belongs to them");
  const [table, bucket] = await Promise.all([
    inspectTable({ clients: clients.table, name: names.table }),
    inspectBucket({ clients: clients.bucket, name: names.bucket, probe }),
  ]);
  return { ...known, ...table, ...bucket, ...(await inspectMachine({ clients, names, agents, table: table.table })) };
}

const unasked = untried("credentials");

const NOTHING: TableLooks & BucketLooks & MachineLooks = {
  table: unasked,
  timeToLive: unasked,
  backups: unasked,
  tableStore: unasked,
  sweepTurn: unasked,
  orphansSearched: unasked,
  liveRows: unasked,
  bucket: unasked,
  bucketStore: unasked,
  publicAccess: unasked,
  encryption: unasked,
  policy: unasked,
  lifecycle: unasked,
  putOnce: unasked,
  machine: unasked,
  functions: { beat: unasked, park: unasked, sweep: unasked, cleanup: unasked },
  agents: {},
  cleanUp: unasked,
  sweeper: unasked,
  alarms: unasked,
  account: unasked,
};
