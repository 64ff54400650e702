/** The wall clock of a machine is set while real processes work on its runs: none expires, and nothing is removed. */
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openStore } from "../../src/adapters/local/store/database.ts";
import { sqliteRunTable } from "../../src/adapters/local/store/run-table.ts";
import {
  type CliFolder,
  LONG_TIMEOUTS,
  type CliProcess,
  runCairn,
  spawnCairn,
  createCliFolder,
  runCairnJson,
  startQueuedRun,
  waitForOutput,
} from "../support/processes/cli-process.ts";
import { waitUntil } from "../support/gate/safety.ts";

const DAY_MS = 24 * 3_600_000;
const PRELOAD = new URL("./fixtures/set-clock.ts", import.meta.url).href;

/** A desk on a machine whose wall clock can be set. */
function machine(): { readonly at: CliFolder; readonly setAhead: (ms: number) => void } {
  const clock = { CLOCK_AHEAD_MS_FILE: "" };
  const bare = createCliFolder({ ...LONG_TIMEOUTS, NODE_OPTIONS: `--import=${PRELOAD}` });
  clock.CLOCK_AHEAD_MS_FILE = join(bare.dir, "ahead");
  const setAhead = (ms: number): void => {
    // A process that reads it meanwhile sees the one or the other.
    writeFileSync(`${clock.CLOCK_AHEAD_MS_FILE}.new`, String(ms));
    renameSync(`${clock.CLOCK_AHEAD_MS_FILE}.new`, clock.CLOCK_AHEAD_MS_FILE);
  };
  setAhead(0);
  return { at: { ...bare, env: { ...bare.env, ...clock } }, setAhead };
}

/** As the row says, whatever time it is; null where it is gone. */
async function statusOf(at: CliFolder, run: string): Promise<string | null> {
  const store = openStore({ dir: at.store, create: false });
  try {
    return (await sqliteRunTable(store).read(run, 0))?.status ?? null;
  } finally {
    store.close();
  }
}

const untilIs = (at: CliFolder, run: string, status: string): Promise<void> =>
  waitUntil(async () => expect(await statusOf(at, run)).toBe(status));

/** A supervisor that begins sweeps, and removes what has expired, before anything else. */
async function restarted(at: CliFolder, before: CliProcess | null): Promise<CliProcess> {
  before?.child.kill("SIGTERM");
  await before?.ended;
  return spawnCairn(at, ["work"]);
}

describe("a wall clock that is set under a supervisor", () => {
  it("expires no gate and removes no run: 40 days ahead and back, two days back and forth", async () => {
    const { at, setAhead } = machine();
    const [ended, gated] = [await startQueuedRun(at, "note"), await startQueuedRun(at, "pay")];
    let working = await restarted(at, null);
    await untilIs(at, ended, "completed");
    await untilIs(at, gated, "waiting");

    setAhead(40 * DAY_MS);
    await waitForOutput(
      working,
      /the clock of this machine was put ahead by 40 days; cairn continues with the time before/,
    );
    working = await restarted(at, working);
    await waitForOutput(working, /put ahead by 40 days/);
    // A beat that begins now, in a worker that began after the jump.
    expect((await runCairn(at, ["send", gated, "are you there?"])).exit).toBe(0);
    const between = await startQueuedRun(at, "note", "note");
    await untilIs(at, between, "completed");
    const judged = (await runCairnJson(at, ["doctor"]))["checks"] as readonly Record<string, unknown>[];
    expect(judged.find(({ id }) => id === "clock")).toMatchObject({
      status: "fail",
      why: expect.stringMatching(/ahead by 40 days/),
    });

    setAhead(-2 * DAY_MS);
    await waitForOutput(working, /put back by 2 days/);
    const late = await startQueuedRun(at, "note", "note", "note");
    await untilIs(at, late, "completed");

    setAhead(0);
    await waitForOutput(working, /the clock of this machine is trusted again/);
    working = await restarted(at, working);
    await untilIs(at, await startQueuedRun(at, "note", "note", "note", "note"), "completed");
    for (const run of [ended, between, late]) expect(await statusOf(at, run)).toBe("completed");
    expect((await runCairn(at, ["approve", gated])).exit).toBe(0);
    await untilIs(at, gated, "completed");
    // The first one: its key still stands for the same run.
    expect(await startQueuedRun(at, "note")).toBe(ended);
  });
});
