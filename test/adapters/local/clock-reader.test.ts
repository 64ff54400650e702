/** The clocks of the machine: the uptime is read in a file, so it is read rarely, and always when something moved. */
import { expect, test } from "vitest";
import { clockReader } from "../../../src/adapters/local/clock.ts";

function machine() {
  const clocks = { wall: 1_000_000, uptime: 5_000, monotonic: 100, reads: 0 };
  const read = clockReader({
    wall: () => clocks.wall,
    uptime: () => {
      clocks.reads += 1;
      return clocks.uptime / 1_000;
    },
    monotonic: () => clocks.monotonic,
  });
  const pass = (ms: number): void => {
    clocks.wall += ms;
    clocks.uptime += ms;
    clocks.monotonic += ms;
  };
  read();
  return { clocks, read, pass, base: clocks.reads };
}

test("while the clocks go on together, the uptime is not read again", () => {
  const { clocks, read, pass, base } = machine();
  pass(400);
  expect(read()).toMatchObject({ wall: 1_000_400, uptime: 5_400 });
  pass(7_000);
  expect(read()).toMatchObject({ wall: 1_007_400, uptime: 12_400 });
  expect(clocks.reads).toBe(base);
});

test("a machine that was suspended shows its whole uptime at once", () => {
  const { clocks, read, pass } = machine();
  pass(10);
  clocks.wall += 60_000;
  clocks.uptime += 60_000;
  expect(read()).toMatchObject({ wall: 1_060_010, uptime: 65_010 });
});

test("a wall clock that was set differs from the uptime at once", () => {
  for (const byMs of [-3_600_000, 3_600_000]) {
    const { clocks, read, pass } = machine();
    pass(10);
    clocks.wall += byMs;
    expect(read()).toMatchObject({ wall: 1_000_010 + byMs, uptime: 5_010 });
    pass(10);
    expect(read()).toMatchObject({ wall: 1_000_020 + byMs, uptime: 5_020 });
  }
});
