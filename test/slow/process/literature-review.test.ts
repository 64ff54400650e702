/**
 * The researcher's review under real kills: twenty times SIGKILL at random moments (six times in the gate), of a worker or of the supervisor with
 * all of its workers, and one drain as in a deploy. It has to cost no observation, no source and no second review.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { SUBJECTS } from "../../../agents/literature-review/assignment.ts";
import { PAPERS } from "../../../agents/literature-review/corpus/papers.ts";
import { reviewsIn } from "../../../agents/literature-review/desk.ts";
import { type Event } from "../../../src/core/event.ts";
import { microUsdOf } from "../../../src/core/policy/price.ts";
import { startRun } from "../../../src/operations/start.ts";
import { show, timeline } from "../../../src/operations/views.ts";
import { rememberAgentFile } from "../../../src/adapters/local/store/agent-files.ts";
import { hasEnded } from "../../../src/protocol/row.ts";
import { LIMITS } from "../../support/gate/limits.ts";
import { assertSafety, requireEvent, waitUntil } from "../../support/gate/safety.ts";
import { sampled } from "../../support/gate/stride.ts";
import {
  type SupervisorProcess,
  createProcessHarness,
  killIfThere,
  startSupervisorProcess,
} from "../../support/processes/supervisor-process.ts";
import { playRun } from "../../support/runs/topology-run.ts";
import { fetchesOf, gatedReview as agent, openGate, waitingAt } from "./gated-review.ts";

const FILE = join(import.meta.dirname, "gated-review.ts");
const SECTIONS = 5 * PAPERS.length;
const KILLS = sampled(6, 20);
/** The kill that is a drain instead: in the middle, where the next paper is always under way. */
const DRAIN_AT = KILLS / 2;
/** Every fifth kill takes the supervisor with it. */
const SUPERVISOR_EVERY = 5;
/** The review is never so many parts ahead of the kills, however late they come on a loaded machine. */
const PARTS_AHEAD = 4;
/** Before the last kill a section is always missing, so that the review cannot end without it. */
const FETCHES_BEFORE_LAST_KILL = SECTIONS - 1;

/** A sequence that depends on its seed alone: whole numbers below `limit`. */
function drawsOf(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}

/** The review of a run that nothing disturbs. */
async function undisturbed(dir: string) {
  vi.stubEnv("LIBRARY", dir);
  onTestFinished(() => void vi.unstubAllEnvs());
  const { shown } = await playRun(agent, { input: {} });
  return { result: shown?.result, body: reviewsIn(dir)[0]?.body };
}

const SCENE = { timeout: 2 * LIMITS.sceneMs };

test(
  "a review that is killed again and again and drained once cites the same sources, and pays for each of them once",
  SCENE,
  async () => {
    const harness = createProcessHarness({
      CAIRN_BEAT_SECONDS: String(LIMITS.longBeatMs / 1_000),
      CAIRN_LIMITS: JSON.stringify({ rescueMs: 50 }),
    });
    rememberAgentFile(harness.store, { agent: agent.name, file: FILE, keepOther: false });
    const calm = await undisturbed(join(harness.dir, "calm"));
    const library = join(harness.dir, "library");
    mkdirSync(library);
    const started = await startRun(harness.world, { agent, input: {}, tenant: "local", idempotencyKey: null });
    if (started.kind !== "started") throw new Error(started.kind);
    const { run } = started.row;

    const draw = drawsOf(20);
    const begin = (): SupervisorProcess => startSupervisorProcess(harness, { env: { LIBRARY: library }, workers: 1 });
    openGate(library, 1);
    let supervisor = begin();
    const killed = { workers: 0, supervisors: 0, drains: 0 };
    const total = (): number => killed.workers + killed.supervisors;
    let isKilling = false;
    // The first kill meets a beat at work, whatever the others meet: a call of its process waits at the gate.
    const first = await waitUntil(() => {
      const pid = waitingAt(library);
      if (pid === null) throw new Error("no call waits at the gate yet");
      return pid;
    });
    if (killIfThere(first)) killed.workers += 1;
    /** One kill, at a random moment after the review has come a part of its way further. */
    const disturb = async (): Promise<void> => {
      const pid = supervisor.events.findLast(({ kind }) => kind === "attemptStarted")?.pid;
      if (pid === undefined) return;
      if (total() === DRAIN_AT && killed.drains === 0) {
        killed.drains += 1;
        openGate(library, Infinity);
        await supervisor.kill("SIGTERM");
        supervisor = begin();
      } else if (total() % SUPERVISOR_EVERY === SUPERVISOR_EVERY - 1) {
        killed.supervisors += 1;
        await supervisor.kill("SIGKILL");
        supervisor = begin();
      } else if (!supervisor.events.some((event) => event.kind === "workerGone" && event.pid === pid)) {
        // A worker that has just ended by itself is no kill: the next look finds another one.
        if (killIfThere(pid)) killed.workers += 1;
      }
    };
    const look = async (): Promise<boolean> => {
      const done = total() + killed.drains;
      const fetchesFor = (parts: number): number => (parts * SECTIONS) / (KILLS + 3);
      const ahead = Math.min(fetchesFor(done + PARTS_AHEAD), FETCHES_BEFORE_LAST_KILL);
      if (!isKilling) openGate(library, total() < KILLS ? ahead : Infinity);
      if (!isKilling && total() < KILLS && fetchesOf(library).length >= fetchesFor(done + 1)) {
        isKilling = true;
        // A random moment. Nothing is judged by it.
        setTimeout(() => void disturb().finally(() => (isKilling = false)), draw(300));
      }
      const row = await harness.world.table.read(run, Date.now());
      return row === null || hasEnded(row);
    };
    await waitUntil(async () => expect(await look()).toBe(true), LIMITS.sceneMs);
    const supervisors = Math.floor(KILLS / SUPERVISOR_EVERY);
    expect(killed).toEqual({ workers: KILLS - supervisors, supervisors, drains: 1 });

    const shown = await show(harness.world, run);
    assertSafety("the review is not lost", () => expect(shown?.status).toBe("completed"));
    requireEvent("a kill met a beat at work", (shown?.takeovers ?? 0) > 0);
    expect(shown?.result).toEqual(calm.result);
    const [review, ...more] = reviewsIn(library);
    expect({ body: review?.body, more }).toEqual({ body: calm.body, more: [] });

    expectChargedOnce(library);
    const events = (await timeline(harness.world, { run, after: 0 })) ?? [];
    expectExactBudget(events, shown?.spent.usd ?? 0);
    expectLearnedOnce(events);
  },
);

