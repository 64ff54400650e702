/**
 * A process is stopped (SIGSTOP) at every edge of a beat, the chain takes it for dead, a second process takes over and
 * goes on, and the first one is let go again (SIGCONT): inside its lease, and in the middle of what it was doing. It
 * writes nothing into the run, its answer changes nothing, and whatever it was about to do outside has happened once.
 */
import { expect, test } from "vitest";
import { executionName } from "../../../src/protocol/ids.ts";
import { limitsFor } from "../../../src/protocol/limits.ts";
import type { TaskResult } from "../../../src/protocol/chain.ts";
import type { Execution } from "../../../src/protocol/execution.ts";
import { type Row, hasEnded } from "../../../src/protocol/row.ts";
import { ledger, timeline } from "../../../src/operations/views.ts";
import { reconcile } from "../../../src/operations/reconcile.ts";
import { LIMITS } from "../../support/gate/limits.ts";
import { sampled } from "../../support/gate/stride.ts";
import { externalServiceOf, startEffectsRun } from "../../support/processes/effects-runs.ts";
import type { ExternalService } from "../../support/processes/external-service.ts";
import { type ProcessHarness, createProcessHarness } from "../../support/processes/supervisor-process.ts";
import {
  type WorkerProcess,
  type LenientChain,
  startWorkerProcess,
  lenientChain,
} from "../../process/fixtures/lenient-chain.ts";

/** Keyed, probed, unsafe. */
type ToolName = "book" | "ship" | "mail";

/** What the first process has done of the call when it stops there. */
type Done = "nothing" | "released" | "asked" | "all";

/** The edges of the beat of the call, in order. Without its intent it never starts it; with it, nobody can stop it. */
const firstBeat = (tool: ToolName): readonly (readonly [edge: string, done: Done])[] => [
  ["before:claim:0", "nothing"],
  ["after:claim:0", "nothing"],
  ["before:intent:1", "nothing"],
  ["after:intent:1", "released"],
  [`before:effect:${tool}`, "released"],
  [`inside:effect:${tool}`, "asked"],
  [`after:effect:${tool}`, "asked"],
  ["before:release:2", "asked"],
  ["after:release:2", "all"],
];

/** Those of the beat in which the run ends; the second process has done the beat before it. */
const LAST_BEAT = ["before:claim:1", "after:claim:1", "before:put:3", "before:release:3", "after:release:3"];

/** A run, and where its first process stops. */
interface Case {
  readonly tool: ToolName;
  readonly edge: string;
  readonly done: Done;
  readonly isLastBeat: boolean;
  readonly run: string;
  readonly execution: string;
}

interface FreezeScenario {
  readonly shop: ProcessHarness;
  readonly side: ExternalService;
  readonly chain: LenientChain;
  readonly first: WorkerProcess;
  readonly second: WorkerProcess;
  readonly cases: readonly Case[];
}

async function createFreezeScenario(tool: ToolName, until: Until): Promise<FreezeScenario> {
  // Probes wait until the lease is over. What is not probed never does, and may take as long as a busy machine needs.
  const leaseMs = tool === "ship" ? LIMITS.shortBeatMs : LIMITS.longBeatMs;
  const limits = limitsFor(leaseMs, { skewMs: 50 });
  const harness = createProcessHarness();
  const cases: Case[] = [];
  const edges = [
    ...firstBeat(tool).map(([edge, done]) => ({ edge, done, isLastBeat: false })),
    ...LAST_BEAT.map((edge) => ({ edge, done: "nothing" as const, isLastBeat: true })),
  ];
  for (const each of edges) {
    const { run, born, chain } = await startEffectsRun(harness, { of: each.edge, steps: [tool] });
    cases.push({ ...each, tool, run, execution: executionName(run, born, chain) });
  }
  const at = (edgeOf: (each: Case) => string) => Object.fromEntries(cases.map((each) => [each.run, edgeOf(each)]));
  const claims = at(({ isLastBeat }) => `after:claim:${isLastBeat ? 1 : 0}`);
  const settings = { dir: harness.dir, limits };
  const [first, second] = await Promise.all([
    startWorkerProcess({ ...settings, stops: at(({ edge }) => edge) }),
    startWorkerProcess({ ...settings, stops: until === "claim" ? claims : {} }),
  ]);
  const chain = lenientChain(harness.store, { limits, leaseMs });
  return { shop: harness, side: externalServiceOf(harness), chain, first, second, cases };
}

