/** What the end of a worker says that the system killed for want of memory. */
import { describe, expect, test } from "vitest";
import { watchMemoryKills } from "../../src/workers/memory-kills.ts";
import { fullMachine } from "../support/faults/full-machine.ts";

const V1 = { "/proc/self/cgroup": "4:memory:/a\n" };
const V2 = { "/proc/self/cgroup": "0::/a\n" };
const MINE = "this container had no memory left, and the system killed this process";

function machine(first: Readonly<Record<string, string>>) {
  const files: Record<string, string> = { ...first };
  return { files, kills: watchMemoryKills((file) => files[file] ?? null) };
}

describe("a kill for want of memory", () => {
  test.each<readonly [what: string, files: Readonly<Record<string, string>>, file: string]>([
    ["version 2", V2, "/sys/fs/cgroup/a/memory.events"],
    ["version 2, of the slice above", V2, "/sys/fs/cgroup/memory.events"],
    ["version 1", V1, "/sys/fs/cgroup/memory/a/memory.oom_control"],
  ])("is told from the count of the container: %s", (_, group, file) => {
    const { files, kills } = machine({ ...group, [file]: "low 0\noom_kill 3\n", "/proc/vmstat": "oom_kill 9\n" });
    expect(kills.explain()).toBeNull();
    Object.assign(files, { [file]: "low 0\noom_kill 4\n", "/proc/vmstat": "oom_kill 10\n" });
    expect([kills.explain(), kills.explain()]).toEqual([MINE, null]);
  });

  test("explains as many ends as the system counted, and no later one", () => {
    const { files, kills } = machine({ "/proc/vmstat": "oom_kill 0\n" });
    files["/proc/vmstat"] = "oom_kill 2\n";
    const said = "the machine had no memory left, and the system killed this process";
    expect([kills.explain(), kills.explain(), kills.explain()]).toEqual([said, said, null]);
  });

  test("of another process before a worker began explains nothing", () => {
    const { files, kills } = machine({ "/proc/vmstat": "oom_kill 0\n" });
    files["/proc/vmstat"] = "oom_kill 1\n";
    kills.forget();
    expect(kills.explain()).toBeNull();
  });

  test("is not known where the system counts none", () => {
    expect(machine({}).kills.explain()).toBeNull();
  });
});

test("the end of a task says why its process was killed, and by its own kill only that", () => {
  const { state, ends, begin, tell } = fullMachine();
  Object.assign(state, { lacks: null, oom: MINE });
  const dies = (signal: NodeJS.Signals): void => {
    const worker = begin();
    tell(worker, "message", { kind: "ready" });
    tell(worker, "close", null, signal);
  };
  dies("SIGKILL");
  expect(ends.at(-1)).toMatchObject({ hasDied: true, how: `SIGKILL: ${MINE}` });
  state.oom = null;
  dies("SIGKILL");
  expect(ends.at(-1)).toMatchObject({ hasDied: true, how: "SIGKILL" });
  dies("SIGABRT");
  expect(ends.at(-1)).toMatchObject({ hasDied: true, how: expect.stringContaining("heap") });
});
