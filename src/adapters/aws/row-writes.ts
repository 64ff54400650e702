/**
 * The writes of the run table: for each operation its condition and its change.
 *
 * An update of DynamoDB knows neither `if` nor `max`. If what it writes depends on the row, the write is made for an
 * assumed row, and its condition states the assumption. A wrong guess is refused, and the row that the refusal returns
 * is the next guess. No guess can make a write land that the operation itself would refuse.
 */
import { LOWEST_LEVEL, levelIn } from "../../core/levels.ts";
import { type Commit, type RunRef, type Request, type Row, recordsRedrive } from "../../protocol/row.ts";
import type { Park } from "../../protocol/row-park.ts";
import { type Claim, deadEntryOf, deathsAfter } from "../../protocol/row-claim.ts";
import type { Redrive } from "../../protocol/row-redrive.ts";
import type { EndNotification } from "../../protocol/row-end-notification.ts";
import type { HandOver } from "../../protocol/row-hand-over.ts";
import type { Entry } from "../../protocol/entry.ts";
import type { Attribute } from "./attributes.ts";
import {
  type Change,
  type Fragment,
  all,
  copy,
  either,
  flag,
  number,
  plus,
  raise,
  remove,
  set,
  setOrRemove,
  text,
} from "./expression.ts";
import { redriveValue, spentValue } from "./item.ts";
import { aliveShard, shortExecution, shortKey, sinceOf, tenantOf, tenantStatus } from "./keys.ts";
import * as is from "./fragments.ts";

export interface Write {
  readonly condition: Fragment;
  readonly changes: readonly Change[];
}

const LEASE = ["owner", "leaseUntil"] as const satisfies readonly Attribute[];
const PARK = ["parkToken", "parkExecution", "parkEpoch", "parkRetry"] as const satisfies readonly Attribute[];

/**
 * The write of a claim. Without an owner, `effectsSettleAt` and `takeovers` stay. Over an owner, the condition names that
 * owner and its epoch, so that `effectsSettleAt` is raised to that owner's lease (schedules 3 to 5). Without a known row,
 * epoch 0 is assumed to be that of a queued run.
 */
export function claimWrite(claim: Claim, assumed: Row | null): Write {
  const { run, entry, now } = claim;
  const isQueued = assumed === null ? entry.epoch === 0 : assumed.status === "queued";
  return {
    condition: all(
      ...[is.present(claim), is.notTerminal(claim), is.chainIs(claim.chain), is.levelAtMost(levelIn(claim))],
      either(is.epochIs(entry.epoch), is.entryIsRetried(claim, entry)),
      isQueued ? is.statusIs(run, "queued") : is.statusIsNot(run, "queued"),
      held(assumed),
    ),
    changes: [
      ...[raise("epoch"), raise("claims"), raise("chainClaims")],
      ...[set("owner", text(claim.owner)), set("leaseUntil", number(claim.leaseUntil))],
      set("entryExecution", text(shortExecution(claim, entry.execution))),
      ...[set("entryEpoch", number(entry.epoch)), set("entryRetry", number(entry.retry))],
      ...(isQueued ? statusSet(run, { status: "running", now }) : []),
      ...remove(...PARK),
      plus("asks", "will"),
      ...overOwner(assumed, deadEntryOf(claim)),
    ],
  };
}

/** The row has no owner, or the same owner as the assumed row. */
function held(assumed: Row | null): Fragment {
  if (assumed === null || assumed.owner === null) return is.unowned;
  const { owner, epoch } = assumed;
  return all(is.ownedBy(owner), ownersEpoch(epoch));
}

const ownersEpoch = (epoch: number): Fragment => ({
  text: "#epoch = :ownersEpoch",
  values: { ":ownersEpoch": number(epoch) },
});

/** What a claim and a hand-over record about the owner that they find. Nothing lowers `effectsSettleAt`. */
function overOwner(assumed: Row | null, dead: Entry | null): readonly Change[] {
  if (assumed === null || assumed.owner === null) return [];
  const deaths = deathsAfter(assumed, dead);
  return [
    set("effectsSettleAt", number(Math.max(assumed.effectsSettleAt, assumed.leaseUntil ?? 0))),
    raise("takeovers"),
    ...(deaths === assumed.deaths ? [] : [set("deaths", number(deaths))]),
  ];
}

const statusSet = (run: string, to: { readonly status: Row["status"]; readonly now: number }): readonly Change[] => [
  set("tenantStatus", text(tenantStatus(tenantOf(run), to.status))),
  set("since", text(sinceOf(run, to.now))),
];

export function commitWrite(commit: Commit, assumed: Row | null): Write {
  const { run, status, now } = commit;
  const isSame = assumed === null || assumed.status === status;
  const raises =
    commit.raiseEffectsSettleAt && (assumed === null || assumed.effectsSettleAt < (assumed.leaseUntil ?? 0));
  return {
    condition: all(
      ...[is.present(commit), is.epochIs(commit.epoch), is.versionIs(commit.version)],
      ...(commit.unlessWoken ? [is.stirsAre(commit.wakeCountSeen)] : []),
      isSame ? is.statusIs(run, status) : is.statusIsNot(run, status),
      ...(commit.raiseEffectsSettleAt ? [raises ? is.quietBelowLease : is.quietBeyondLease] : []),
    ),
    changes: [
      ...content(commit),
      ...(isSame ? [] : statusSet(run, { status, now })),
      // An expression reads the attributes before its changes, so it may copy a lease that it also removes.
      ...(raises ? [copy("effectsSettleAt", "leaseUntil")] : []),
      ...(commit.release ? remove(...LEASE) : []),
      ...(commit.nextChain ? [raise("chain"), raise("epoch"), set("chainClaims", number(0))] : []),
      ...(commit.expiresAtSec === null ? [] : toldSet(commit.expiresAtSec)),
    ],
  };
}

