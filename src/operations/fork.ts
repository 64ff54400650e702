/**
 * Forks a run: a new run begins with the state of another one at one of its versions, and copies of all its values and files. It is
 * created like a started run: objects first, then one conditional put of the row under an ID that derives from the key.
 *
 * Schedule 180: the run is purged while the fork copies its values. A missing value ends the fork before its row is
 * created, so there is never a run whose transcript cannot be read. Afterwards the fork needs nothing of that run.
 *
 * Schedule 181: two requests of one key fork at once, or a process dies between the copies and the row. The creation
 * decides, so there is one run; the objects of the other attempt are orphans.
 */
import { digestOf } from "../codec/canonical.ts";
import { SIZES } from "../codec/limits.ts";
import { filesIn } from "../codec/file.ts";
import { blobText, blobsIn } from "../codec/value.ts";
import { EFFECTS } from "../core/calls/effects.ts";
import { workInWords, workStands } from "../core/calls/outside.ts";
import { repeatsOf } from "../core/calls/repeats.ts";
import { forkRefusal } from "../features/fork/core.ts";
import type { Json } from "../core/json.ts";
import type { State } from "../core/state.ts";
import { bornFrom, runId } from "../protocol/ids.ts";
import { type RestoredMark, markForNew } from "../protocol/restored.ts";
import type { Creation, Incarnation, Row } from "../protocol/row.ts";
import type { Agent } from "../ports/agent.ts";
import type { World } from "../ports/world.ts";
import { storeCreation } from "../engine/context/creation.ts";
import type { TraceHeaders } from "../codec/caller-trace.ts";
import { traceToKeep } from "../engine/context/trace.ts";
import { runNames } from "../engine/context/title.ts";
import { forkedState } from "../features/fork/forked-run.ts";
import { senderOf } from "../engine/context/inbox.ts";
import { unlessGone } from "../history/damage.ts";
import { readBlob } from "../history/load.ts";
import { readFile } from "../history/files.ts";
import { blobKey, fileKey } from "../history/object-keys.ts";
import { resolveAmbiguousPut } from "../history/resolve-ambiguous-write.ts";
import { redactionIn } from "../history/secrets.ts";
import type { CountedBy } from "../features/spend-caps/counters.ts";
import { stateAt } from "../history/state-at.ts";
import { keepValue } from "../history/write-objects.ts";
import { limitStart } from "./access/start-limits.ts";
import { markOfStart, passedOn } from "./restored-store.ts";
import { type Started, createOnce, findStart, repeatStart, taskToStart, withDropped } from "./start.ts";
import { type LedgerEntry, ledger } from "./views.ts";

/** Effects outside that a fork does not share with the run that it comes from. Each as `tool (call)`. */
export interface ForkEffects {
  /** The run performed them after that version. The fork does not know them, and may perform them again. */
  readonly later: readonly string[];
  /** They are done in the transcript of the fork, and the run has undone them since. */
  readonly undone: readonly string[];
}

/** The versions next to the requested one at which the run can be forked, in order. `of`: how many there are in all. */
export interface Forkable {
  readonly versions: readonly number[];
  readonly of: number;
}

export type Forked =
  | Started
  | { readonly kind: "missing" | "agentUnknown" }
  | { readonly kind: "versionUnknown"; readonly of: number; readonly forkable: Forkable }
  | { readonly kind: "notForkable"; readonly why: string; readonly forkable: Forkable }
  | { readonly kind: "notConfirmed"; readonly effects: ForkEffects };

export interface ForkOf {
  readonly run: string;
  readonly at: number;
  /** The agent of the run, as its code is now; null if there is none. */
  readonly agent: Agent | null;
  /** Another task; absent: the same. */
  readonly input?: Json;
  /** Null: every request forks a new run. */
  readonly key: string | null;
  readonly by: string;
  readonly confirmed: boolean;
  /** What limits the starts of the caller; absent: nothing. */
  readonly counted?: CountedBy | undefined;
  /** The trace of the caller; absent: none is known. */
  readonly trace?: TraceHeaders | undefined;
}

