/**
 * The conditions of writes, by name. A decision on a row needs `same` alone (`row-writes.ts`). The others belong to
 * messages, operator requests, tombstones and mutex leases, which are written without a read before.
 */
import { tenantOf } from "../../../core/ids.ts";
import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import type { Status } from "../../../core/phases.ts";
import { FINGERPRINT } from "../../../protocol/fingerprint.ts";
import { FORMAT, type Incarnation, type RunRef } from "../../../protocol/row.ts";
import type { Attribute } from "./attributes.ts";
import { type Fragment, all, fragment, number, textValue } from "./expression.ts";
import { tenantStatus } from "./keys.ts";

/** The item exists. A fragment that compares one of its attributes implies this. */
export const exists = fragment("attribute_exists(#run)");
export const absent = fragment("attribute_not_exists(#run)");

/** The attribute has this value; null: the item does not have it. */
export const same = (attribute: Attribute, value: AttributeValue | null): Fragment =>
  value === null
    ? fragment(`attribute_not_exists(#${attribute})`)
    : fragment(`#${attribute} = :seen_${attribute}`, { [`:seen_${attribute}`]: value });

export const mine = ({ born }: Pick<Incarnation, "born">): Fragment =>
  fragment("#born = :born", { ":born": textValue(born) });

export const notMine = ({ born }: Pick<Incarnation, "born">): Fragment =>
  fragment("#born <> :born", { ":born": textValue(born) });

/** An expired row counts as absent, since DynamoDB deletes it later. */
export const notExpired = ({ now }: Pick<RunRef, "now">): Fragment =>
  fragment("(attribute_not_exists(#expiresAtSec) OR #expiresAtSec > :nowSec)", {
    ":nowSec": number(Math.floor(now / 1_000)),
  });

/** Schedule 31: older code does not touch a row of a newer format. Nor does it touch one with another fingerprint. */
const knownFormat = fragment(
  "#format = :format AND (attribute_not_exists(#checksum) OR begins_with(#checksum, :forms))",
  { ":format": number(FORMAT), ":forms": textValue(FINGERPRINT) },
);

/** The condition of messages and operator requests. */
export const present = (ref: RunRef): Fragment => all(exists, mine(ref), notExpired(ref), knownFormat);

const TERMINAL = ["completed", "failed", "cancelled"] as const satisfies readonly Status[];

/** In whichever shard: no status begins with the name of another. */
export const notTerminal = ({ run }: Pick<Incarnation, "run">): Fragment =>
  fragment(
    `NOT (${TERMINAL.map((status) => `begins_with(#tenantStatus, :${status})`).join(" OR ")})`,
    Object.fromEntries(TERMINAL.map((status) => [`:${status}`, textValue(tenantStatus(tenantOf(run), status))])),
  );

export const epochIs = (epoch: number): Fragment => fragment("#epoch = :epoch", { ":epoch": number(epoch) });
export const epochBelow = (epoch: number): Fragment => fragment("#epoch < :epoch", { ":epoch": number(epoch) });
export const endedNotAfter = (moment: number): Fragment =>
  fragment("#endedAt <= :endedAt", { ":endedAt": number(moment) });
/** No tombstone keeps the key at `now`, deleted or not. */
export const keyIsFree = (now: number): Fragment =>
  fragment("(attribute_not_exists(#run) OR #expiresAtSec <= :nowSec)", { ":nowSec": number(Math.floor(now / 1_000)) });

export const ownedBy = (owner: string): Fragment => fragment("#owner = :owner", { ":owner": textValue(owner) });
export const leaseLapsed = ({ now }: Pick<RunRef, "now">): Fragment =>
  fragment("#leaseUntil <= :now", { ":now": number(now) });

export const deadlineNotAfter = (moment: number): Fragment =>
  fragment("#deadline <= :moment", { ":moment": number(moment) });
export const deadlineNotBefore = (moment: number): Fragment =>
  fragment("#deadline >= :moment", { ":moment": number(moment) });
