/**
 * Verifies a run: everything that was ever committed is still there, and each piece follows from the one before. It
 * walks the chain of digests from the row's snapshot back to snapshot 0. It computes whatever can be computed.
 *
 * Digests detect damage. Only keyed seals detect forgery (`verify-seals.ts`): the row names the newest snapshot and the
 * journal, and a process that can write the store can write the row as well.
 */
import { canonical } from "../../codec/canonical.ts";
import { inputDigestOf } from "../../codec/file.ts";
import { filesOf } from "../../core/files-in.ts";
import { RowNewer, RowUnreadable, assertKnown } from "../../codec/row.ts";
import { type Snapshot, storedForm } from "../../codec/snapshot.ts";
import { metersOf } from "../../core/policy/budget.ts";
import type { CommitRecord } from "../../core/event.ts";
import { statusOf } from "../../core/calls/open-calls.ts";
import type { State } from "../../core/state.ts";
import type { SnapshotPointer } from "../../protocol/row.ts";
import type { World } from "../../ports/world.ts";
import { wrongDebits, wrongEnd, wrongFields, wrongOrder, wrongPredecessor } from "../../history/agreement.ts";
import { findRow } from "../../history/damage.ts";
import { type Counts, type Finding, Inspection } from "./inspection.ts";
import { type OnStep, type PieceOf, inOrder, readHistory } from "../../history/reader.ts";
import { type Steps, eachOf, inTurns } from "../../history/stepwise.ts";
import { SealInspection, type SealVerdict } from "./verify-seals.ts";

/** The result of `verify`. */
export interface Verified extends Counts {
  readonly run: string;
  /** Null if the row is damaged. */
  readonly agent: string | null;
  /** Null if the row is damaged. */
  readonly seal: SealVerdict | null;
  /** Empty: everything is as it was written. */
  readonly findings: readonly Finding[];
  /** The current state can be read: the run can be shown, and goes on if it has not ended. */
  readonly readable: boolean;
  /** What the operator should do about the findings; null if there are none. */
  readonly advice: string | null;
}

export interface VerifyOptions {
  readonly run: string;
  readonly onStep?: OnStep;
}

/** Null if there is no such run. Rejects if the store cannot be reached, and with `RowNewer`. */
export async function verify(world: World, options: VerifyOptions): Promise<Verified | null> {
  const row = await findRow(world, options.run, world.clock.now());
  if (row === null) return null;
  if (row instanceof RowNewer) throw row;
  if (row instanceof RowUnreadable) return withoutRow(row);
  assertKnown(row);
  const inspection = new Inspection(world, row);
  const seals = new SealInspection(world, inspection);
  const state = await inspect(inspection, seals, { ...options, turn: world.reading?.turn });
  const { findings, counts } = inspection;
  // A run whose retention expired during the check is cleaned up, not damaged.
  const left = findings.length === 0 ? row : await findRow(world, options.run, world.clock.now());
  if (left instanceof RowUnreadable) return withoutRow(left);
  if (left?.born !== row.born) return null;
  const readable = state !== null;
  const seal = seals.verdict;
  return {
    run: row.run,
    agent: row.agent,
    ...counts,
    seal,
    findings,
    readable,
    advice: adviceOn({ findings, seal, readable }),
  };
}

/** Only the row says where the objects are and which digests they have. Without it nothing else can be checked. */
function withoutRow({ run, why }: RowUnreadable): Verified {
  const counts = { snapshots: 0, commits: 0, sealed: 0, segments: 0, blobs: 0, files: 0 };
  const findings = [{ where: "the row", what: why }];
  const advice =
    "no invocation continues the run, and nothing is written over it: bring back its row from a backup of the store, " +
    "and verify again";
  return { run, agent: null, ...counts, seal: null, findings, readable: false, advice };
}

function adviceOn({
  findings,
  seal,
  readable,
}: Pick<Verified, "findings" | "readable"> & { seal: SealVerdict }): string | null {
  if (findings.length === 0) return null;
  if (seal.is === "forged") {
    return (
      "do not act on what this run says: a process without the key wrote it. Find out who can write the store, and bring the " +
      "run back from a backup that verifies"
    );
  }
  const back =
    "bring back what is missing or damaged from a backup of the store, under the same keys, and verify again";
  return readable
    ? `the newest state is intact, so the run can be shown and continues; its history is damaged: ${back}`
    : `no invocation can continue the run, and nothing is committed over it: ${back}`;
}

