/**
 * Restores of backups under mixed runs. The services go on meanwhile, and half of the models answer differently after the
 * restore. For each order of an unsafe or probed tool there is one effect, or a human is asked.
 */
import { expect, test } from "vitest";
import { STRIDE } from "../support/gate/stride.ts";
import { assertSafety } from "../support/gate/safety.ts";
import { TOOLS, type ToolName } from "../support/restores/services.ts";
import {
  type Dice,
  type KeyedStart,
  type RestoredParts,
  backUp,
  createScene,
  fireIn,
  operate,
  restoreFrom,
  startIn,
  workFor,
} from "../support/restores/lost-time.ts";
import { seededRandom } from "../../src/adapters/memory/clock.ts";

function diceOf(seed: string): Dice {
  const random = seededRandom(seed);
  return { roll: (sides) => Number.parseInt(random.hex().slice(0, 8), 16) % sides };
}

/** The tools whose effects a restored run must never repeat without a question. */
const ASKED: readonly ToolName[] = ["pay", "ship", "mail"];

const RUNS = 20;
/** Of the restores of each kind, in groups. The night plays them all. */
const GROUP = 5;
const GROUPS = STRIDE === 1 ? 20 : 1;
const SCENES = (["all", "rows"] as const satisfies readonly RestoredParts[]).flatMap((parts) =>
  Array.from({ length: GROUPS }, (_, group) => ({ parts, group })),
);
const HOUR = 3_600_000;

const startOf = (dice: Dice, index: number): KeyedStart => {
  const steps = Array.from({ length: 1 + dice.roll(4) }, () => TOOLS[dice.roll(TOOLS.length)] as string);
  return {
    agent: index % 5 === 0 ? "boss" : "clerk",
    key: index % 2 === 0 ? `key ${index}` : null,
    input: { id: `r${index}`, steps, isFickle: index % 4 < 2 },
  };
};

/** Plays one restore. Returns how many effects of the lost time a human was asked about. */
async function play(seed: string, parts: RestoredParts): Promise<{ readonly lost: number; readonly asked: number }> {
  const dice = diceOf(seed);
  const scene = createScene(seed);
  const starts = Array.from({ length: RUNS }, (_, index) => startOf(dice, index));
  // A run without a key that starts in the lost time is started by nobody again.
  const early = starts.filter(({ key }, index) => key === null || index % 3 !== 0);
  const late = starts.filter((each) => !early.includes(each));
  for (const each of early) await startIn(scene, each);
  await workFor(scene, dice, 10 + dice.roll(60));
  const backup = backUp(scene);
  const before = new Map(scene.services.all());
  for (const each of late) await startIn(scene, each);
  const due = Math.floor(scene.clock.now() / HOUR) * HOUR;
  await fireIn(scene, due);
  await workFor(scene, dice, 10 + dice.roll(120));
  const after = new Map(scene.services.all());
  await restoreFrom(scene, backup, parts);
  for (const each of late) await startIn(scene, each);
  await fireIn(scene, due);
  const questions = await operate(scene, dice);
  const isLost = (of: string): boolean => (after.get(of) ?? 0) > (before.get(of) ?? 0);
  const guarded = [...scene.services.all()].filter(([of]) => ASKED.some((name) => of.startsWith(`${name} `)));
  assertSafety(`seed ${seed}, ${parts}: one effect for each order`, () =>
    expect(guarded.filter(([, effects]) => effects > 1)).toEqual([]),
  );
  const unfinished = [...scene.harness.world.store.rows.values()].filter(({ status }) => status !== "completed");
  assertSafety(`seed ${seed}, ${parts}: every run completes`, () =>
    expect(unfinished.map(({ run, status }) => `${run} ${status}`)).toEqual([]),
  );
  const asked = questions.filter(({ tool, order }) => isLost(`${tool} ${order}`));
  return { lost: guarded.filter(([of]) => isLost(of)).length, asked: asked.length };
}

test.each(SCENES)(
  "no restored run repeats an unsafe or probed effect without a question, where $parts come back ($group)",
  async ({ parts, group }) => {
    let [lost, asked] = [0, 0];
    for (let seed = group * GROUP; seed < (group + 1) * GROUP; seed += 1) {
      const found = await play(`restore ${seed}`, parts);
      lost += found.lost;
      asked += found.asked;
    }
    // The scenes reach what they are about. What newer objects know is not asked.
    expect(lost).toBeGreaterThan(5 * GROUP);
    expect(asked).toBeGreaterThan(parts === "all" ? GROUP : 0);
  },
);
