/**
 * The attributes of all items of the table, by what they mean, and the short names under which they are stored:
 * DynamoDB charges an item with its names at every write. What is null or false is absent.
 */
export const ATTRIBUTES = {
  run: "run",
  item: "item",
  born: "born",
  format: "f",
  /** Absent where it is the lowest. */
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
  quietUntil: "q",
  chain: "c",
  entryExecution: "x",
  entryEpoch: "xe",
  entryRetry: "xr",
  chainClaims: "cc",
  version: "v",
  commitId: "ci",
  snapshotVersion: "sv",
  snapshotKey: "sk",
  snapshotDigest: "sd",
  journal: "j",
  checksum: "ck",
  claims: "n",
  takeovers: "to",
  deaths: "dh",
  asks: "as",
  will: "wl",
  outageStore: "os",
  outageSince: "oa",
  stirs: "s",
  stirsSeen: "ss",
  cancel: "k",
  pause: "p",
  phase: "ph",
  /** `{tenant}#{status}`: the status, and the partition of `byStatus`. */
  tenantStatus: "ts",
  /** `{statusSince}{the run without its tenant}`: the order of `byStatus`, in which no two runs are equal. */
  since: "si",
  lastCheckpointAt: "cp",
  wakeAt: "w",
  parkToken: "pt",
  parkExecution: "px",
  parkEpoch: "pe",
  parkRetry: "py",
  told: "t",
  deadline: "d",
  /** tokensIn, tokensOut, microUsd, beats, toolCalls. */
  spent: "sp",
  /** A shard, while the run has not ended or its end is not told: the partition of `alive`. */
  alive: "al",
  expiresAtSec: "expiresAtSec",
  /** id, by, why: somebody redrove the run, and no invocation has recorded it yet. */
  redrive: "rd",
  /** Of a message. */
  id: "id",
  sentAt: "sa",
  body: "bo",
  /** Of the text as its sender gave it, in the `seen` item. */
  digest: "dg",
  /** Of a turn. */
  cursor: "cu",
  /** Of a tombstone: how the run ended, and when. No status of a row, which is the key of an index. */
  endedAs: "es",
  endedAt: "ea",
  /** Of the item that names the store. */
  store: "store",
} as const;

export type Attribute = keyof typeof ATTRIBUTES;
