/** The receipt of a run with what the run took of AWS. That counts stored bytes, so it is not for a browser. */
import type { CommitRecord, Event } from "../core/event.ts";
import { type AwsShare, awsShareSteps } from "./aws-share.ts";
import { type Receipt, receiptSteps } from "./receipt.ts";
import { type Steps, atOnce, eachOf } from "./stepwise.ts";

/** The receipt with what the run took of AWS, or would take there. */
export interface RunReceipt extends Receipt {
  readonly aws: AwsShare;
}

/** An event with the commit that holds it. */
type Logged = Event & Pick<CommitRecord, "version" | "epoch">;

/** The receipt of a run from its whole log, in order. It may be under way. */
export const receiptOfRun = (entries: readonly Logged[]): RunReceipt => atOnce(runReceiptSteps(entries));

/** The same in steps. */
export function* runReceiptSteps(entries: readonly Logged[]): Steps<RunReceipt> {
  const commits = new Map<number, CommitRecord & { readonly events: Event[] }>();
  yield* eachOf(entries, ({ version, ...event }) => {
    const commit = commits.get(version) ?? { version, epoch: event.epoch, events: [] };
    commit.events.push(event);
    commits.set(version, commit);
  });
  const receipt = yield* receiptSteps(entries);
  return { ...receipt, aws: yield* awsShareSteps([...commits.values()]) };
}
