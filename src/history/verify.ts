/**
 * Is everything that was ever committed of a run still there, and does each piece follow from the one before? The
 * chain of digests is walked from the row's snapshot back to snapshot 0; nothing is believed that can be computed. Digests
 * find damage. Forgery is found by keyed seals alone (`verify-seals.ts`): the newest snapshot and the journal are what the row
 * says they are, and a process that can write the store can write both.
 */
import { canonical, digestOf } from "../codec/canonical.ts";
import { RowNewer, RowUnreadable, assertKnown } from "../codec/row.ts";
import { type Seal, type Snapshot, assertFormat, decodeJournal, storedForm } from "../codec/snapshot.ts";
import { metersOf } from "../core/policy/budget.ts";
import type { CommitRecord } from "../core/event.ts";
import { PHASES } from "../core/phases.ts";
import type { State } from "../core/state.ts";
import { foldAll } from "../core/transition.ts";
import type { SnapshotPointer } from "../protocol/row.ts";
import type { World } from "../ports/world.ts";
import { findRow } from "./damage.ts";
import { type Counts, type Finding, Inspection, sealedName } from "./inspection.ts";
import { SealInspection, type SealVerdict } from "./verify-seals.ts";

export interface Verified extends Counts {
  readonly run: string;
  /** Null where its row is damaged. */
  readonly agent: string | null;
  /** Null where its row is damaged. */
  readonly seal: SealVerdict | null;
  /** None: everything is as it was written. */
  readonly findings: readonly Finding[];
  /** What the run stands on can be read: it can be shown, and goes on if it has not ended. */
  readonly readable: boolean;
  /** What to do about the findings; null where there are none. */
  readonly advice: string | null;
}

export interface VerifyOptions {
  readonly run: string;
  /** After each snapshot: how many versions are still to be looked at, and how many there are. */
  readonly onStep?: (left: number, all: number) => void | Promise<void>;
}

