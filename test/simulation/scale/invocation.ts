/**
 * One invocation of a run that needs no real model: claim, model, commit A, tool, commit B. It sends what the engine
 * sends, through the real run table of AWS. What to do next follows from the version of the row, as in the engine it
 * follows from the state.
 */
import { tenantOf } from "../../../src/core/ids.ts";
import { LEVEL } from "../../../src/core/levels.ts";
import { patient, resolveAmbiguousWrite } from "../../../src/history/resolve-ambiguous-write.ts";
import type { Attempt, Payload } from "../../../src/protocol/chain.ts";
import { TIMES, limitsFor } from "../../../src/protocol/limits.ts";
import type { Commit, CommitOutcome, Creation, Row } from "../../../src/protocol/row.ts";
import { type ClaimOutcome, CLAIM } from "../../../src/protocol/row-claim.ts";
import { COMMIT } from "../../../src/protocol/row-commit.ts";
import type { RunTable } from "../../../src/ports/run-table.ts";
import type { Random } from "../../../src/ports/world.ts";
import { LATENCY_MS } from "./quotas.ts";
import { type Site, around } from "./services.ts";

/** `frozen`: the process stops before a request and goes on long after Step Functions has given it up. */
export type Fault = { readonly kind: "dies" | "frozen"; readonly beforeRequest: number } | null;

export interface Invocation {
  readonly site: Site;
  readonly random: Random;
  readonly table: RunTable;
  readonly payload: Payload;
  readonly attempt: Attempt;
  readonly fault: Fault;
  /** Beats of a run; the last one ends it. */
  readonly beats: number;
  /** A tool call, by its idempotency key. */
  readonly act: (key: string) => void;
}

/** `epoch`: the epoch that the beat leaves. */
export type Routed = { readonly route: "beat" | "done" | "superseded"; readonly epoch: number };

export class ProcessDied extends Error {}

const BEAT_MS = 60_000;
const FROZEN_MS = { from: 90_000, more: 120_000 };
const LIMITS = limitsFor(BEAT_MS);
/** The journal that commit A leaves in the row; its content does not matter. */
const JOURNAL = new Uint8Array(1_500);

export async function invoke(of: Invocation): Promise<Routed> {
  const { site, table, payload, attempt, beats } = of;
  const { time } = site;
  const deadline = time.now() + BEAT_MS;
  const gate = faultGate(of);
  const { run, born, chain } = payload;
  const owner = of.random.hex().slice(0, 16);
  const { died = null, ...entry } = attempt;
  const leaseUntil = deadline + LIMITS.skewMs;
  const patience = () => patient({ clock: time, random: of.random, until: deadline - LIMITS.drainMs });
  const claimed = await resolveAmbiguousWrite<ClaimOutcome>(
    async () => {
      await gate();
      return table.decide({ run, born, chain, entry, died, owner, leaseUntil, level: LEVEL, now: time.now() }, CLAIM);
    },
    (row) => (row.owner === owner ? { kind: "granted", row, overtook: null } : null),
    patience(),
  );
  if (claimed.kind === "terminal") return { route: "done", epoch: claimed.row.epoch };
  if (claimed.kind !== "granted") return { route: "superseded", epoch: payload.epoch };
  if (claimed.overtook !== null) site.tally.add("claims of a run that its owner had not released");
  await time.wait(around(site, LATENCY_MS.get));
  const commit = (row: Row, change: Partial<Commit>): Promise<CommitOutcome> => {
    const commitId = of.random.hex().slice(0, 20);
    return resolveAmbiguousWrite<CommitOutcome>(
      async () => {
        await gate();
        return table.decide({ ...commitOf(row, time.now()), commitId, ...change }, COMMIT);
      },
      (found) => (found.commitId === commitId ? { kind: "committed", row: found } : null),
      patience(),
    );
  };
  let { row } = claimed;
  if (row.version % 2 === 0) {
    await time.wait(around(site, LATENCY_MS.model));
    const planned = await commit(row, { journal: JOURNAL, phase: "ExecutingTools" });
    if (planned.kind !== "committed") return fenced(of, planned);
    row = planned.row;
  }
  await gate();
  of.act(`${run} ${row.version}`);
  await time.wait(around(site, LATENCY_MS.tool));
  await time.wait(around(site, LATENCY_MS.put));
  const done = row.spent.beats + 1;
  const released = await commit(row, {
    ...{ release: true, journal: null, spent: { ...row.spent, beats: done } },
    snapshot: { ...row.snapshot, version: row.version + 1 },
    ...(done === beats ? ended(time.now()) : {}),
  });
  if (released.kind !== "committed") return fenced(of, released);
  return { route: done === beats ? "done" : "beat", epoch: released.row.epoch };
}

function fenced({ site, payload }: Invocation, { kind }: CommitOutcome): Routed {
  site.tally.add(`commits that were ${kind}`);
  return { route: "superseded", epoch: payload.epoch };
}

/** Counts the requests of an invocation, and strikes before the one that the fault names. */
function faultGate({ site, fault }: Invocation): () => Promise<void> {
  let requests = 0;
  return async () => {
    requests += 1;
    if (fault === null || fault.beforeRequest !== requests) return;
    if (fault.kind === "dies") throw new ProcessDied("the process died");
    await site.time.wait(FROZEN_MS.from + FROZEN_MS.more * site.choices.unit());
  };
}

const commitOf = (row: Row, now: number): Omit<Commit, "commitId"> => ({
  ...{ run: row.run, born: row.born, now, epoch: row.epoch, version: row.version, agentVersion: row.agentVersion },
  ...{ journal: row.journal, snapshot: row.snapshot, spent: row.spent, status: "running", phase: "AwaitingLLM" },
  ...{
    wakeCountSeen: row.wakeCountSeen,
    wakeAt: null,
    deadline: now + LIMITS.idleRunMs,
    unaccountedModelCalls: 0,
    marksAtClaim: 0,
  },
  ...{ isProgress: true, storeOutage: null, lastCheckpointAt: now, release: false, raiseEffectsSettleAt: false },
  ...{ nextChain: false, expiresAtSec: null, unlessWoken: false },
});

const ended = (now: number): Partial<Commit> => ({
  ...{ status: "completed", phase: "Completed", unlessWoken: true },
  expiresAtSec: Math.ceil((now + TIMES.hotMsMin) / 1_000),
});

export const newRun = (run: string, of: { readonly born: string; readonly now: number }): Creation => ({
  ...{ run, ...of, parent: null, tenant: tenantOf(run), agent: "scale", agentVersion: "1" },
  ...{ inputDigest: "0".repeat(64), snapshot: { version: 0, key: `runs/${run}`, digest: "0".repeat(64) } },
  deadline: of.now + LIMITS.idleRunMs,
});