const rowOf = async ({ shop: harness }: FreezeScenario, { run }: Case): Promise<Row> =>
  (await harness.world.table.read(run, Date.now())) as Row;

/** How far the second process has come when the first one thaws: its claim, one beat, or as far as it comes. */
type Until = "claim" | "beat" | "rest";

/** Stops the first process, lets the second one go on, lets the first one go; the row when it stopped. */
async function freezeAndThaw(harness: FreezeScenario, of: Case, until: Until): Promise<Row> {
  const { chain, first, second } = harness;
  const { edge, execution } = of;
  if (of.isLastBeat) await chain.drive(execution, second, 1);
  const attempt = chain.begin(execution);
  const late = first.perform(attempt, chain.leaseMs);
  await first.stops();
  const frozen = await rowOf(harness, of);
  chain.presumeDead(attempt);
  const secondThaws = await takeOver(harness, of, until);

  const before = await rowOf(harness, of);
  if (!hasEnded(frozen)) expect(before.epoch, edge).toBeGreaterThan(frozen.epoch);
  if (before.status === "blocked")
    expect(await answered(harness, of, "retry"), edge).toMatchObject({ kind: "tooEarly" });
  // Until then nobody can know what the first one still does.
  if (before.phase === "ExecutingTools" && until === "rest") {
    expect(before.wakeAt, edge).toBeGreaterThanOrEqual(frozen.leaseUntil ?? Infinity);
  }
  first.thaw();
  const answer = await late;
  // That a run has ended is told by whoever sees it.
  const { endNotified, expiresAtSec } = await rowOf(harness, of);
  expect(await rowOf(harness, of), edge).toEqual(
    edge === "after:release:3" ? { ...before, endNotified, expiresAtSec } : before,
  );
  expect(answer, edge).toMatchObject({ kind: "beat", reply: { route: routeOf(of, before) } });
  expect(chain.settle(attempt, answer), edge).toBeNull();
  if (of.done === "all") await expectRefused(harness, of, { attempt, answer });
  await secondThaws();
  return frozen;
}

/** The second process goes on; one that only claims stops right after it, and goes on with what is returned. */
async function takeOver(
  { chain, second }: FreezeScenario,
  { execution }: Case,
  until: Until,
): Promise<() => Promise<void>> {
  if (until !== "claim") {
    await chain.drive(execution, second, until === "beat" ? 1 : Infinity);
    return async () => {};
  }
  const driven = chain.drive(execution, second, 1);
  await second.stops();
  return () => {
    second.thaw();
    return driven;
  };
}

/** An answer that is only late says where its own beat led to; all others found the run in other hands, or over. */
function routeOf({ edge, done }: Case, now: Row): string {
  if (done === "all") return "beat";
  if (edge === "after:release:3") return "done";
  return edge.startsWith("before:claim") && hasEnded(now) ? "done" : "superseded";
}

/** A chain that went on from that late answer all the same would get nowhere. */
async function expectRefused(
  harness: FreezeScenario,
  of: Case,
  late: { readonly attempt: Execution; readonly answer: TaskResult },
): Promise<void> {
  const before = await rowOf(harness, of);
  if (late.answer.kind !== "beat") throw new Error(`it answered ${late.answer.kind}`);
  const astray = { ...late.attempt, payload: late.answer.reply };
  const answer = await harness.first.perform(astray, harness.chain.leaseMs);
  expect(answer).toMatchObject({ reply: { route: hasEnded(before) ? "done" : "superseded" } });
  expect(await rowOf(harness, of)).toEqual(before);
}

