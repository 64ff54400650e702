/** Several items at a time, reported in their order. */
import { describe, expect, test } from "vitest";
import { performInLanes } from "../../src/maintenance/lanes.ts";

/** Items of three lanes that finish when the test says so, and what was reported. */
function lanesOf(count: number, mayBegin: (index: number) => boolean = () => true) {
  const under = new Map<number, { readonly resolve: () => void; readonly reject: (error: Error) => void }>();
  const [finished, oldest]: [number[], number[]] = [[], []];
  const done = performInLanes({
    ...{ items: Array.from({ length: count }, (_, index) => index), lanes: 3, mayBegin },
    perform: (item) =>
      new Promise<number>((resolve, reject) => under.set(item, { resolve: () => resolve(item), reject })),
    finished: (item) => void finished.push(item),
    oldest: (index) => void oldest.push(index),
  });
  const end = async (item: number): Promise<void> => {
    under.get(item)?.resolve();
    await new Promise((resolve) => void setImmediate(resolve));
  };
  return { done, end, under, finished, oldest };
}

describe("items in lanes", () => {
  test("are reported in their order, also if a younger one finishes first", async () => {
    const { done, end, under, finished, oldest } = lanesOf(5);
    await end(1);
    await end(2);
    expect({ under: [...under.keys()], finished, oldest: oldest.at(-1) }).toEqual({
      under: [0, 1, 2, 3, 4],
      finished: [],
      oldest: 0,
    });
    await end(0);
    expect({ finished, oldest: oldest.at(-1) }).toEqual({ finished: [0, 1, 2], oldest: 3 });
    await end(4);
    await end(3);
    expect({ done: await done, finished }).toEqual({ done: 5, finished: [0, 1, 2, 3, 4] });
  });

  test("that may not begin are left out, and those under way finish", async () => {
    const { done, end, finished } = lanesOf(5, (index) => index < 2);
    await end(1);
    await end(0);
    expect({ done: await done, finished }).toEqual({ done: 2, finished: [0, 1] });
  });

  test("wait for those under way when one fails, and then tell of its error", async () => {
    const { done, end, under, finished } = lanesOf(6);
    let isOver = false;
    const failed = done.catch((error: unknown) => {
      isOver = true;
      return error;
    });
    under.get(1)?.reject(new Error("no room"));
    await end(0);
    expect({ isOver, under: under.size, finished }).toEqual({ isOver: false, under: 3, finished: [0] });
    await end(2);
    expect(await failed).toEqual(new Error("no room"));
  });
});
