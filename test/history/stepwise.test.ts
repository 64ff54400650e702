/** Work in steps: what one turn does of it. */
import { expect, test } from "vitest";
import { atOnce, eachOf, inTurns } from "../../src/history/stepwise.ts";
import { EVENTS_PER_TURN } from "../../src/ports/reading.ts";

test("handles so many items in a turn at most, and the same in all", async () => {
  const items = Array.from({ length: 10_000 }, (_, index) => index);
  const handled: number[] = [];
  let [inTurn, most] = [0, 0];
  const turn = async (): Promise<void> => {
    [most, inTurn] = [Math.max(most, inTurn), 0];
  };
  await inTurns(
    eachOf(items, (item) => {
      handled.push(item);
      inTurn += 1;
    }),
    turn,
  );
  await turn();
  expect(most).toBe(EVENTS_PER_TURN);
  expect(handled).toEqual(items);
  const again: number[] = [];
  atOnce(eachOf(items, (item) => void again.push(item)));
  expect(again).toEqual(items);
});
