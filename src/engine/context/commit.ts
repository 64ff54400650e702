/**
 * The checkpoint: the only way to make the decisions of an invocation durable. It writes the payload first and the
 * pointer last. A crash can leave an object that no row names, but never a row that names a missing object.
 *
 * A commit also removes the inbox items of the messages that it absorbed. An item holds the text as its sender wrote it,
 * and the sender may not know every secret. The commit holds the redacted text. So the item is deleted as soon as the
 * commit is durable.
 */
import { Unreadable } from "../../codec/canonical.ts";
import { checkedCommit } from "../../codec/checksum.ts";
import { RowNewer } from "../../codec/row.ts";
import { type JournalSeal, appendToJournal, encodeJournal } from "../../codec/journal.ts";
import type { CommitRecord, Event } from "../../core/event.ts";
import { levelIn, neededLevel } from "../../core/levels.ts";
import { isTerminal } from "../../core/phases.ts";
import { type Commit, type CommitOutcome, type Row, hasEnded, type Incarnation } from "../../protocol/row.ts";
import { COMMIT } from "../../protocol/row-commit.ts";
import { type Patience, resolveAmbiguousWrite, patient } from "../../history/resolve-ambiguous-write.ts";
import { signIn } from "../../history/vouch.ts";
import { type CommitOptions, commitRequest, isHandedOn } from "./commit-request.ts";
import type { Checkpoint } from "./committed-run.ts";
import { countSpend } from "../../features/spend-caps/count-spend.ts";
import { debitOtherInvocations, debitTime } from "./debits.ts";
import { Fenced } from "./fenced.ts";
import { noteNotifications } from "../../features/webhooks/note-notifications.ts";
import type { RunParts } from "./run-parts.ts";
import { noteCommit, noteCracks } from "./telemetry-events.ts";
import { endUnsent } from "../../features/detached-calls/unsent.ts";
import { StoreUnreachable, type World } from "../../ports/world.ts";

/** `woken`: a message came, and nothing was committed. `tooLarge`: the events do not fit into the journal. */
export type CommitResult = "committed" | "woken" | "tooLarge";

/**
 * Commits everything pending under this epoch. Throws `Fenced` if another epoch holds the run. Throws `StateTooLarge`
 * before it writes anything. With `storeOutage` it stores no object, and returns `tooLarge` if the journal has no room.
 */
export async function commit(run: RunParts, options: CommitOptions): Promise<CommitResult> {
  const { committed, pending, world } = run;
  if (!isTerminal(run.state.phase)) {
    debitOtherInvocations(run);
    if (options.release) endUnsent(run);
    if (pending.events.length > 0) debitTime(run);
  }
  pending.sending({ isConditional: options.unlessWoken === true });
  const { row, state } = run;
  const { events } = pending;
  const before = committed.state;
  const content = await storeContent(run, options);
  if (content === "tooLarge") return content;
  const { commits, stored, snapshot, journal, level } = content;
  const request = checkedCommit(row, commitRequest(run, options, { snapshot, journal, level }));
  await countSpend(run, events);
  const isNoted = await noteNotifications(run, { events, commit: request });
  const outcome = accepted(row, await send(run, request));
  if (outcome.kind === "woken") {
    committed.refused(outcome.row);
    pending.refused();
    return "woken";
  }
  committed.applied(outcome.row, { state, commits, stored });
  noteCommit(world, { from: row, to: outcome.row, code: state.failure?.code ?? null });
  noteCracks(world, { row: outcome.row, events });
  run.trace?.committed({ before, row: outcome.row, events });
  pending.committed(request);
  if (isNoted) world.webhooks?.noted();
  // An end keeps its inbox items until its notification is delivered; the delivery removes them.
  const taken = hasEnded(outcome.row) ? [] : absorbedIn(events);
  for (const message of await clearAbsorbed(world, outcome.row, taken)) committed.noteRemoved(message);
  return "committed";
}

interface Content extends Pick<Commit, "snapshot" | "journal"> {
  readonly level: number;
  readonly commits: readonly CommitRecord[];
  /** The snapshot that this commit stored. Null if the journal holds the new events instead. */
  readonly stored: Checkpoint | null;
}

