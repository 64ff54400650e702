import { expect, it } from "vitest";
import { cpuMeter } from "../../../scripts/verify/cpu.ts";

/** A line of `/proc/self/stat` whose children have used so many ticks, in user and system mode. */
const statOf = (user: number, system: number): string =>
  `12 (a name) with) S 1 12 12 0 -1 4194560 9 8 7 6 500 400 ${user} ${system} 20 0 11 0`;

it("counts the seconds of the processes that ended since the last lap", () => {
  const lines = [statOf(250, 50), statOf(250, 50), statOf(400, 150)];
  const meter = cpuMeter(() => lines.shift() ?? "");
  expect([meter.lap(), meter.lap(), meter.lap()]).toEqual([3, 0, 2.5]);
});

it("says nothing where the system does not count", () => {
  const meter = cpuMeter(() => {
    throw new Error("no /proc");
  });
  expect(meter.lap()).toBe(null);
});