type Turn = (() => Promise<void>) | undefined;

/** The state that the row leads to; null if it cannot be computed. */
async function inspect(
  inspection: Inspection,
  seals: SealInspection,
  { turn, ...of }: VerifyOptions & { readonly turn: Turn },
): Promise<State | null> {
  const chain = await walk(inspection, seals, of);
  const { newest, journal } = chain;
  if (journal !== null) await seals.journal();
  const commits = [...inOrder(chain.stretches), ...(journal ?? [])];
  inspection.counted.commits = commits.length;
  await inTurns(checkOrder(inspection, commits), turn);
  await inspection.blobs("the journal", journal);
  if (newest === null || journal === null) return null;
  const state = await inspection.attempt("the journal", () => inspection.folded(newest, journal));
  if (state === null) return null;
  checkRow(inspection, state);
  await checkTask(inspection, state);
  if (chain.isWhole) await inTurns(checkDebits(inspection, { commits, state }), turn);
  return state;
}

/** Adds the debits up itself and does not rely on the fold. */
function* checkDebits(
  inspection: Inspection,
  { commits, state }: { readonly commits: readonly CommitRecord[]; readonly state: State },
): Steps<void> {
  for (const { meter, spent, sum } of yield* wrongDebits(state.spent, commits)) {
    inspection.found("the debits", `they add up to ${sum} ${meter}, and it spent ${spent}`);
  }
}

/** The row stores the digest of its task. By that digest a repeated start with the same key finds the same run. */
async function checkTask(inspection: Inspection, { task, messages }: State): Promise<void> {
  const json = await inspection.json("the task", task);
  const files = filesOf(messages.slice(0, 1));
  if (json === null || inputDigestOf(json.json, files) === inspection.row.inputDigest) return;
  inspection.found("the row", "its task has another digest than the one that the run was started with");
}

/** The history, as far as it could be read. */
interface Chain {
  /** Null if it cannot be read. */
  journal: readonly CommitRecord[] | null;
  /** The state of the newest snapshot; null if it cannot be restored. */
  newest: State | null;
  /** The commits of all snapshots that could be read, newest first. */
  readonly stretches: (readonly CommitRecord[])[];
  /** The oldest snapshot that any other part names. Nothing is known of older versions. */
  oldest: number;
  /** The history was read back to snapshot 0. */
  isWhole: boolean;
}

/** A snapshot, and its state; null if the state cannot be restored. */
interface Held {
  readonly snapshot: Snapshot;
  readonly state: State | null;
}

/** Walks from the journal back to snapshot 0, then through the sealed events. It holds only two snapshots at a time. */
async function walk(inspection: Inspection, seals: SealInspection, { onStep }: VerifyOptions): Promise<Chain> {
  const chain: Chain = { journal: null, newest: null, stretches: [], oldest: 0, isWhole: false };
  let after: Held | null = null;
  for await (const piece of readHistory(inspection.from, { through: "everything", onStep })) {
    switch (piece.kind) {
      case "journal":
        chain.journal = piece.commits;
        break;
      case "snapshot": {
        const held = await hold(inspection, piece);
        await seals.snapshot(held.snapshot);
        if (after === null) chain.newest = held.state;
        else await checkStep(inspection, held, after);
        chain.stretches.push(held.snapshot.commits);
        chain.oldest = piece.pointer.version;
        chain.isWhole = held.snapshot.version === 0;
        after = held;
        break;
      }
      case "sealed":
        checkSealed(inspection, chain, piece);
        break;
      case "damaged":
        if (piece.part === "snapshot") chain.oldest = piece.version;
        inspection.damaged(piece);
    }
  }
  return chain;
}

async function hold(inspection: Inspection, { pointer, snapshot }: PieceOf<"snapshot">): Promise<Held> {
  const where = `snapshot ${pointer.version}`;
  inspection.counted.snapshots += 1;
  checkPlace(inspection, pointer, snapshot);
  await inspection.blobs(where, [snapshot.commits, snapshot.state]);
  return { snapshot, state: await inspection.whole(where, snapshot.state) };
}

