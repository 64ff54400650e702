/**
 * Histories from seeds over the real runner and core: whatever chains, stores, clocks, tools and people do to a run, in
 * any order. What a history must hold is in `checkers.ts` and `checkers-simulated.ts`, what the histories must have met
 * in `reach.ts`. A seed that failed once is pinned; `npm run sim -- --seed NAME` is its whole reproduction.
 */
import { expect, test } from "vitest";
import { assertNoViolations } from "../support/gate/safety.ts";
import { sampled } from "../support/gate/stride.ts";
import { ENUMERATION_TIMEOUT } from "../support/harness/timeouts.ts";
import { wrongIn } from "./checkers-simulated.ts";
import { violationsOf } from "./checkers.ts";
import { FAULTS, MODES } from "./modes.ts";
import { CELLS, Reach } from "./reach.ts";
import { isFamilySeed, pinnedSeeds } from "./seeds.ts";
import { simulate } from "./simulate.ts";
import { linesOf, traceOf } from "./trace.ts";

const SEEDS = 200;

/** What so many seeds meet in any case; `npm run sim -- --seeds 10000` asks for every cell. */
const FREQUENT = [
  /^table\.(claim|commit|read) /,
  /^objects\.(put|get) /,
  /^chain\.start /,
  /^process /,
  /^phase (Preparing|AwaitingLLM|ExecutingTools|AwaitingReconcile) (kill|freeze|presume dead)$/,
  /^(task beat sent twice|execution started twice|two sweepers|sweep died|chain (beat|rescue) out of attempts)$/,
  /^steer (send (delivered|duplicate)|(cancel|pause|resume) requested)$/,
  /^answer (retry|failed|succeeded) accepted$/,
  /^answer (retry|failed) tooEarly$/,
  /^ends (Completed|Cancelled)$/,
  /^saga (undone|begins again)$/,
  /^redriven and completed$/,
  /^clock set (ahead|back)$/,
  /^(wait (answered|signalled|slept|ended by its limit)|batch (read|failed)|memory (recalled|written|learned))$/,
  /^(cap reached|webhook run\.completed|chat (waited|ended by its limit))$/,
  /^provider (for minutes|for hours|a fallback answers|asked again at once)$/,
  /^mode /,
  /^schedule (1|2|6|7|11|14|17|20|22|24|27|28|30|33|34|38|39|45|102)$/,
];

// In the gate the step `simulation` plays more of them, for each change of what they play.
test.each(sampled([], [SEEDS]))(
  "of %i histories none breaks a guarantee, each ends in time, and together they reach every required cell",
  ENUMERATION_TIMEOUT,
  async (seeds) => {
    const found: string[] = [];
    const reach = new Reach();
    for (let seed = 0; seed < seeds; seed += 1) {
      const history = await simulate(`s${seed}`);
      const violations = wrongIn(history);
      found.push(...violations.map((each) => `${history.seed}: ${each}`));
      reach.add(history);
    }
    assertNoViolations(found);
    expect(reach.empty(CELLS.filter((cell) => FREQUENT.some((each) => each.test(cell))))).toEqual([]);
    expect(reach.faults).toBeGreaterThan(10 * seeds);
  },
);

test.each(pinnedSeeds().filter(({ seed }) => !isFamilySeed(seed)))(
  "pinned: $seed, which once broke a guarantee, does not",
  async ({ seed, isPlain }) => {
    assertNoViolations(wrongIn(await simulate(seed, { isPlain })));
  },
);

test("a seed determines its history: two plays are equal", async () => {
  for (const mode of Object.values(MODES)) {
    for (const seed of ["s1", "s7", "s42"]) {
      const [once, again] = [await simulate(seed, { mode }), await simulate(seed, { mode })];
      expect(traceOf(again)).toBe(traceOf(once));
      expect(linesOf(again)).toEqual(linesOf(once));
    }
  }
});

test(
  "schedule 23: clocks beyond the margin double what depends on them, and nothing else",
  ENUMERATION_TIMEOUT,
  async () => {
    const doubled: string[] = [];
    for (let seed = 0; seed < 300 && doubled.length === 0; seed += 1) {
      const history = await simulate(`s${seed}`, { mode: MODES.skewed });
      assertNoViolations(wrongIn(history));
      doubled.push(...violationsOf(history));
    }
    expect(doubled.join("\n")).toMatch(/^(keyedOnce: (probed|unsafe-undo)|unsafeOncePerPermission|recordedHappened)/);
  },
);

test("a run without faults needs no recovery to reach its end", async () => {
  const history = await simulate("s1", { mode: { ...FAULTS, oneIn: [], most: 0 } });
  assertNoViolations(wrongIn(history));
  expect(history).toMatchObject({ faults: 0, steered: [] });
  expect(history.rows.at(-1)).toMatchObject({ status: "completed", takeovers: 0, chain: 1 });
});
