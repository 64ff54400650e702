/** Which bound of a machine leaves no room for a worker. */
import { expect, test } from "vitest";
import { type MachineReaders, lackOfRoom } from "../../src/workers/machine-room.ts";
import type { SeenProcess } from "../../src/workers/proc.ts";

const some = (count: number, of: Partial<SeenProcess> = {}): readonly SeenProcess[] =>
  Array.from({ length: count }, (_, index) => ({
    ...{ pid: 100 + index, parent: 1, group: 1, name: "p", isZombie: false, threads: 1 },
    ...of,
  }));

const reading = (
  files: Readonly<Record<string, string>>,
  { processes = some(50), user = 0 }: { processes?: readonly SeenProcess[] | null; user?: number } = {},
): MachineReaders => ({
  processes: () => processes,
  text: (file) => files[file] ?? null,
  user: () => user,
  userOf: (pid) => (pid % 2 === 0 ? 1_000 : 0),
});

const PID_MAX = "/proc/sys/kernel/pid_max";
const GROUPS = "/proc/self/cgroup";

test("a machine with room lacks nothing", () => {
  expect(lackOfRoom(reading({ [PID_MAX]: "32768\n" }))).toBeNull();
  expect(lackOfRoom(reading({}))).toBeNull();
});

test("a machine that shows no processes is not judged", () => {
  expect(lackOfRoom(reading({ [PID_MAX]: "10" }, { processes: null }))).toBeNull();
});

test("threads and zombies take up process IDs", () => {
  const processes = [...some(20, { threads: 11 }), ...some(90, { isZombie: true })];
  expect(lackOfRoom(reading({ [PID_MAX]: "330\n" }, { processes }))).toBe(
    "310 of 330 process IDs are in use, 90 of them by dead processes that are not reaped",
  );
});

test.each<readonly [what: string, files: Readonly<Record<string, string>>]>([
  ["version 2", { [GROUPS]: "0::/\n", "/sys/fs/cgroup/pids.max": "64\n", "/sys/fs/cgroup/pids.current": "60\n" }],
  [
    "version 2, of a slice above",
    { [GROUPS]: "0::/a/b\n", "/sys/fs/cgroup/a/pids.max": "64\n", "/sys/fs/cgroup/a/pids.current": "60\n" },
  ],
  [
    "version 1",
    {
      [GROUPS]: "4:cpu:/\n8:pids:/x\n",
      "/sys/fs/cgroup/pids/x/pids.max": "64",
      "/sys/fs/cgroup/pids/x/pids.current": "60",
    },
  ],
])("the bound of a container counts: %s", (_, files) => {
  expect(lackOfRoom(reading(files))).toBe("60 of 64 processes of this container are in use");
});

test("a control group without a bound counts for nothing", () => {
  const files = { [GROUPS]: "0::/\n", "/sys/fs/cgroup/pids.max": "max\n", "/sys/fs/cgroup/pids.current": "60\n" };
  expect(lackOfRoom(reading(files))).toBeNull();
});

test("the bound of a user counts for its own processes, and not for the superuser", () => {
  const files = { "/proc/self/limits": "Max processes             30                   40                processes\n" };
  expect(lackOfRoom(reading(files, { user: 1_000 }))).toBe("25 of 30 processes of this user (`ulimit -u`) are in use");
  expect(lackOfRoom(reading(files, { user: 0 }))).toBeNull();
});