function expectChargedOnce(library: string): void {
  // The service charged for each section once. What a kill made the run ask for again was not charged again.
  const full = fetchesOf(library).filter(({ answer }) => answer === "full");
  expect(full).toHaveLength(SECTIONS);
  expect(full.filter(({ times }) => times !== 1)).toEqual([]);
}

function expectLearnedOnce(events: readonly Event[]): void {
  // Whatever was killed, the run left what it found in memory once.
  const learned = events.flatMap((event) => (event.kind === "Learned" ? event.refs : []));
  expect(learned).toHaveLength(SUBJECTS.length);
  expect(new Set(learned.map(({ id }) => id)).size).toBe(SUBJECTS.length);
}

const PRICES = { working: { inUsd: 3, outUsd: 15 }, summaries: { inUsd: 1, outUsd: 5 } };

const LOST_REPLY_TOKENS = 500;

/**
 * A lost call is estimated by the transcript that its process left. If it asked for a summary, the newest results are in
 * that as well, which no other request has at this length.
 */
const ESTIMATE_SHARE = 1.1;

/** Each reply costs its tokens, each lost call its estimate, no request was longer than the context, and the sum is right. */
function expectExactBudget(events: readonly Event[], usd: number): void {
  const debits = events.flatMap((event) => (event.kind === "BudgetDebited" ? [event] : []));
  const ofModel = debits.filter(({ debit }) => debit.tokensIn !== undefined);
  for (const { debit, for: what } of ofModel) {
    const { tokensIn = 0, tokensOut = 0, microUsd } = debit;
    const itsPrice = what.includes("researcher-summaries") ? PRICES.summaries : PRICES.working;
    expect({ what, microUsd }).toEqual({ what, microUsd: microUsdOf(itsPrice, { tokensIn, tokensOut }) });
    // One debit may stand for several calls that were lost, each with the estimated length of a reply.
    const requests = what.startsWith("lost") ? (tokensOut / LOST_REPLY_TOKENS) * ESTIMATE_SHARE : 1;
    expect(tokensIn).toBeLessThanOrEqual(requests * (agent.contextTokensMax ?? 0));
  }
  const sum = ofModel.reduce((all, { debit }) => all + (debit.microUsd ?? 0), 0);
  expect(usd).toBe(sum / 1e6);
  const replies = events.filter(({ kind }) => kind === "ModelCallCompleted" || kind === "Compacted").length;
  expect(ofModel.filter(({ for: what }) => !what.startsWith("lost"))).toHaveLength(replies);
  // Of twenty kills some fall into a call of the model; of a few, perhaps none.
  requireEvent("a kill fell into a call of the model", ofModel.length > sampled(replies - 1, replies));
}