/** What a commit writes, independent of the row. */
const content = (commit: Commit): readonly Change[] => [
  ...[raise("version"), set("commitId", text(commit.commitId)), set("claims", number(commit.release ? 0 : 1))],
  ...[set("asks", number(commit.asks)), set("will", number(commit.will))],
  ...(commit.isProgress ? remove("deaths") : []),
  ...setOrRemove("outageStore", commit.storeOutage === null ? null : text(commit.storeOutage.store)),
  ...setOrRemove("outageSince", commit.storeOutage === null ? null : number(commit.storeOutage.since)),
  ...(recordsRedrive(commit) ? remove("redrive") : []),
  ...setOrRemove("checksum", textOrNull(commit.checksum)),
  ...setOrRemove("journal", commit.journal === null ? null : { B: commit.journal }),
  set("snapshotVersion", number(commit.snapshot.version)),
  set("snapshotKey", text(shortKey(commit, commit.snapshot.key))),
  set("snapshotDigest", text(commit.snapshot.digest)),
  ...(levelIn(commit) > LOWEST_LEVEL ? [set("level", number(levelIn(commit)))] : []),
  ...[set("agentVersion", text(commit.agentVersion)), set("spent", spentValue(commit.spent))],
  ...[set("phase", text(commit.phase)), set("wakeCountSeen", number(commit.wakeCountSeen))],
  ...setOrRemove("wakeAt", commit.wakeAt === null ? null : number(commit.wakeAt)),
  ...[set("deadline", number(commit.deadline)), set("lastCheckpointAt", number(commit.lastCheckpointAt))],
];

const textOrNull = (value: string | undefined) => (value === undefined ? null : text(value));

const toldSet = (expiresAtSec: number): readonly Change[] => [
  set("endNotified", flag),
  set("expiresAtSec", number(expiresAtSec)),
  ...remove("alive"),
];

export function parkWrite(park: Park): Write {
  const { entry } = park;
  return {
    condition: all(
      ...[is.present(park), is.notTerminal(park), is.chainIs(park.chain), is.epochIs(park.epoch), is.unowned],
      ...[is.nobodyStirred, is.tokenMayBeReplaced(park, entry)],
    ),
    changes: [
      set("parkToken", text(park.token)),
      set("parkExecution", text(shortExecution(park, entry.execution))),
      ...[set("parkEpoch", number(entry.epoch)), set("parkRetry", number(entry.retry))],
    ],
  };
}

/** Schedule 14: a resume clears the pause; a cancel leaves it as it is. */
export function requestWrite(request: Request): Write {
  const wanted: Readonly<Record<Request["want"], readonly Change[]>> = {
    cancel: [set("cancel", flag)],
    pause: [set("pause", flag)],
    resume: remove("pause"),
  };
  return {
    condition: all(is.present(request), is.notTerminal(request)),
    changes: [raise("wakeCount"), ...wanted[request.want]],
  };
}

/**
 * The write of a hand-over. Schedule 33: over an owner, it raises `effectsSettleAt` to the owner's lease, or the next claim
 * would not know until when the owner's requests may still land.
 */
export function handOverWrite(handOver: HandOver, assumed: Row | null): Write {
  const isHeld = assumed !== null && assumed.owner !== null;
  return {
    condition: all(
      ...[is.present(handOver), is.notTerminal(handOver), is.chainIs(handOver.chain), held(assumed)],
      ...(isHeld ? [is.leaseLapsed(handOver)] : []),
      ...(handOver.epoch === undefined ? [] : [is.epochIs(handOver.epoch)]),
    ),
    changes: [
      ...[raise("chain"), raise("epoch", handOver.epochs ?? 1), set("chainClaims", number(0))],
      ...remove(...LEASE, ...PARK),
      ...overOwner(assumed, handOver.dead ?? null),
    ],
  };
}

export const tellWrite = (of: EndNotification): Write => ({
  condition: all(is.present(of), is.ended(of), is.notTold, ...(of.epoch === undefined ? [] : [is.epochIs(of.epoch)])),
  changes: toldSet(of.expiresAtSec),
});

export function redriveWrite(redrive: Redrive): Write {
  const { run, epoch, version, note, deadline, now, checksum } = redrive;
  return {
    condition: all(is.present(redrive), is.statusIs(run, "failed"), is.epochIs(epoch), is.versionIs(version)),
    changes: [
      ...[raise("chain"), raise("epoch"), set("chainClaims", number(0)), set("deadline", number(deadline))],
      ...statusSet(run, { status: "running", now }),
      set("alive", number(aliveShard(run))),
      set("redrive", redriveValue(note)),
      ...setOrRemove("checksum", textOrNull(checksum)),
      ...remove(...LEASE, ...PARK, "wakeAt", "endNotified", "expiresAtSec", "deaths", "outageStore", "outageSince"),
    ],
  };
}

/** The row's part of a delivery. A later deadline stays. */
export function stirWrite(of: RunRef & { readonly deadline: number }, assumed: Row | null): Write {
  const isLater = assumed === null || assumed.deadline < of.deadline;
  return {
    condition: all(
      ...[is.present(of), is.notTerminal(of)],
      isLater ? is.deadlineBefore(of.deadline) : is.deadlineNotBefore(of.deadline),
    ),
    changes: [raise("wakeCount"), ...(isLater ? [set("deadline", number(of.deadline))] : [])],
  };
}
