/** What `ps` says on macOS and the BSDs, where there is no `/proc`. */
import { describe, expect, test } from "vitest";
import { type RunPs, identityOfStarted, seenByPs } from "../../../src/adapters/local/process-identity.ts";

const prints =
  (text: string): RunPs =>
  () =>
    text;
const fails =
  (error: object): RunPs =>
  () => {
    throw Object.assign(new Error("ps failed"), error);
  };

describe("the process of a pid, by ps", () => {
  test("is known by its start time, whatever its state", () => {
    const startedAt = "Sat Nov 28 22:18:50 2026";
    for (const state of ["S+", "R", "Ss", "U", "T", "SN+"]) {
      expect(seenByPs(4_711, prints(`${state.padEnd(5)}${startedAt}    \n`))).toEqual({ startedAt, isZombie: false });
    }
  });

  test("is known by the same start time with a day of one digit", () => {
    expect(seenByPs(4_711, prints("S    Tue Dec  1 08:00:00 2026\n"))?.startedAt).toBe("Tue Dec 1 08:00:00 2026");
  });

  test("is a zombie if its state says so", () => {
    expect(seenByPs(4_711, prints("Z    Sat Nov 28 22:18:50 2026\n"))?.isZombie).toBe(true);
  });

  test("is asked for with one option for each column, in one language and one time zone", () => {
    const asked: (readonly string[])[] = [];
    seenByPs(4_711, (words) => {
      asked.push(words);
      return "S Sat Nov 28 22:18:50 2026";
    });
    expect(asked).toEqual([["-o", "stat=", "-o", "lstart=", "-p", "4711"]]);
  });

  test("is none if ps ends with 1 and prints nothing", () => {
    expect(seenByPs(4_711, fails({ status: 1, stdout: "" }))).toBeNull();
    expect(seenByPs(4_711, prints("\n"))).toBeNull();
  });

  // Such a process may be alive: its store would get a second supervisor.
  test.each([
    ["ps cannot be started", fails({ code: "EAGAIN", status: null, stdout: null })],
    ["ps is killed", fails({ status: null, signal: "SIGKILL", stdout: "" })],
    ["ps complains of its options", fails({ status: 2, stdout: "" })],
    ["ps prints one column with a heading", prints(",lstart=\nS\n")],
    ["ps prints the date of another language", prints("S    Sa. 28 Nov. 22:18:50 2026\n")],
  ])("is unknown, and not dead, if %s", (_, run) => {
    expect(() => seenByPs(4_711, run)).toThrow(/cannot tell whether process 4711 is alive/);
  });

  test("is found with the ps of this machine, and none once it has no process", () => {
    const seen = seenByPs(process.pid);
    expect(seen).toEqual({ startedAt: expect.stringMatching(/^\w{3} \w{3} \d+ [\d:]+ \d{4}$/), isZombie: false });
    expect(seenByPs(2 ** 22 + 1)).toBeNull();
  });
});

test("a process that was started and cannot be identified is killed, since it could not be killed later", () => {
  const killed: number[] = [];
  const kill = (pid: number): void => void killed.push(pid);
  const identity = { pid: 4_711, startedAt: "Sat Nov 28 22:18:50 2026" };
  expect(identityOfStarted(4_711, { identify: () => identity, kill })).toEqual(identity);
  expect(killed).toEqual([]);
  const identify = (): never => {
    throw new Error("spawnSync ps EAGAIN");
  };
  expect(identityOfStarted(4_711, { identify, kill })).toBeNull();
  expect(killed).toEqual([4_711]);
});
