/** The supervisor reads the schedules of its agents until it can, and never gives up. */
import { expect, test } from "vitest";
import { followSchedules, type readSchedules } from "../../src/compose/schedules.ts";
import type { Settings } from "../../src/compose/settings.ts";

type Found = Awaited<ReturnType<typeof readSchedules>>;

const shell = { cwd: "/", env: {} } as Parameters<typeof readSchedules>[0];
const settings = {} as Settings;
const clerk = { agent: "clerk" } as unknown as NonNullable<Found["scheduled"]>[number];
const late: Found = { scheduled: null, broken: [{ file: "cairn.config.ts", why: "it did not answer in time" }] };
const halved: Found = { scheduled: [clerk], broken: [{ file: "broken.ts", why: "not today" }] };
const whole: Found = { scheduled: [clerk, clerk], broken: [] };

/** What is read one after the other; null: the supervisor stops. */
async function follow(results: readonly (Found | null)[]) {
  const stop = new AbortController();
  const heard: Found[] = [];
  const limits: number[] = [];
  const pauses: number[] = [];
  const left = [...results];
  const read: typeof readSchedules = async (_shell, _reading, timeout) => {
    limits.push(Number(timeout));
    const next = left.shift() ?? null;
    if (next === null) stop.abort();
    return next ?? { scheduled: null, broken: [] };
  };
  const pause = async (ms?: number): Promise<never> => {
    pauses.push(ms ?? 0);
    return undefined as never;
  };
  await followSchedules(
    shell,
    { settings, stop: stop.signal, onRead: (found) => void heard.push(found) },
    { read, pause },
  );
  return { heard, limits, pauses, left };
}

test("a reading that failed is repeated until each file could be read, and each trouble is said once", async () => {
  const { heard, left } = await follow([late, late, halved, late, halved, whole, late]);
  expect(heard).toEqual([late, halved, whole]);
  // What follows a whole reading is not read.
  expect(left).toEqual([late]);
});

test("schedules that a reading lost come back with the next one that has them, although its trouble was said before", async () => {
  const none: Found = { scheduled: [], broken: [...halved.broken, { file: "other.ts", why: "nor today" }] };
  const { heard } = await follow([halved, none, halved, halved, whole]);
  expect(heard).toEqual([halved, none, halved, whole]);
});

test("the pauses and the time of a reading grow, and both are bounded", async () => {
  const { limits, pauses } = await follow(Array.from({ length: 40 }, () => late));
  expect({ limits: limits.slice(0, 2), pauses: pauses.slice(0, 2) }).toEqual({
    limits: [60_000, 120_000],
    pauses: [5_000, 10_000],
  });
  expect({ limits: limits.at(-1), pauses: pauses.at(-1) }).toEqual({ limits: 600_000, pauses: 300_000 });
});

test("a supervisor that stops hears of nothing more", async () => {
  const { heard, pauses } = await follow([late, null, whole]);
  expect({ heard, pauses: pauses.length }).toEqual({ heard: [late], pauses: 1 });
});
