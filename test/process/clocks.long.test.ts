/** The wall clock of a machine is set while real processes work on its runs: none expires, and nothing is removed. */
import { existsSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openStore } from "../../src/adapters/local/store/database.ts";
import { sqliteRunTable } from "../../src/adapters/local/store/run-table.ts";
import {
  type CliFolder,
  LONG_TIMEOUTS,
  askCairn,
  type CliProcess,
  countMails,
  openGate,
  parseJsonLines,
  runCairn,
  spawnCairn,
  createCliFolder,
  runCairnJson,
  startQueuedRun,
  waitForOutput,
} from "../support/processes/cli-process.ts";
import { assertSafety, waitUntil } from "../support/gate/safety.ts";

const DAY_MS = 24 * 3_600_000;
const PRELOAD = new URL("./fixtures/set-clock.ts", import.meta.url).href;

/** A desk on a machine whose wall clock can be set, and which can sleep. */
function machine() {
  const bare = createCliFolder({ ...LONG_TIMEOUTS, NODE_OPTIONS: `--import=${PRELOAD}` });
  const clock = { CLOCK_AHEAD_MS_FILE: join(bare.dir, "ahead"), CLOCK_SLEPT_MS_FILE: join(bare.dir, "slept") };
  const writer = (file: string) => (ms: number) => {
    // A process that reads it meanwhile sees the one or the other.
    writeFileSync(`${file}.new`, String(ms));
    renameSync(`${file}.new`, file);
  };
  const [setAhead, sleep] = [writer(clock.CLOCK_AHEAD_MS_FILE), writer(clock.CLOCK_SLEPT_MS_FILE)];
  setAhead(0);
  sleep(0);
  const at: CliFolder = { ...bare, env: { ...bare.env, ...clock } };
  return { at, setAhead, sleep };
}

/** Waits for some seconds, and is done. */
const RESTER = `
import { defineAgent, scriptedModel, sleep } from "cairn-run";
import { z } from "zod";

export const rester = defineAgent({
  ...{ name: "rester", version: "1", instructions: "Wait.", task: z.object({ seconds: z.int() }) },
  ...{ schedule: { every: "rate(8 hours)", input: { seconds: 1 } } },
  model: scriptedModel({
    name: "rester-model",
    reply: ({ task, calls }) => (calls.length === 0 ? { calls: [{ tool: "rest", args: { seconds: (task.json as { seconds: number }).seconds } }] } : { text: "rested" }),
  }),
  tools: { rest: sleep() },
});
`;

/** Starts a run that waits for a time, and returns when it waits. */
async function startResting(at: CliFolder, seconds: number): Promise<string> {
  writeFileSync(join(at.dir, "rester.ts"), RESTER);
  writeFileSync(join(at.dir, "cairn.config.ts"), 'export const config = { agents: ["./clerk.ts", "./rester.ts"] };\n');
  const { run } = await runCairnJson(at, ["start", "rester", "--input", `{"seconds":${seconds}}`, "--key", "rest"]);
  return String(run);
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
  it.each([
    ["back", -1],
    ["ahead", 1],
  ] as const)(
    "%s by an hour ends a wait for a time when its time has passed, and `show` says so",
    async (words, hours) => {
      const { at, setAhead } = machine();
      const run = await startResting(at, 8);
      const working = await restarted(at, null);
      const begun = performance.now();
      await untilIs(at, run, "waiting");
      setAhead(hours * 3_600_000);
      await waitForOutput(working, new RegExp(`was put ${words} by 60 minutes`));
      expect((await runCairn(at, ["show", run])).err).toMatch(
        `the clock of this machine was put ${words} by 60 minutes`,
      );
      await untilIs(at, run, "completed");
      // It waited for its time, and not for the hour by which the clock was set: the limit of the test is shorter.
      expect(performance.now() - begun).toBeGreaterThan(hours < 0 ? 0 : 7_000);
    },
  );

  it("sleeps for eight hours with the machine: a wait and a schedule are due, and a beat that slept is done again", async () => {
    const { at, sleep } = machine();
    const resting = await startResting(at, 3_600);
    const held = await startQueuedRun(at, "mail", "gate");
    const working = await restarted(at, null);
    await untilIs(at, resting, "waiting");
    // Its call is under way, and its schedule is known: of the times before that, a schedule starts nothing.
    await waitUntil(() => expect(existsSync(join(at.store, "mails"))).toBe(true));
    await waitUntil(async () => expect((await askCairn(at, ["ledger", held])).out).toMatch(/gate/));
    await waitForOutput(working, "rester  its schedule is new, and fires from now on");
    sleep(8 * 3_600_000);
    await untilIs(at, resting, "completed");
    await waitForOutput(working, /after its deadline, at which the supervisor was stopped/);
    // By a process of the machine that slept: this one takes a lower uptime for a restart, and once it is above a day the
    // time since then for longer than an ended run is kept.
    const scheduled = async () =>
      parseJsonLines((await runCairn(at, ["list", "--json", "--agent", "rester"])).out).filter(
        ({ run }) => run !== resting,
      );
    await waitUntil(async () => expect(await scheduled()).toMatchObject([{ status: "completed" }]));
    openGate(at);
    await untilIs(at, held, "completed");
    assertSafety("the letter was sent once", () => expect(countMails(at)).toBe(1));
    expect(await scheduled()).toHaveLength(1);
  });

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