/** Without `confirmed` it forks nothing past effects of the run, and names them. Throws `Unreadable` and `RowNewer`. */
export async function forkRun(world: World, wanted: ForkOf): Promise<Forked> {
  const { agent } = wanted;
  const from = await world.table.read(wanted.run, world.clock.now());
  if (from === null) return { kind: "missing" };
  if (agent === null) return { kind: "agentUnknown" };
  const task = wanted.input === undefined ? null : await taskToStart(world, { agent, input: wanted.input });
  if (task?.ok === false) return { kind: "invalid", why: task.why, issues: task.issues };
  const inputDigest = task === null ? from.inputDigest : digestOf(task.json);
  const run = forkId(world, from, wanted);
  const left = await findStart(world, run);
  if (left !== null)
    return withDropped(await repeatStart(world, left, (found) => found === inputDigest), task?.dropped);
  const judged = await unlessGone(world, from, () => judge(world, from, wanted));
  if (judged === null) return { kind: "missing" };
  if (judged.kind !== "state") return judged;
  const limited = await limitStart(world, { run, agent, counted: wanted.counted });
  if (limited !== null) return limited;
  const restored = await markOfFork(world, from, wanted);
  const asked = { ...wanted, agent, from, state: judged.state, task: task?.json, inputDigest, run, restored };
  const creation = await unlessGone(world, from, () => prepareFork(world, asked));
  return creation === null ? { kind: "missing" } : withDropped(await createOnce(world, creation), task?.dropped);
}

const forkId = (world: World, { run, born, tenant, agent }: Row, { at, key }: Pick<ForkOf, "at" | "key">): string =>
  runId(world.hash, {
    tenant,
    agent,
    idempotencyKey: JSON.stringify(["fork", run, born, at, key ?? world.random.hex()]),
  });

/** What the run did in the lost time of a restore, the fork does not know either. A keyed fork may be one of that time. */
async function markOfFork(world: World, from: Row, { key }: ForkOf): Promise<RestoredMark | undefined> {
  const inherited = await passedOn(world, from);
  return (
    (await markOfStart(world, { isKeyed: key !== null })) ?? (inherited === null ? undefined : markForNew(inherited))
  );
}

type Judged = Extract<Forked, { readonly kind: "versionUnknown" | "notForkable" | "notConfirmed" }>;

async function judge(
  world: World,
  from: Row,
  { at, confirmed }: ForkOf,
): Promise<Judged | { readonly kind: "state"; readonly state: State }> {
  const found = await stateAt(world, from, at);
  if (found === null)
    return { kind: "versionUnknown", of: from.version, forkable: await forkableNear(world, from, at) };
  const { state } = found;
  const refusal = forkRefusal(state);
  if (refusal !== null)
    return { kind: "notForkable", why: WHY[refusal], forkable: await forkableNear(world, from, at) };
  const effects = confirmed ? NONE : await effectsBesides(world, state);
  if (effects.later.length + effects.undone.length > 0) return { kind: "notConfirmed", effects };
  return { kind: "state", state };
}

/** How many versions an answer names. */
const NAMED_MAX = 12;

/** Folds the whole history, so only a refused fork asks for it. */
async function forkableNear(world: World, row: Row, at: number): Promise<Forkable> {
  const first = await stateAt(world, row, 0);
  if (first === null) return { versions: [], of: 0 };
  let { state } = first;
  const all = forkRefusal(state) === null ? [0] : [];
  for (const { version, events } of first.later) {
    state = world.kernel.foldAll(state, events);
    if (forkRefusal(state) === null) all.push(version);
  }
  const near = all.toSorted((one, other) => Math.abs(one - at) - Math.abs(other - at)).slice(0, NAMED_MAX);
  return { versions: near.toSorted((one, other) => one - other), of: all.length };
}

const NONE: ForkEffects = { later: [], undone: [] };

const WHY = {
  CallsOpen: "calls or child runs are under way at that version: fork at an earlier or later one",
  Ending: "its end is decided at that version: fork at an earlier one",
  Elsewhere: "its answer is being checked at that version: fork at an earlier one",
} as const;