/**
 * The snapshot has the version of its pointer, follows the snapshot that it names, and holds the commits in between.
 */
function checkPlace(inspection: Inspection, pointer: SnapshotPointer, snapshot: Snapshot): void {
  const where = `snapshot ${pointer.version}`;
  const { version, previous, commits } = snapshot;
  if (version !== pointer.version) inspection.found(where, `it says that it is snapshot ${version}`);
  const wrong = wrongPredecessor(snapshot);
  if (wrong !== null) inspection.found(where, wrong);
  const since = previous?.version ?? 0;
  const stray = commits.find((commit) => commit.version <= since || commit.version > version);
  if (stray !== undefined) inspection.found(where, `it holds version ${stray.version}, which is not its own`);
}

/** The snapshot follows from the one before it: in its state and in its seal. */
async function checkStep(inspection: Inspection, before: Held, { snapshot, state }: Held): Promise<void> {
  const where = `snapshot ${snapshot.version}`;
  if (!sealFollows(before.snapshot, snapshot)) {
    inspection.found(where, "the sealed events that it names do not follow from the snapshot before it");
  }
  const base = before.state;
  if (base === null || state === null) return;
  const expected = await inspection.attempt(where, () => inspection.folded(base, snapshot.commits));
  if (expected === null) return;
  // A transcript may have other segment boundaries than today's code would choose. Then the whole states are compared.
  const { state: cutNow } = storedForm(expected, inspection.sizes.segmentBytes);
  const isSame = canonical(cutNow) === canonical(snapshot.state) || canonical(expected) === canonical(state);
  if (!isSame) inspection.found(where, "its state is not what its commits make of the state before it");
}

function sealFollows(before: Snapshot, { sealed, unsealed }: Snapshot): boolean {
  if (canonical(sealed) === canonical(before.sealed)) return unsealed === before.unsealed + 1;
  const from = (before.sealed?.to ?? 0) + 1;
  return sealed !== null && sealed.from === from && sealed.to === before.version && unsealed === 1;
}

function* checkOrder(inspection: Inspection, commits: readonly CommitRecord[]): Steps<void> {
  yield* eachOf(commits, (commit, index) => {
    const before = commits[index - 1];
    if (before === undefined) return;
    for (const wrong of wrongOrder(before, commit)) inspection.found(`version ${commit.version}`, wrong);
  });
  const { row } = inspection;
  const { version, epoch } = commits.at(-1) ?? { version: 0, epoch: 0 };
  const last = { version: Math.max(version, row.snapshot.version), epoch };
  for (const wrong of wrongEnd(row, last)) inspection.found("the row", wrong);
}

/**
 * Sealed events must equal the commits of the snapshots that they cover. They come after the snapshots, newest first.
 */
function checkSealed(inspection: Inspection, chain: Chain, { where, sealed }: PieceOf<"sealed">): void {
  const { from, to, previous, commits } = sealed;
  inspection.counted.sealed += 1;
  const known = commits.filter(({ version }) => version > chain.oldest);
  const stood = inOrder(chain.stretches).filter(({ version }) => version >= from && version <= to);
  if (canonical(known) !== canonical(stood)) {
    inspection.found(where, "they are not the commits of the snapshots that they stand for");
  }
  if ((previous?.to ?? 0) + 1 !== from) inspection.found(where, "they do not follow on those before them");
}

/** The fields of the row must match the result of the events. */
function checkRow(inspection: Inspection, state: State): void {
  const { row } = inspection;
  const isQueued = row.version === 0 && row.status === "queued";
  // No invocation has recorded the redrive yet.
  const isRedriven = row.redrive !== undefined;
  const status = isQueued ? "queued" : isRedriven ? "running" : statusOf(state);
  const wrong = wrongFields({
    agent: { said: row.agent, come: state.agent },
    "agent version": { said: row.agentVersion, come: state.agentVersion },
    phase: { said: row.phase, come: state.phase },
    status: { said: row.status, come: status },
    spent: { said: Object.fromEntries(metersOf(row.spent)), come: Object.fromEntries(metersOf(state.spent)) },
  });
  for (const what of wrong) inspection.found("the row", what);
}
