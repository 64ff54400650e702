/**
 * The persistence boundary: each field of the state, why it is stored, what bounds it, and what it can be
 * computed from. The one table for `docs/persistence.md` and `cairn doctor --run`. A new field of the state does not
 * compile without a row here.
 */
import { SIZES } from "../codec/limits.ts";
import { CRACK_NAMES } from "../core/crack.ts";
import { BOUNDS } from "../core/limits.ts";
import type { StoredState } from "../codec/schema/state.ts";

/** What a group of fields is for. */
export const GROUPS = {
  identity: "the key of every call is derived from them",
  transcript: "each model reply is paid once. The whole transcript stays; `window` says which part the model sees",
  "ledger of open calls": "intent, key and approval of each call; settled calls are in the events of the history",
  "handles of outside effects": "the key under which an effect was requested, so that it can be found or undone",
  "child runs":
    "which child is out for which call, what is reserved for it, and until when: a new process dispatches nothing twice. How many runs are above this one, for the cap of levels, and which answers its parent takes",
  budget: "a crash must not refund anything",
  position: "the next beat continues from here and not from the beginning",
  end: "the end is decided once, and no process moves the deadline",
  topology:
    "a resumed run keeps its plan, cursor, round and caps, and what its agent chose for the next request; each first signal is given once in a section",
  "what it remembers":
    "references to what was recalled and learned, so that a resumed run sends the same prompt; never the texts",
  "human decisions": "no human is asked twice",
} as const;

/** What bounds a field. Every field is also bounded by the size of the whole state. */
export type Bound =
  | { readonly by: "characters" | "bytes" | "count"; readonly max: number; readonly name: string }
  /** A fixed number of small values. */
  | { readonly by: "shape" }
  /** Only the size of the whole state (`stateBytesMax`): a run that exceeds it fails as `StateTooLarge`. */
  | { readonly by: "state" };

/**
 * `start`: authoritative. It is written with the run, and no event repeats it. `events`: the fold of the run's events
 * gives it again, so a wrong value shows.
 */
export type Origin = "start" | "events";

export interface BoundaryRow {
  readonly group: keyof typeof GROUPS;
  readonly bound: Bound;
  readonly origin: Origin;
}

const SHAPE: Bound = { by: "shape" };
const STATE: Bound = { by: "state" };
const VALUE: Bound = { by: "bytes", max: SIZES.stateValueBytesMax, name: "stateValueBytesMax" };
const count = (max: number, name: string): Bound => ({ by: "count", max, name });
const characters = (max: number, name: string): Bound => ({ by: "characters", max, name });

const row =
  (group: BoundaryRow["group"], origin: Origin) =>
  (bound: Bound = SHAPE): BoundaryRow => ({ group, bound, origin });

const identity = row("identity", "start");
const transcript = row("transcript", "events");
const ledger = row("ledger of open calls", "events");
const handle = row("handles of outside effects", "events");
const position = row("position", "events");
const end = row("end", "events");
const human = row("human decisions", "events");

/** The state's own fields. The ID of a run is its tenant, a hyphen and 26 characters. */
export const BOUNDARY: { readonly [F in keyof Required<StoredState>]: BoundaryRow } = {
  run: identity(characters(SIZES.tenantCharactersMax + 27, "tenantCharactersMax + 27")),
  born: identity(characters(10, "10")),
  agent: identity(characters(SIZES.nameCharactersMax, "nameCharactersMax")),
  agentVersion: { ...identity(STATE), origin: "events" },
  task: identity(VALUE),
  startedAt: { ...identity(), origin: "events" },
  startedBy: identity(STATE),
  firing: identity(),
  forked: identity(),
  restart: { ...identity(), origin: "events" },
  calls: { ...identity(), origin: "events" },
  manifest: transcript(STATE),
  tail: transcript(STATE),
  restartedFrom: transcript(),
  window: transcript(STATE),
  open: ledger(count(SIZES.callsPerReplyMax, "callsPerReplyMax")),
  absorbed: ledger(STATE),
  signals: ledger(count(BOUNDS.signalsMax, "signalsMax")),
  outside: handle(STATE),
  undo: handle(STATE),
  repeats: handle(STATE),
  saga: handle(STATE),
  compensate: handle(STATE),
  children: { group: "child runs", bound: count(BOUNDS.childrenMax, "childrenMax"), origin: "events" },
  spent: { group: "budget", bound: SHAPE, origin: "events" },
  price: { group: "budget", bound: SHAPE, origin: "events" },
  takeoversMax: { group: "budget", bound: SHAPE, origin: "start" },
  extension: { group: "budget", bound: STATE, origin: "events" },
  grant: { group: "budget", bound: SHAPE, origin: "start" },
  depth: { group: "child runs", bound: SHAPE, origin: "start" },
  expected: { group: "child runs", bound: STATE, origin: "events" },
  phase: position(),
  pausedFrom: position(),
  modelRetries: position(),
  nudges: position(),
  cutReplies: position(),
  leavesOut: position(),
  replyTokensMax: position(),
  warnedOf: position(),
  retryAt: position(),
  outage: position(),
  failedSummaries: position(),
  fallback: position(),
  modelOut: position(STATE),
  stopsFor: position(STATE),
  closingCallLost: position(),
  deadline: end(),
  ending: end(STATE),
  result: end(VALUE),
  resultFiles: end(count(SIZES.filesMax, "filesMax")),
  failure: end(STATE),
  failedFrom: end(STATE),
  redriven: end(STATE),
  onIdle: row("end", "start")(),
  retention: row("end", "start")(),
  memory: { group: "what it remembers", bound: STATE, origin: "events" },
  leftOutTools: position(characters(16, "16")),
  chosen: { group: "topology", bound: STATE, origin: "events" },
  topology: { group: "topology", bound: STATE, origin: "events" },
  cracks: { group: "topology", bound: count(CRACK_NAMES.length, "the number of cracks"), origin: "events" },
  changedIntrinsics: { group: "ledger of open calls", bound: STATE, origin: "events" },
  upgrades: human(STATE),
  assigned: human(STATE),
  ignoredDecision: human(STATE),
};

const ORIGINS: { readonly [O in Origin]: string } = {
  start: "authoritative: written with the run",
  events: "recomputable: the fold of the events",
};

/** What bounds the field, in words. */
export function boundInWords(bound: Bound): string {
  if (bound.by === "shape") return "a few small values";
  if (bound.by === "state") return "the whole state: `stateBytesMax`";
  return `${bound.by === "count" ? "entries" : bound.by}: \`${bound.name}\` (${bound.max})`;
}

/** The table as Markdown, for `docs/persistence.md`. */
export function boundaryTable(): string {
  const fields = Object.entries(BOUNDARY);
  const lines = Object.keys(GROUPS).flatMap((group) =>
    fields
      .filter(([, of]) => of.group === group)
      .map(([field, { bound, origin }]) => `| ${group} | \`${field}\` | ${boundInWords(bound)} | ${ORIGINS[origin]} |`),
  );
  return ["| what | field | bounded by | origin |", "|---|---|---|---|", ...lines].join("\n");
}

/** What each group is for, as Markdown. */
export const groupsTable = (): string =>
  [
    "| what | why it is stored |",
    "|---|---|",
    ...Object.entries(GROUPS).map(([name, why]) => `| ${name} | ${why} |`),
  ].join("\n");
