/**
 * Plays the scenario on the real runner, with exactly the faults of its plan. Every call of a port, of a tool and of the
 * model is a point; points are counted in the order in which anybody reaches them, so a plan is a few numbers. Nothing
 * draws lots, and time passes only when nobody can do anything else.
 */
import { seededRandom, virtualClock } from "../../../src/adapters/memory/clock.ts";
import { withKernel } from "../../../src/features/compose.ts";
import { type MemoryWorld, memoryWorld } from "../../../src/adapters/memory/world.ts";
import { FEW_BYTES } from "../../../src/ports/stored-sizes.ts";
import type { Json } from "../../../src/core/json.ts";
import { limitsFor } from "../../../src/protocol/limits.ts";
import type { Row } from "../../../src/protocol/row.ts";
import type { World } from "../../../src/ports/world.ts";
import { show, timeline } from "../../../src/operations/views.ts";
import { type History, watchRows } from "../../simulation/history.ts";
import { BEAT_MS, type RecordedEffect, SETTLE_MS } from "./scenario.ts";
import type { Plan, Point } from "./plan.ts";
import { sweep } from "../../support/harness/chain-steps.ts";
import { CrashHarness } from "./crash-harness.ts";

export interface PlayedHistory extends History {
  readonly points: readonly Point[];
  readonly effects: readonly RecordedEffect[];
  readonly result: Json;
  /** Why it failed. */
  readonly code: string | null;
  /** How often a run that stops was asked for its last words. */
  readonly closings: number;
  /** How often its model was asked for a summary. */
  readonly summaries: number;
  /** How many replies its model gave, where the scene counts them, and how many the run knows of. */
  readonly replies: number;
  readonly accounted: number;
  /** A model of its own summarises the context of the run. */
  readonly hasSummariser: boolean;
  /** What the parent heard. */
  readonly told: readonly string[];
  /** What was made of a person's decision about the gate. */
  readonly decisions: readonly string[];
  /** By the clock of the scenario. */
  readonly tookMs: number;
  /** A store was away for long. */
  readonly isOutage: boolean;
  /** Whether the zombie came back while others were still at work. */
  readonly thawed: boolean;
}

const START = 1_700_000_000_000;
/** Some releases store a snapshot, and others leave the journal. */
const SHORT_JOURNALS = { ...FEW_BYTES, journalCommitsMax: 4 };
const STEPS_MAX = 300;
/** While everything is away a chain that cannot even park goes round every few seconds. */
const STEPS_AWAY_MAX = 5_000;

export async function playScene(plan: Plan = {}): Promise<PlayedHistory> {
  const clock = virtualClock(START);
  const parks = plan.sleeps === true ? { openParkMs: SWEEP_MS } : {};
  const claims = { chainClaimsMax: 3, beatsPerInvocation: plan.dialled ?? 1, ...parks };
  const limits = limitsFor(BEAT_MS, { settleMs: SETTLE_MS, skewMs: 200, rescueMs: 1_000, ...claims });
  const plain = withKernel(memoryWorld({ clock, limits, random: seededRandom("scene"), sizes: SHORT_JOURNALS }));
  const rows: Row[] = [];
  const keyless: Row[] = [];
  watchRows(plain, (row, isKeyless) => {
    rows.push(row);
    if (isKeyless) keyless.push(row);
  });
  const stage = new CrashHarness(plan, { clock, world: plan.bend?.(plain) ?? plain });
  const run = await stage.start();
  let steps = 0;
  const stepsMax = plan.outage === undefined ? STEPS_MAX : STEPS_AWAY_MAX;
  for (; !stage.isOver(run) && steps < stepsMax; steps += 1) {
    if (stage.dispatch() || (await stage.askPerson(run))) {
      await stage.rest();
      continue;
    }
    if (plan.sleeps !== true || hasExecution(plain, clock.now() + SWEEP_MS)) stage.passTime();
    else {
      clock.moveTo(clock.now() + SWEEP_MS);
      await sweep(sweptOnly(plain, run));
    }
    await stage.rest();
  }
  const tookMs = clock.now() - START;
  // A zombie that outlives the run comes back to an ended one.
  await stage.rest();
  const { thawed } = stage;
  stage.thaw();
  await stage.rest();
  const { world, outside, answers, steered, points, reached, decisions } = stage;
  const shown = await show(world, run);
  const result = shown?.result ?? null;
  const asked = {
    closings: outside.closings(),
    summaries: outside.summaries(),
    replies: outside.replies(),
    accounted: COUNTED.every((name) => plan[name] === undefined) ? 0 : await accountedIn(world, run),
  };
  const ended = { result, code: shown?.failure?.code ?? null, ...asked };
  const letters = await world.inbox.unread({ ...stage.parent, now: clock.now(), limit: 9 });
  const told = letters.map(({ body }) => (body.kind === "child" ? body.status : body.kind));
  const mine = rows.filter((row) => row.run === run);
  const seen = { world, run, rows: mine, keyless, answers, steered, steps, reached, points };
  const services_ = { effects: outside.effects };
  return {
    ...seen,
    outside: services_,
    effects: outside.effects,
    ...ended,
    tookMs,
    isOutage: plan.outage !== undefined,
    hasSummariser: plan.summariser !== undefined,
    thawed,
    told,
    decisions,
  };
}

/** The scenes that count the replies of their model. */
const COUNTED = ["dialled", "recovers", "summariser"] as const;

/** A sweeper would start the parent too, which is to hear of the end only. */
const sweptOnly = (world: MemoryWorld, run: string): World => ({
  ...world,
  table: {
    ...world.table,
    alive: async (query) => {
      const page = await world.table.alive(query);
      const of = <T>(each: readonly T[]): readonly T[] => each.filter((_, at) => page.rows[at]?.run === run);
      return { ...page, rows: of(page.rows), behind: of(page.behind) };
    },
  },
});

/** How often a sweeper comes where runs wait without an execution; it meets no fault. */
const SWEEP_MS = 2_000;

const hasExecution = ({ chain }: MemoryWorld, by: number): boolean => (chain.next() ?? Infinity) <= by;

async function accountedIn(world: World, run: string): Promise<number> {
  const events = (await timeline(world, { run, after: 0 })) ?? [];
  const counts = events.map((event) =>
    event.kind === "ModelCallLost" ? event.calls : Number(event.kind === "ModelCallCompleted"),
  );
  return counts.reduce((sum, count) => sum + count, 0);
}