/** Encodes the journal. Stores a snapshot if the run is not to go on at once, or if the journal has no room. */
async function storeContent(run: RunParts, options: CommitOptions): Promise<Content | "tooLarge"> {
  const { committed, pending, row, state, world } = run;
  const { events } = pending;
  const version = row.version + 1;
  const commits = committed.journalWith(events);
  const sign = await signIn(world);
  const isOutage = options.storeOutage !== undefined;
  const isStored = options.release && !isOutage && !(world.sizes.keepsJournal && isHandedOn(options));
  const journal = isStored ? null : journalOf(run, { commits, seal: sign && { of: row, sign } });
  const fits = journal === null || hasRoom(run, { journal, commits: isOutage ? 0 : commits.length });
  if (!fits && isOutage) return "tooLarge";
  const stores = commits.length > 0 && (isStored || !fits);
  const level = Math.max(levelIn(row), neededLevel({ state, events }));
  if (!stores) return { snapshot: committed.checkpoint.snapshot, journal, level, commits, stored: null };
  const stored = await committed.store({ version, level, commits, sign, state, leftMs: () => run.leftMs });
  return { snapshot: stored.snapshot, journal: null, level, commits, stored };
}

/** The journal with those commits; null without any. */
function journalOf(
  { row, world }: RunParts,
  { commits, seal }: { readonly commits: readonly CommitRecord[]; readonly seal: JournalSeal },
): Uint8Array | null {
  if (commits.length === 0) return null;
  const { partBytesMax, journalQuality: quality } = world.sizes;
  if (partBytesMax === null) return encodeJournal(commits, { seal, quality });
  // Without new events the stored journal stays as it is.
  const isStored = row.journal !== null && commits.at(-1)?.version !== row.version + 1;
  return isStored ? row.journal : appendToJournal(row.journal, commits, { seal, quality });
}

function hasRoom(
  { row, world }: RunParts,
  { journal: { byteLength }, commits }: { readonly journal: Uint8Array; readonly commits: number },
): boolean {
  const { journalBytesMax, journalCommitsMax, partBytesMax } = world.sizes;
  const added = byteLength - (row.journal?.byteLength ?? 0);
  return (
    byteLength <= journalBytesMax && commits <= journalCommitsMax && (partBytesMax === null || added <= partBytesMax)
  );
}

/** Returns the outcome. Throws if the table refused the commit for good. */
function accepted(row: Row, outcome: CommitOutcome): Extract<CommitOutcome, { kind: "committed" | "woken" }> {
  if (outcome.kind === "missing") throw new Fenced("the run was removed");
  if (outcome.kind === "fenced") throw new Fenced(`epoch ${row.epoch} is over, epoch ${outcome.row.epoch} has it`);
  if (outcome.kind === "unreadable") throw new Unreadable(`run ${row.run}: ${outcome.why}`);
  if (outcome.kind === "newer") throw new RowNewer(row.run, outcome);
  return outcome;
}

/** Sends the commit, and resends the same write while its answer is ambiguous. */
function send(run: RunParts, request: Commit): Promise<CommitOutcome> {
  const { world, invocation, committed } = run;
  const { clock, random, limits } = world;
  const epochAfter = request.epoch + (request.nextChain ? 1 : 0);
  committed.noteSent(request.commitId);
  return resolveAmbiguousWrite<CommitOutcome>(
    () => world.table.decide(request, COMMIT),
    (found) => {
      // Schedule 47: the commit landed, its answer was lost, and another epoch has claimed the run since. If this
      // invocation went on with that row, it would act under the epoch of another invocation. So it stays fenced.
      const isMine = found.commitId === request.commitId && found.epoch === epochAfter;
      return isMine ? { kind: "committed", row: found } : null;
    },
    holdingOn(run, patient({ clock, random, until: invocation.deadline - limits.drainMs / 4 })),
  );
}

/**
 * Schedule 236: a client is stopped in its commit and holds the store. Healthy runs count deaths at their deadlines, pay
 * replies twice and ask about calls that had returned. So an invocation of which no call can act any more waits until the
 * store is free. It begins nothing after that, since it has no time left. Its epoch decides whether the run is still its own.
 */
function holdingOn({ noticed, invocation, world }: RunParts, patience: Patience): Patience {
  const { holdOn } = invocation;
  const { clock, random } = world;
  const endless = patient({ clock, random, until: Infinity });
  return (why = "the store is busy") => {
    if (holdOn === undefined || noticed.mayAct) return patience(why);
    holdOn(why);
    return endless(why);
  };
}

/** The IDs of the messages that these events absorb. */
const absorbedIn = (events: readonly Event[]): readonly string[] =>
  events.flatMap((event) => (event.kind === "MessageAbsorbed" && event.stage === "taken" ? [event.message] : []));

/**
 * Removes the items and returns the IDs of those removed. If the store does not answer, the next invocation removes
 * them.
 */
async function clearAbsorbed(
  world: World,
  { run, born }: Incarnation,
  ids: readonly string[],
): Promise<readonly string[]> {
  if (ids.length === 0) return [];
  try {
    await world.inbox.clear({ run, born, now: world.clock.now(), ids });
    return ids;
  } catch (error) {
    if (!(error instanceof StoreUnreachable)) throw error;
    return [];
  }
}
