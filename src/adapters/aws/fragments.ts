/**
 * Every condition that a write of the run table makes, by name. `protocol/row.ts` decides the same as values, and the
 * conformance suite holds the two to one behaviour.
 */
import type { Status } from "../../core/phases.ts";
import type { Entry } from "../../protocol/entry.ts";
import { FORMAT, type Incarnation, type RunRef } from "../../protocol/row.ts";
import type { Attribute } from "./attributes.ts";
import { type Fragment, all, either, fragment, number, text } from "./expression.ts";
import { shortExecution, tenantOf, tenantStatus } from "./keys.ts";

/** The item exists. A fragment that compares one of its attributes implies this. */
const exists = fragment("attribute_exists(#run)");
export const absent = fragment("attribute_not_exists(#run)");

export const mine = ({ born }: Pick<Incarnation, "born">): Fragment =>
  fragment("#born = :born", { ":born": text(born) });

export const notMine = ({ born }: Pick<Incarnation, "born">): Fragment =>
  fragment("#born <> :born", { ":born": text(born) });

/** An expired row counts as absent, since DynamoDB deletes it later. */
const notExpired = ({ now }: Pick<RunRef, "now">): Fragment =>
  fragment("(attribute_not_exists(#expiresAtSec) OR #expiresAtSec > :nowSec)", {
    ":nowSec": number(Math.floor(now / 1_000)),
  });

/** Schedule 31: older code does not touch a row of a newer format. */
const knownFormat = fragment("#format = :format", { ":format": number(FORMAT) });

/** Schedule 102: an older process leaves a run that needs a newer one. */
export const levelAtMost = (level: number): Fragment =>
  fragment("(attribute_not_exists(#level) OR #level <= :level)", { ":level": number(level) });

/** The condition of every operation. */
export const present = (of: RunRef): Fragment => all(exists, mine(of), notExpired(of), knownFormat);

const TERMINAL = ["completed", "failed", "cancelled"] as const satisfies readonly Status[];

const terminal = (run: string): Fragment =>
  fragment(
    "#tenantStatus IN (:completed, :failed, :cancelled)",
    Object.fromEntries(TERMINAL.map((status) => [`:${status}`, text(tenantStatus(tenantOf(run), status))])),
  );

export const ended = ({ run }: Pick<Incarnation, "run">): Fragment => terminal(run);
export const notTerminal = ({ run }: Pick<Incarnation, "run">): Fragment => {
  const { text, values } = terminal(run);
  return fragment(`NOT ${text}`, values);
};

export const statusIs = (run: string, status: Status): Fragment =>
  fragment("#tenantStatus = :status", { ":status": text(tenantStatus(tenantOf(run), status)) });
export const statusIsNot = (run: string, status: Status): Fragment =>
  fragment("#tenantStatus <> :status", { ":status": text(tenantStatus(tenantOf(run), status)) });

const numberIs =
  (attribute: Attribute) =>
  (value: number): Fragment =>
    fragment(`#${attribute} = :${attribute}`, { [`:${attribute}`]: number(value) });

export const chainIs = numberIs("chain");
export const epochIs = numberIs("epoch");
export const versionIs = numberIs("version");
export const stirsAre = numberIs("wakeCount");

export const epochBelow = (epoch: number): Fragment => fragment("#epoch < :epoch", { ":epoch": number(epoch) });
export const endedNotAfter = (moment: number): Fragment =>
  fragment("#endedAt <= :endedAt", { ":endedAt": number(moment) });
/** No tombstone keeps the key at `now`, deleted or not. */
export const keyIsFree = (now: number): Fragment =>
  fragment("(attribute_not_exists(#run) OR #expiresAtSec <= :nowSec)", { ":nowSec": number(Math.floor(now / 1_000)) });

export const unowned = fragment("attribute_not_exists(#owner)");
export const ownedBy = (owner: string): Fragment => fragment("#owner = :owner", { ":owner": text(owner) });
export const leaseLapsed = ({ now }: Pick<RunRef, "now">): Fragment =>
  fragment("#leaseUntil <= :now", { ":now": number(now) });

/** The last claim was made by an earlier try of the same entry of the chain. */
export const entryIsRetried = (of: Incarnation, entry: Entry): Fragment =>
  fragment("(#entryExecution = :execution AND #entryEpoch = :entryEpoch AND #entryRetry < :retry)", {
    ":execution": text(shortExecution(of, entry.execution)),
    ":entryEpoch": number(entry.epoch),
    ":retry": number(entry.retry),
  });

/** Schedule 15: only a token of another entry or of a later try replaces the stored token; a zombie's does not. */
export const tokenMayBeReplaced = (of: Incarnation, entry: Entry): Fragment =>
  either(
    fragment("attribute_not_exists(#parkExecution)"),
    fragment("#parkExecution <> :execution", { ":execution": text(shortExecution(of, entry.execution)) }),
    fragment("#parkEpoch <> :entryEpoch", { ":entryEpoch": number(entry.epoch) }),
    fragment("#parkRetry < :retry", { ":retry": number(entry.retry) }),
  );

export const nobodyStirred = fragment("#wakeCount = #wakeCountSeen");
export const told = fragment("attribute_exists(#endNotified)");
export const notTold = fragment("attribute_not_exists(#endNotified)");

/** `effectsSettleAt` is below the lease, so raising it means copying the lease. */
export const quietBelowLease = fragment("#effectsSettleAt < #leaseUntil");
export const quietBeyondLease = fragment("(attribute_not_exists(#leaseUntil) OR #effectsSettleAt >= #leaseUntil)");

export const deadlineBefore = (moment: number): Fragment =>
  fragment("#deadline < :moment", { ":moment": number(moment) });
export const deadlineNotBefore = (moment: number): Fragment =>
  fragment("#deadline >= :moment", { ":moment": number(moment) });
