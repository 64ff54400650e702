/**
 * The attributes of all items of the table, by what they mean, and the short names under which they are stored.
 * DynamoDB charges an item with its attribute names at every write, so they are short. A value of null or false is
 * absent.
 */
export const ATTRIBUTES = {
  run: "run",
  item: "item",
  born: "born",
  format: "f",
  /** The level that the commits of the run need; absent for the lowest level. */
  level: "lv",
  parentRun: "pr",
  parentBorn: "pb",
  agent: "a",
  agentVersion: "av",
  createdAt: "at",
  inputDigest: "in",
  epoch: "e",
  owner: "o",
  leaseUntil: "l",
  effectsSettleAt: "q",
  chain: "c",
  entryExecution: "x",
  entryEpoch: "xe",
  entryRetry: "xr",
  chainClaims: "cc",
  claimedAt: "ca",
  version: "v",
  commitId: "ci",
  snapshotVersion: "sv",
  snapshotKey: "sk",
  snapshotDigest: "sd",
  /** Of a row: empty if its journal is in entries. Of an entry: its part of the journal. */
  journal: "j",
  /** How many entries hold the journal, and their digest; absent if the row holds it. */
  entries: "je",
  /** The number of the put of an entry, within its epoch. */
  put: "pn",
  checksum: "ck",
  claims: "n",
  takeovers: "to",
  deaths: "dh",
  unaccountedModelCalls: "mc",
  marksAtClaim: "mk",
  outageStore: "os",
  outageSince: "oa",
  wakeCount: "s",
  wakeCountSeen: "ss",
  cancel: "k",
  pause: "p",
  phase: "ph",
  /** `{tenant}#{status}`, and `#{shard}` after the first shard: the status, and the partition key of `byStatus`. */
  tenantStatus: "ts",
  /** `{statusSince}{the run without its tenant}`: the sort key of `byStatus`. No two runs have the same. */
  since: "si",
  lastCheckpointAt: "cp",
  wakeAt: "w",
  parkToken: "pt",
  parkExecution: "px",
  parkEpoch: "pe",
  parkRetry: "py",
  endNotified: "t",
  deadline: "d",
  /** tokensIn, tokensOut, microUsd, beats, toolCalls. */
  spent: "sp",
  /** A shard: the partition key of `alive`, until the run has ended and its end has been delivered. */
  alive: "al",
  /** `{dueAt}{run}`: the sort key of `due`, beside `alive`. */
  due: "du",
  expiresAtSec: "expiresAtSec",
  /** id, by, why: of the redrive that no invocation has recorded yet. */
  redrive: "rd",
  /** The limits by meter, the names of the first signals, and whether a schedule started the run. */
  brief: "bf",
  /** at, asOf, version, epoch, whether the run waits, and who said when that its outside was checked. */
  restored: "rs",
  /** How often the parent of a run has asked for it; absent: once. */
  dispatch: "dn",
  /** These three belong to a message. */
  id: "id",
  sentAt: "sa",
  body: "bo",
  /** The digest of the text as its sender gave it, in the `seen` item. */
  digest: "dg",
  /** The cursor of a mutex lease. */
  cursor: "cu",
  /** Of a tombstone: how the run ended, and when. `tenantStatus` would put the tombstone into an index. */
  endedAs: "es",
  endedAt: "ea",
  /** The tenant of a record. */
  recordTenant: "te",
  /** The permanent ID of the store and the fingerprint of its stored forms, in an item of its own. */
  store: "store",
  forms: "fm",
  /** The largest number of shards that `byStatus` ever had, in an item beside that. */
  shards: "sh",
} as const;

export type Attribute = keyof typeof ATTRIBUTES;