/** Null when there is no such run. Rejects where the store cannot be reached, and with `RowNewer`. */
export async function verify(world: World, of: VerifyOptions): Promise<Verified | null> {
  const row = await findRow(world, of.run, world.clock.now());
  if (row === null) return null;
  if (row instanceof RowNewer) throw row;
  if (row instanceof RowUnreadable) return withoutRow(row);
  assertKnown(row);
  const inspection = new Inspection(world.objects, row);
  const isKnown = await inspection.attempt("the row", () => {
    assertFormat(row.format, `run ${row.run}`);
    return true;
  });
  const seals = new SealInspection(world, inspection);
  const state = isKnown === null ? null : await inspect(inspection, seals, of);
  const { findings, counts } = inspection;
  // A run whose time came meanwhile is cleaned up, not damaged.
  const left = findings.length === 0 ? row : await findRow(world, of.run, world.clock.now());
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

/** Only the row says where its objects lie and what they have to be: without it nothing else can be looked at. */
function withoutRow({ run, why }: RowUnreadable): Verified {
  const counts = { snapshots: 0, commits: 0, sealed: 0, segments: 0, blobs: 0 };
  const findings = [{ where: "the row", what: why }];
  const advice =
    "no invocation goes on with the run, and nothing is written over it: bring back its row from a backup of the store, " +
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
    ? `what the run stands on is whole, so it can be shown and goes on; its history is not: ${back}`
    : `nobody can go on with the run, and nothing is committed over it: ${back}`;
}

/** The state that the row comes to, or null. */
async function inspect(inspection: Inspection, seals: SealInspection, of: VerifyOptions): Promise<State | null> {
  const chain = await walk(inspection, seals, of);
  const journal = await inspection.attempt("the journal", () => decodeJournal(inspection.row.journal));
  if (journal !== null) await seals.journal();
  const commits = [...chain.commits, ...(journal ?? [])];
  inspection.counted.commits = commits.length;
  checkOrder(inspection, commits);
  await checkSealed(inspection, chain);
  await inspection.blobs("the journal", journal);
  const { newest } = chain;
  if (newest === null || journal === null) return null;
  const state = await inspection.attempt("the journal", () => folded(newest, journal));
  if (state === null) return null;
  checkRow(inspection, state);
  await checkTask(inspection, state);
  if (chain.isWhole) checkDebits(inspection, { commits, state });
  return state;
}

/** Added up here, and not by the fold. */
function checkDebits(
  inspection: Inspection,
  { commits, state }: { readonly commits: readonly CommitRecord[]; readonly state: State },
): void {
  const sums = new Map<string, number>();
  for (const event of commits.flatMap(({ events }) => events)) {
    if (event.kind !== "BudgetDebited") continue;
    for (const [meter, amount] of metersOf(event.debit)) sums.set(meter, (sums.get(meter) ?? 0) + amount);
  }
  for (const [meter, spent] of metersOf(state.spent)) {
    const sum = sums.get(meter) ?? 0;
    if (spent !== sum) inspection.found("the debits", `they come to ${sum} ${meter}, and it spent ${spent}`);
  }
}

/** The row knows its task by digest: by that the same key finds the same run again. */
async function checkTask(inspection: Inspection, { task }: State): Promise<void> {
  const json = await inspection.json("the task", task);
  if (json === null || digestOf(json.json) === inspection.row.inputDigest) return;
  inspection.found("the row", "its task has another digest than the one that the run was started with");
}

const folded = (state: State, commits: readonly CommitRecord[]): State =>
  commits.reduce((before, { events }) => foldAll(before, events), state);

interface Chain {
  /** Of the newest snapshot; null where that cannot be put together. */
  readonly newest: State | null;
  /** What the newest snapshot names. */
  readonly sealed: Seal["sealed"];
  /** Of all snapshots that could be read, in order. */
  readonly commits: readonly CommitRecord[];
  /** The chain ends here: nothing is known of the versions before; 0 where it is whole. */
  readonly lost: number;
  /** It was read back to snapshot 0. */
  readonly isWhole: boolean;
}

/** A snapshot, and the state in it where that can be put together. */
interface Held {
  readonly snapshot: Snapshot;
  readonly state: State | null;
}

/** From the row's snapshot back to snapshot 0. Only two of them are held at a time. */
async function walk(inspection: Inspection, seals: SealInspection, { onStep }: VerifyOptions): Promise<Chain> {
  const { row } = inspection;
  const stretches: (readonly CommitRecord[])[] = [];
  let pointer: SnapshotPointer | null = row.snapshot;
  let newest: Held | null = null;
  let after: Held | null = null;
  while (pointer !== null) {
    const held = await hold(inspection, pointer);
    if (held === null) break;
    await seals.snapshot(held.snapshot);
    if (after !== null) await checkStep(inspection, held, after);
    stretches.push(held.snapshot.commits);
    newest ??= held;
    after = held;
    pointer = held.snapshot.previous;
    await onStep?.(held.snapshot.version, row.version);
  }
  const { state = null, snapshot } = newest ?? {};
  const sealed = snapshot?.sealed ?? null;
  const lost = pointer?.version ?? after?.snapshot.version ?? 0;
  const isWhole = pointer === null && after?.snapshot.version === 0;
  return { newest: state, sealed, commits: stretches.toReversed().flat(), lost, isWhole };
}

async function hold(inspection: Inspection, pointer: SnapshotPointer): Promise<Held | null> {
  const where = `snapshot ${pointer.version}`;
  const snapshot = await inspection.snapshot(pointer);
  if (snapshot === null) {
    if (pointer.version > 0) inspection.found(where, "what comes before it in the chain could not be looked at");
    return null;
  }
  checkPlace(inspection, pointer, snapshot);
  await inspection.blobs(where, [snapshot.commits, snapshot.state]);
  return { snapshot, state: await inspection.whole(where, snapshot.state) };
}

/** It is where its pointer says, behind the one that it names, with the commits in between. */
function checkPlace(inspection: Inspection, pointer: SnapshotPointer, snapshot: Snapshot): void {
  const where = `snapshot ${pointer.version}`;
  const { version, previous, commits } = snapshot;
  if (version !== pointer.version) inspection.found(where, `it says that it is snapshot ${version}`);
  const since = previous?.version ?? 0;
  if (previous === null && version !== 0) inspection.found(where, "it names no snapshot before it");
  if (previous !== null && since >= version) inspection.found(where, `it names snapshot ${since} as the one before it`);
  const stray = commits.find((commit) => commit.version <= since || commit.version > version);
  if (stray !== undefined) inspection.found(where, `it holds version ${stray.version}, which is not its own`);
}

/** A snapshot follows from the one before it: its state, and what it says of its history. */
async function checkStep(inspection: Inspection, before: Held, { snapshot, state }: Held): Promise<void> {
  const where = `snapshot ${snapshot.version}`;
  if (!sealFollows(before.snapshot, snapshot)) {
    inspection.found(where, "the sealed events that it names do not follow from the snapshot before it");
  }
  const base = before.state;
  if (base === null || state === null) return;
  const expected = await inspection.attempt(where, () => folded(base, snapshot.commits));
  if (expected === null) return;
  // A transcript may be cut in other places than it is today; then it is compared whole.
  const isSame =
    canonical(storedForm(expected).state) === canonical(snapshot.state) || canonical(expected) === canonical(state);
  if (!isSame) inspection.found(where, "its state is not what its commits make of the state before it");
}

function sealFollows(before: Snapshot, { sealed, unsealed }: Snapshot): boolean {
  if (canonical(sealed) === canonical(before.sealed)) return unsealed === before.unsealed + 1;
  const from = (before.sealed?.to ?? 0) + 1;
  return sealed !== null && sealed.from === from && sealed.to === before.version && unsealed === 1;
}

/** Versions rise and epochs never fall. A commit without events has a version and leaves no record. */
function checkOrder(inspection: Inspection, commits: readonly CommitRecord[]): void {
  for (const [index, { version, epoch }] of commits.entries()) {
    const before = commits[index - 1];
    if (before === undefined) continue;
    const where = `version ${version}`;
    if (version <= before.version) inspection.found(where, `it comes after version ${before.version}`);
    if (epoch < before.epoch) inspection.found(where, `epoch ${epoch} committed it, after epoch ${before.epoch}`);
  }
  const { row } = inspection;
  const { version, epoch } = commits.at(-1) ?? { version: 0, epoch: 0 };
  const last = Math.max(version, row.snapshot.version);
  if (row.version < last) inspection.found("the row", `its version is ${row.version}, and ${last} is committed`);
  if (row.epoch < epoch) inspection.found("the row", `its epoch is ${row.epoch}, and epoch ${epoch} has committed`);
}

/** The sealed events, newest first, hold exactly what the snapshots hold that they stand for. */
async function checkSealed(inspection: Inspection, chain: Chain): Promise<void> {
  for (let ref = chain.sealed; ref !== null;) {
    const sealed = await inspection.sealed(ref);
    if (sealed === null) {
      if (ref.from > 1) inspection.found(sealedName(ref), "the sealed events before them could not be looked at");
      return;
    }
    const { from, to, previous, commits } = sealed;
    const known = commits.filter(({ version }) => version > chain.lost);
    const stood = chain.commits.filter(({ version }) => version >= from && version <= to);
    if (canonical(known) !== canonical(stood)) {
      inspection.found(sealedName(ref), "they are not the commits of the snapshots that they stand for");
    }
    if ((previous?.to ?? 0) + 1 !== from) inspection.found(sealedName(ref), "they do not follow on those before them");
    ref = previous;
  }
}

/** The row says of the run what its events come to. */
function checkRow(inspection: Inspection, state: State): void {
  const { row } = inspection;
  const isQueued = row.version === 0 && row.status === "queued";
  // No invocation has recorded it yet.
  const isRedriven = row.redrive !== undefined;
  const pairs: readonly (readonly [string, unknown, unknown])[] = [
    ["agent", row.agent, state.agent],
    ["agent version", row.agentVersion, state.agentVersion],
    ["phase", row.phase, state.phase],
    ["status", row.status, isQueued ? "queued" : isRedriven ? "running" : PHASES[state.phase].status],
    ["spent", Object.fromEntries(metersOf(row.spent)), Object.fromEntries(metersOf(state.spent))],
  ];
  for (const [name, said, come] of pairs) {
    if (canonical(said) === canonical(come)) continue;
    inspection.found("the row", `its ${name} is ${canonical(said)}, and its events come to ${canonical(come)}`);
  }
}
