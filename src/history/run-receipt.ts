/** The receipt of a run with what the run took of AWS. That counts stored bytes, so it is not for a browser. */
import type { CommitRecord, Event } from "../core/event.ts";
import { type AwsShare, awsShareOf } from "./aws-share.ts";
import { type Receipt, receiptOf } from "./receipt.ts";

/** The receipt with what the run took of AWS, or would take there. */
export interface RunReceipt extends Receipt {
  readonly aws: AwsShare;
}

/** An event with the commit that holds it. */
type Logged = Event & Pick<CommitRecord, "version" | "epoch">;

/** The receipt of a run from its whole log, in order. It may be under way. */
export function receiptOfRun(entries: readonly Logged[]): RunReceipt {
  const commits = new Map<number, CommitRecord & { readonly events: Event[] }>();
  for (const { version, ...event } of entries) {
    const commit = commits.get(version) ?? { version, epoch: event.epoch, events: [] };
    commit.events.push(event);
    commits.set(version, commit);
  }
  return { ...receiptOf(entries), aws: awsShareOf([...commits.values()]) };
}
