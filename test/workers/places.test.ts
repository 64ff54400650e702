/** The places of a worker process: which beat goes on when several replies have come. */
import { expect, test } from "vitest";
import { createPlaces } from "../../src/workers/places.ts";
import { virtualClock } from "../../src/adapters/memory/clock.ts";
import { NOW } from "../process/fixtures/store.ts";

/** Places of which all are taken, and a function by which a beat comes back. */
function taken(count: number) {
  const clock = virtualClock(NOW);
  const places = createPlaces(clock);
  places.allow(count);
  for (let place = 0; place < count; place += 1) places.take();
  const entered: string[] = [];
  const drain = new AbortController();
  const comeBack = (name: string, ms = 1_000): void =>
    void places.takeAgain(ms, drain.signal).then(() => entered.push(name));
  const settled = () => new Promise((resolve) => void setImmediate(() => resolve([...entered])));
  return { clock, places, comeBack, settled, drain };
}

test("a beat whose reply came goes on when a place is free, in the order of the replies", async () => {
  const { places, comeBack, settled } = taken(2);
  for (const name of ["first", "second", "third"]) comeBack(name);
  expect(await settled()).toEqual([]);
  places.leave();
  expect(await settled()).toEqual(["first"]);
  places.leave();
  places.leave();
  expect(await settled()).toEqual(["first", "second", "third"]);
});

test("a beat goes on without a free place when its time is over, and then no other one gets that place", async () => {
  const { clock, places, comeBack, settled } = taken(1);
  comeBack("late", 500);
  comeBack("patient");
  clock.moveTo(NOW + 500);
  expect(await settled()).toEqual(["late"]);
  places.leave();
  expect(await settled()).toEqual(["late"]);
  places.leave();
  expect(await settled()).toEqual(["late", "patient"]);
});

test("all beats go on at once when the process is asked to end, also those that come back later", async () => {
  const { comeBack, settled, drain } = taken(1);
  comeBack("one");
  drain.abort();
  comeBack("two");
  expect(await settled()).toEqual(["one", "two"]);
});
