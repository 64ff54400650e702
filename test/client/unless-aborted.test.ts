/** A wait that its caller gives up. */
import { expect, test, vi } from "vitest";
import { unlessAborted } from "../../src/ports/unless-aborted.ts";

const WHY = new Error("enough");

test("leaves the work to go on", async () => {
  const [controller, work] = [new AbortController(), Promise.withResolvers<string>()];
  const ended = vi.fn<(end: string) => void>();
  const waited = unlessAborted(controller.signal, async () => ended(await work.promise));
  controller.abort(WHY);
  await expect(waited).rejects.toBe(WHY);
  work.resolve("done");
  await expect.poll(() => ended.mock.calls).toEqual([["done"]]);
});

test("begins no work if it was given up before", async () => {
  const work = vi.fn<() => Promise<string>>();
  await expect(unlessAborted(AbortSignal.abort(WHY), work)).rejects.toBe(WHY);
  expect(work).not.toHaveBeenCalled();
});

test("ends as the work does, and leaves the signal", async () => {
  const { signal } = new AbortController();
  const removed = vi.spyOn(signal, "removeEventListener");
  expect(await unlessAborted(signal, async () => 7)).toBe(7);
  await expect(unlessAborted(signal, () => Promise.reject(WHY))).rejects.toBe(WHY);
  await expect.poll(() => removed.mock.calls.length).toBe(2);
});
