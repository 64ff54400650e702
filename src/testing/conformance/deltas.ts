/** The contract of the port `DeltaLog`: markers of readers, deltas in order, and their expiry. */
import type { Delta, DeltaLog, DeltaPlace } from "../../ports/delta-log.ts";
import type { Incarnation } from "../../protocol/row.ts";
import { type Case, must, mustEqual } from "./case.ts";
import { times } from "./run.ts";

/** A delta log, and a tenant whose runs no other case uses. */
export interface DeltasWorld {
  readonly deltas: DeltaLog;
  readonly tenant: string;
}

const NOW = 1_700_000_000_000;
const START: DeltaPlace = { epoch: 0, version: 0, seq: 0 };

const runOf = ({ tenant }: DeltasWorld, letter = "d"): Incarnation => ({
  run: `${tenant}-${letter.repeat(26)}`,
  born: "aaaaaaaaaa",
});

const deltaOf = (change: Partial<Delta> = {}): Delta => ({
  epoch: 3,
  version: 7,
  seq: 1,
  at: NOW,
  parts: [{ kind: "text", index: 0, text: `of ${JSON.stringify(change)} é \u{1f980}` }],
  ...change,
});

const readOf = (
  { deltas }: DeltasWorld,
  incarnation: Incarnation,
  change: Partial<Parameters<DeltaLog["read"]>[0]> = {},
) => deltas.read({ ...incarnation, after: START, limit: 100, now: NOW, ...change });

/** Reads may lag, so a case about what they give repeats them. */
async function untilRead(
  world: DeltasWorld,
  incarnation: Incarnation,
  wanted: readonly Delta[],
  what: string,
  change: Parameters<typeof readOf>[2] = {},
): Promise<void> {
  let found = await readOf(world, incarnation, change);
  for (let again = 0; again < READS_MAX && found.length !== wanted.length; again += 1)
    found = await readOf(world, incarnation, change);
  mustEqual(found, wanted, what);
}

const READS_MAX = 50;

export const deltaCases: readonly Case<DeltasWorld>[] = [
  {
    name: "says until when a reader is attached, also to a run that does not exist, and never an earlier time",
    run: async (world) => {
      const { deltas } = world;
      const { run } = runOf(world);
      mustEqual(await deltas.attachedUntil({ run, now: NOW }), null, "a run without a reader");
      await deltas.attach({ run, until: NOW + 5_000 });
      await deltas.attach({ run, until: NOW + 2_000 });
      mustEqual(await deltas.attachedUntil({ run, now: NOW }), NOW + 5_000, "the later one of two times");
      mustEqual(await deltas.attachedUntil({ run, now: NOW + 5_000 }), null, "a reader whose time is over");
      await deltas.attach({ run, until: NOW + 9_000 });
      mustEqual(await deltas.attachedUntil({ run, now: NOW + 5_000 }), NOW + 9_000, "a reader that came again");
      mustEqual(await deltas.attachedUntil({ run: runOf(world, "e").run, now: NOW }), null, "another run");
    },
  },
  {
    name: "gives the deltas of a step in order, behind a place, in pages, and each once",
    run: async (world) => {
      const of = runOf(world);
      // More than ten, so that numbers do not sort as texts do.
      const step = times(12, (index) => deltaOf({ seq: index + 1, at: NOW + index }));
      for (const delta of step) {
        await world.deltas.append(of, delta);
        await world.deltas.append(of, delta);
      }
      await untilRead(world, of, step, "the deltas of a step");
      const after = { epoch: 3, version: 7, seq: 9 };
      mustEqual(await readOf(world, of, { after }), step.slice(9), "the deltas behind the ninth");
      mustEqual(await readOf(world, of, { after: { ...START, epoch: 3 }, limit: 2 }), step.slice(0, 2), "a page");
      mustEqual(await readOf(world, of, { after: { epoch: 3, version: 8, seq: 0 } }), [], "behind a later version");
      mustEqual(await readOf(world, of, { after: { epoch: 4, version: 0, seq: 0 } }), [], "behind a later epoch");
      mustEqual(await readOf(world, { ...of, born: "bbbbbbbbbb" }), [], "another incarnation");
      mustEqual(await readOf(world, runOf(world, "e")), [], "another run");
    },
  },
  {
    name: "gives the last step, whatever became of those before it",
    run: async (world) => {
      const of = runOf(world);
      const after = { epoch: 11, version: 0, seq: 0 };
      const last = deltaOf({ epoch: 11 });
      for (const delta of [deltaOf({ epoch: 9 }), deltaOf({ epoch: 9, version: 8 }), last])
        await world.deltas.append(of, delta);
      await untilRead(world, of, [last], "the step of the last epoch", { after });
      // A process that was frozen writes late. A reader asks behind the epoch that the row has.
      await world.deltas.append(of, deltaOf({ epoch: 10, seq: 4 }));
      mustEqual(
        await readOf(world, of, { after: { epoch: 11, version: 0, seq: 0 } }),
        [last],
        "the step of the last epoch",
      );
    },
  },
  {
    name: "gives no delta that has expired, deleted or not",
    run: async (world) => {
      const of = runOf(world);
      await world.deltas.append(of, deltaOf({ at: NOW }));
      await world.deltas.append(of, deltaOf({ seq: 2, at: NOW + 60_000 }));
      const hourMs = 3_600_000;
      const later = await readOf(world, of, { now: NOW + 15 * 60_000 + 30_000 });
      must(
        later.every(({ seq }) => seq === 2),
        "a delta is absent after its time",
      );
      mustEqual(await readOf(world, of, { now: NOW + hourMs }), [], "all deltas after their time");
    },
  },
  {
    name: "forgets the deltas of one incarnation, and its reader",
    run: async (world) => {
      const { deltas } = world;
      const of = runOf(world);
      const next = { ...of, born: "cccccccccc" };
      await deltas.attach({ run: of.run, until: NOW + 5_000 });
      for (const each of [of, next]) await deltas.append(each, deltaOf());
      await deltas.forget(of);
      await untilRead(world, of, [], "what is forgotten");
      await untilRead(world, next, [deltaOf()], "what another incarnation has");
      mustEqual(await deltas.attachedUntil({ run: of.run, now: NOW }), null, "the reader");
      await deltas.forget(of);
    },
  },
];
