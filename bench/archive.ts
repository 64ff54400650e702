/**
 * `npx node bench/archive.ts [BEATS]`: measures what the archive of a long run costs. It commits a history of BEATS
 * beats to an embedded store, with one snapshot per beat. Then one fresh process loads the run, as each of its beats
 * does, and another one archives it. Each process prints its peak memory, its time and its reads.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openStore } from "../src/adapters/local/store/database.ts";
import { withKernel } from "../src/features/compose.ts";
import { localWorld } from "../src/adapters/local/world.ts";
import { executionName } from "../src/protocol/ids.ts";
import { limitsFor } from "../src/protocol/limits.ts";
import { CLAIM } from "../src/protocol/row-claim.ts";
import { inline } from "../src/core/message.ts";
import type { World } from "../src/ports/world.ts";
import { ActiveRun } from "../src/engine/context/active-run.ts";
import { notifyEnd } from "../src/engine/loop/terminal-commit.ts";
import { CommitCache } from "../src/history/commits.ts";
import { SegmentCache, load } from "../src/history/load.ts";
import { startRun } from "../src/operations/start.ts";
import { workload } from "./workload.ts";

const [, , first = "10000", dir, run = ""] = process.argv;

/** Text that resembles that of models and tools: most words repeat. */
function words(seed: string, bytes: number): string {
  let text = "";
  for (let index = 0; text.length < bytes; index += 1) {
    const digits = createHash("sha256").update(`${seed}/${index}`).digest();
    text += [...digits].map((digit) => `w${(digit * digit) % 4_001}`).join(" ");
  }
  return text.slice(0, bytes);
}

function open(at: string): { readonly world: World; readonly reads: () => number; readonly archived: () => number } {
  const store = openStore({ dir: at, create: true });
  const plain = withKernel(localWorld({ store, limits: limitsFor(60_000), telemetry: { record: () => undefined } }));
  let reads = 0;
  let archived = 0;
  const objects: World["objects"] = {
    ...plain.objects,
    get: (key) => {
      reads += 1;
      return plain.objects.get(key);
    },
    put: (key, bytes) => {
      if (key.startsWith("archive/")) archived = bytes.byteLength;
      return plain.objects.put(key, bytes);
    },
  };
  return { world: { ...plain, objects }, reads: () => reads, archived: () => archived };
}

/** Each commit has a reply of 1.5 KB and a result of 2 KB, and writes a snapshot. */
async function commitHistory(at: string, beats: number): Promise<string> {
  const { world } = open(at);
  const { agent } = workload(beats);
  const kept = { ...agent, retention: { hotMs: null, archive: "cold" } } as const;
  const started = await startRun(world, { agent: kept, input: { beats }, tenant: "bench", idempotencyKey: null });
  if (started.kind !== "started") throw new Error(started.kind);
  const { run: id, born } = started.row;
  const deadline = world.clock.now() + 3_600_000;
  const entry = { execution: executionName(id, born, 1), epoch: 0, retry: 0 };
  const owner = { owner: "bench", leaseUntil: deadline, now: world.clock.now() };
  const claimed = await world.table.decide({ run: id, born, chain: 1, entry, ...owner }, CLAIM);
  if (claimed.kind !== "granted") throw new Error(claimed.kind);
  const segments = new SegmentCache();
  const loaded = await load(world, claimed.row, segments);
  const invocation = { deadline, drain: new AbortController().signal };
  const active = new ActiveRun({ world, invocation, loaded, segments, commits: new CommitCache() });
  active.record({ kind: "RunStarted", at: active.now, agentVersion: "1" });
  for (let beat = 1; beat <= beats; beat += 1) {
    const [at_, call, tool] = [active.now, `c${beat}`, "look"];
    const args = inline({ beat });
    const parts = [
      { kind: "text", text: words(`reply ${beat}`, 1_500) } as const,
      { kind: "call", tool, args, provider: null } as const,
    ];
    const used = { model: "bench", finish: "stop", tokensIn: 1_000, tokensOut: 400, tookMs: 1 };
    active.record({ kind: "ModelCallCompleted", at: at_, parts, ...used });
    active.record({ kind: "BudgetDebited", at: at_, debit: { beats: 1, tokensIn: 1_000 }, for: "model" });
    const argsDigest = createHash("sha256").update(String(beat)).digest("hex");
    active.record({ kind: "ToolIntended", at: at_, call, effect: "none", key: `look-${call}`, argsDigest });
    active.record({ kind: "ToolInvoked", at: at_, call, epoch: 1 });
    const value = inline(words(`result ${beat}`, 2_000));
    const settled = { outcome: "succeeded", value, externalId: null, evidence: "it returned" } as const;
    active.record({ kind: "ToolResultRecorded", at: at_, call, ...settled });
    await active.commit({ release: false });
    if (beat % 1_000 === 0) console.log(`${beat} beats are committed`);
  }
  active.record({ kind: "RunEnded", at: active.now, status: "cancelled" });
  await active.commit({ release: true, unlessWoken: true });
  return id;
}

/** Runs in a process of its own, so that its peak memory is not mixed with that of other measurements. */
async function measure(what: string, at: string): Promise<void> {
  const { world, reads, archived } = open(at);
  const row = await world.table.read(run, world.clock.now());
  if (row === null) throw new Error(`there is no run ${run}`);
  const begun = performance.now();
  if (what === "nothing") await world.table.read(run, world.clock.now());
  if (what === "load") await load(world, row, new SegmentCache());
  if (what === "archive") await notifyEnd(world, row);
  const seconds = ((performance.now() - begun) / 1_000).toFixed(2);
  const peak = Math.round(process.resourceUsage().maxRSS / 1_024);
  const size = archived() === 0 ? "" : `, an archive of ${(archived() / 1e6).toFixed(1)} MB`;
  console.log(`${what.padEnd(8)} ${peak} MB peak memory, ${seconds} s, ${reads()} reads${size}`);
}

if (dir === undefined) {
  const made = mkdtempSync(join(tmpdir(), "cairn-bench-"));
  try {
    const id = await commitHistory(made, Number(first));
    for (const what of ["nothing", "load", "archive"]) {
      spawnSync(process.execPath, [import.meta.filename, what, made, id], { stdio: "inherit" });
    }
  } finally {
    rmSync(made, { recursive: true, force: true });
  }
} else await measure(first, dir);
