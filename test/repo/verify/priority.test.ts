import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { getPriority } from "node:os";
import { expect, it } from "vitest";
import { giveWay } from "../../../scripts/verify/priority.ts";

it("lowers the process, and its session where the system weighs sessions", () => {
  const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1e6)"], { detached: true, stdio: "ignore" });
  const pid = child.pid ?? 0;
  try {
    giveWay(pid);
    expect(getPriority(pid)).toBe(5);
    const group = `/proc/${pid}/autogroup`;
    if (existsSync(group)) expect(readFileSync(group, "utf8")).toMatch(/nice 5\n$/);
  } finally {
    child.kill("SIGKILL");
  }
});

it("does not mind a process that has ended", () => {
  const child = spawn(process.execPath, ["-e", ""], { detached: true, stdio: "ignore" });
  const pid = child.pid ?? 0;
  process.kill(pid, "SIGKILL");
  expect(() => giveWay(2 ** 30)).not.toThrow();
  expect(() => giveWay(pid)).not.toThrow();
});