const answered = ({ shop: harness }: FreezeScenario, { run }: Case, as: "succeeded" | "retry") =>
  reconcile(harness.world, { run, call: "c1", as, result: null, by: "test", note: null });

/** The second process goes on alone until the run is over; a person says of an unsafe call that it happened. */
async function finish(harness: FreezeScenario, of: Case): Promise<void> {
  if ((await rowOf(harness, of)).status === "blocked")
    expect(await answered(harness, of, "succeeded")).toEqual({ kind: "accepted" });
  const isOver = async (): Promise<boolean> => {
    await harness.chain.drive(of.execution, harness.second);
    return hasEnded(await rowOf(harness, of));
  };
  await expect.poll(isOver, { interval: 50, message: of.edge }).toBe(true);
}

/** Which process asked the other side, in order. Only a key is ever asked for twice. */
function askedBy({ first, second }: FreezeScenario, { tool, done, isLastBeat }: Case, until: Until): readonly number[] {
  if (done === "nothing" || isLastBeat) return [second.pid];
  if (tool !== "book" || done === "all") return [first.pid];
  return done === "released" && until !== "claim" ? [second.pid, first.pid] : [first.pid, second.pid];
}

async function expectOneOfEach(
  harness: FreezeScenario,
  of: Case,
  { frozen, until }: { frozen: Row; until: Until },
): Promise<void> {
  const { edge, done, tool, run, isLastBeat } = of;
  const { world } = harness.shop;
  const mine = <T extends { readonly of: string }>(all: readonly T[]): readonly T[] =>
    all.filter((each) => each.of === edge);
  expect(
    mine(harness.side.requests()).map(({ pid }) => pid),
    edge,
  ).toEqual(askedBy(harness, of, until));
  const isOpen = !isLastBeat && (done === "released" || done === "asked");
  const status = tool === "book" || !isOpen ? "succeeded" : "reconciled";
  const calls = (await ledger(world, run)) ?? [];
  expect(calls, edge).toMatchObject([{ call: "c1", tool, status, attempts: tool === "book" && isOpen ? 2 : 1 }]);
  expect(
    mine(harness.side.effects()).map(({ key }) => key),
    edge,
  ).toEqual([calls[0]?.key]);

  const events = (await timeline(world, { run, after: 0 })) ?? [];
  expect(events.map(({ version }) => version)).toEqual(events.map(({ version }) => version).toSorted((a, b) => a - b));
  const late = events.filter(({ version, epoch }) => version > frozen.version && epoch <= frozen.epoch);
  expect(late, edge).toEqual([]);
  expect(
    events.filter(({ kind }) => kind === "RunEnded"),
    edge,
  ).toHaveLength(1);
  const held = !edge.startsWith("before:claim") && !edge.startsWith("after:release");
  expect(await rowOf(harness, of), edge).toMatchObject({
    status: "completed",
    endNotified: true,
    takeovers: held ? 1 : 0,
  });
}

/** In the gate each tool, and each progress of the other process. */
const THAWS: readonly (readonly [ToolName, Until])[] = sampled(
  [
    ["book", "beat"],
    ["mail", "claim"],
    ["ship", "rest"],
  ],
  [
    ["book", "claim"],
    ["book", "beat"],
    ["book", "rest"],
    ["mail", "claim"],
    ["mail", "rest"],
    ["ship", "rest"],
  ],
);

test.each(THAWS)("%s: has one effect when thawed after the %s of the other process", async (tool, until) => {
  const harness = await createFreezeScenario(tool, until);
  const frozen: Row[] = [];
  for (const each of harness.cases) frozen.push(await freezeAndThaw(harness, each, until));
  for (const each of harness.cases) await finish(harness, each);
  for (const [index, each] of harness.cases.entries()) {
    await expectOneOfEach(harness, each, { frozen: frozen[index] as Row, until });
  }
  expect(harness.side.effects()).toHaveLength(harness.cases.length);
});