/** Nothing is open at that version, so each call is wholly before it or after it. */
async function effectsBesides(world: World, state: State): Promise<ForkEffects> {
  const calls = (await ledger(world, state.run)) ?? [];
  // In the lost time of a restore a call happened that this run never released: its question or its answer says so.
  const mayHaveHappened = ({ attempts, status }: LedgerEntry): boolean =>
    attempts > 0 || status === "unknown" || status === "reconciled";
  const known = calls.filter(mayHaveHappened);
  const acted = known.filter(({ effect }) => effect !== null && EFFECTS[effect].actsOutside);
  const isLater = (call: string): boolean => Number(/^c(\d+)$/.exec(call)?.[1] ?? 0) > state.calls;
  // A hand-off that failed after its child run acted has left effects behind, too.
  const stands = ({ status, outside }: LedgerEntry): boolean =>
    (status !== "failed" && status !== "compensated") || workStands(outside);
  const named = (some: typeof acted): readonly string[] => some.map(inWords);
  // The fork knows what was undone before that version.
  const { undone: before } = repeatsOf(state);
  return {
    later: named(acted.filter((entry) => isLater(entry.call) && stands(entry))),
    undone: named(
      acted.filter(
        ({ call, status, undoes }) =>
          undoes === undefined && !isLater(call) && status === "compensated" && !before.includes(call),
      ),
    ),
  };
}

const inWords = ({ call, tool, status, outside }: LedgerEntry): string =>
  status === "succeeded" || outside === undefined || !workStands(outside)
    ? `${tool} (${call})`
    : `${tool} (${call}), which did not succeed after ${workInWords(outside)}`;

async function prepareFork(
  world: World,
  fork: {
    readonly agent: Agent;
    readonly from: Row;
    readonly at: number;
    readonly state: State;
    readonly task: Json | undefined;
    readonly inputDigest: string;
    readonly run: string;
    readonly by: string;
    readonly restored: RestoredMark | undefined;
    readonly trace?: TraceHeaders | undefined;
  },
): Promise<Creation> {
  const { agent, from, task, run, inputDigest } = fork;
  const own: Incarnation = { run, born: bornFrom(world.random.hex()) };
  const state = forkedState(fork.state, {
    ...own,
    agent,
    version: fork.at,
    at: world.clock.now(),
    startedBy: redactionIn(world).text(senderOf(fork.by)),
    ...(task !== undefined && {
      task: {
        value: await keepValue(world, own, { json: task, inlineMax: SIZES.stateValueBytesMax }),
        text: typeof task === "string" ? task : JSON.stringify(task),
      },
    }),
  });
  const ownValues = new Set(task === undefined ? [] : blobsIn(state.task));
  const blobs = blobsIn(state).filter((digest) => !ownValues.has(digest));
  await copyEach(
    blobs,
    async (digest) => {
      const bytes = await readBlob(world.objects, from, digest);
      blobText(digest, bytes);
      return { key: blobKey(own, digest), bytes };
    },
    world,
  );
  await copyEach(
    filesIn(state),
    async (file) => {
      return { key: fileKey(own, file), bytes: await readFile(world.objects, from, file) };
    },
    world,
  );
  const { title, labels } = from.brief ?? {};
  const kept = { ...(title !== undefined && { title }), ...(labels !== undefined && { labels }) };
  const names = task === undefined ? kept : runNames(world, { agent, run, task, key: null, labels });
  return storeCreation(world, {
    agent,
    tenant: from.tenant,
    parent: null,
    state,
    inputDigest,
    names,
    restored: fork.restored,
    trace: traceToKeep(world, agent, fork.trace),
  });
}

/** How many values are copied at the same time. */
const AT_ONCE = 4;

/** Copies objects of a run. One that is missing or damaged throws `Unreadable`, before a row names its copy. */
async function copyEach(
  digests: readonly string[],
  read: (digest: string) => Promise<{ readonly key: string; readonly bytes: Uint8Array }>,
  { objects }: World,
): Promise<void> {
  const all = [...new Set(digests)];
  for (let at = 0; at < all.length; at += AT_ONCE) {
    await Promise.all(
      all.slice(at, at + AT_ONCE).map(async (digest) => {
        const { key, bytes } = await read(digest);
        await resolveAmbiguousPut(() => objects.put(key, bytes));
      }),
    );
  }
}
