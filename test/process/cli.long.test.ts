/** The command line as people and programs use it: real processes, their output and their exit codes. */
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  askCairn,
  LONG_TIMEOUTS,
  runCairn,
  spawnCairn,
  createCliFolder,
  runCairnJson,
  stepsInput,
  keyOfSteps,
  parseJsonLines,
  openGate,
  startQueuedRun,
  waitForOutput,
} from "../support/processes/cli-process.ts";
import { fitPrinted } from "../support/processes/printed-json.ts";
import { SOURCE_MAIN } from "../support/processes/program.ts";

const RUN = /local-[a-z2-7]{26}/;
/** How long ago something was, as a fast machine and a slow one print it. */
const AGE = String.raw`(just now|[\dms]+ ago)`;

describe("start", () => {
  it("queues a run and says what to type next", async () => {
    const at = createCliFolder();
    const { exit, out, err } = await runCairn(at, ["start", "clerk", "--input", stepsInput("note")]);
    expect(exit).toBe(0);
    expect(out).toMatch(new RegExp(`^started ${RUN.source}  clerk\nqueued; run \`npx cairn work --store .*\`\n$`));
    expect(err).toBe("clerk is imported\n");
  });

  it("takes its input from stdin and from a file", async () => {
    const at = createCliFolder();
    writeFileSync(join(at.dir, "task.json"), stepsInput("note"));
    const ends = await Promise.all([
      runCairn(at, ["start", "clerk", "--json", "--key", "a", "--input", "-"], { stdin: stepsInput("note") }),
      runCairn(at, ["start", "clerk", "--json", "--key", "b", "--input", "@task.json"]),
    ]);
    expect(ends.map(({ exit }) => exit)).toEqual([0, 0]);
    expect(JSON.parse(ends[0].out)).toMatchObject({
      agent: "clerk",
      status: "queued",
      started: true,
      supervisor: null,
    });
  });

  it("gives one run for one key, and refuses another input", async () => {
    const at = createCliFolder();
    const words = ["start", "clerk", "--key", "k", "--input"];
    const run = await runCairnJson(at, [...words, stepsInput("note")]);
    expect(await runCairnJson(at, [...words, stepsInput("note")])).toEqual({ ...run, started: false });
    const other = await runCairn(at, [...words, stepsInput("mail")]);
    expect({ exit: other.exit, err: other.err }).toEqual({
      exit: 4,
      err: expect.stringContaining("error KeyConflict:"),
    });
    expect(other.err).toContain("another input or other files");
    expect(other.err).toContain(`next: npx cairn show ${String(run["run"])} --store ${at.store}`);
    const elsewhere = await runCairnJson(at, [...words, stepsInput("mail"), "--tenant", "other"]);
    expect(elsewhere["run"]).toMatch(/^other-/);
  });

  it("keeps its store at the place of the flag, the environment or the config", async () => {
    const at = createCliFolder();
    writeFileSync(join(at.dir, "cairn.config.ts"), 'export const config = { agents: ["./clerk.ts"], store: "c" };');
    const inEnv = { ...at, env: { ...at.env, CAIRN_STORE: "b" } };
    const words = ["start", "clerk", "--input", stepsInput("note")];
    await runCairn(inEnv, [...words, "--store", "a"], { bare: true });
    await runCairn(inEnv, words, { bare: true });
    await runCairn(at, words, { bare: true });
    expect(["a", "b", "c", ".cairn"].map((name) => existsSync(join(at.dir, name, "cairn.sqlite")))).toEqual([
      ...[true, true, true],
      false,
    ]);
    expect((await runCairn(at, ["list", "--store", "a"], { bare: true })).out).toContain("clerk");
  });

  it("waits for the end, reports progress, and starts nothing twice", async () => {
    const at = createCliFolder(LONG_TIMEOUTS);
    const words = ["start", "clerk", "--key", "k", "--input", stepsInput("note", "note"), "--wait"];
    const first = await runCairn(at, words);
    expect(first.exit).toBe(0);
    expect(first.out).toMatch(/beat 1 \$0\.01, \$0\.01 in all, asks for note \(c1\) \{"step":1\}\n/);
    expect(first.out).toContain("■ completed done: succeeded, succeeded");
    const shown = JSON.parse((await runCairn(at, [...words, "--json"])).out) as unknown;
    const spent = { usd: 0.03, tokensIn: 30_000, tokensOut: 0 };
    expect(shown).toMatchObject({ status: "completed", beats: 3, result: "done: succeeded, succeeded", spent });
  });

  it("exits with 1 when the run fails", async () => {
    const at = createCliFolder(LONG_TIMEOUTS);
    const words = ["start", "clerk", "--input", stepsInput("despair"), "--wait", "--json"];
    const { exit, out, err } = await runCairn(at, words);
    expect(exit).toBe(1);
    expect(JSON.parse(out)).toMatchObject({ status: "failed", failure: { code: "NotDone" } });
    expect(err).toContain("✖ not done yet, hope: there is no hope");
  });

  it("finds an agent in a file, and then by its name, even if an example of cairn has that name", async () => {
    // Only a checkout has examples.
    const at = { ...createCliFolder(LONG_TIMEOUTS), main: SOURCE_MAIN };
    rmSync(join(at.dir, "cairn.config.ts"));
    const mine = readFileSync(join(at.dir, "clerk.ts"), "utf8").replace('name: "clerk"', 'name: "travel"');
    writeFileSync(join(at.dir, "mine.ts"), mine);
    expect((await runCairn(at, ["start", "./mine.ts", "--key", "a", "--input", stepsInput("note")])).exit).toBe(0);
    const again = await runCairn(at, ["start", "travel", "--key", "b", "--input", stepsInput("note"), "--wait"]);
    expect({ exit: again.exit, out: again.out }).toEqual({ exit: 0, out: expect.stringContaining("done: succeeded") });
    const other = await runCairn({ ...at, store: join(at.dir, "other") }, ["start", "travel"]);
    expect({ exit: other.exit, err: other.err }).toEqual({
      exit: 2,
      err: expect.stringContaining("the input does not match the task schema of travel"),
    });
  });
});

describe("read commands", () => {
  it("show a run in every form, by any unique prefix of its ID", async () => {
    const at = createCliFolder(LONG_TIMEOUTS);
    const words = ["start", "clerk", "--input", stepsInput("note"), "--wait", "--json"];
    const { run } = JSON.parse((await runCairn(at, words)).out) as { run: string };
    const [list, show, timeline, ledger, lines, calls] = await Promise.all([
      askCairn(at, ["list"]),
      askCairn(at, ["show", run.slice(0, 12)]),
      askCairn(at, ["timeline", run.slice(6, 12)]),
      askCairn(at, ["ledger", run]),
      askCairn(at, ["timeline", run, "--json"]),
      askCairn(at, ["ledger", run, "--json"]),
    ]);
    expect(list.out).toMatch(
      new RegExp(`RUN +AGENT +STATUS.*\n${run.slice(0, 14)} +clerk +completed +${AGE} +2 +0 +\\$0\\.02`),
    );
    expect(show.out).toMatch(new RegExp(`^${run}  clerk\nstatus +completed\n`));
    expect(timeline.out).toMatch(/✔ note \(c1\) succeeded in [\d.]+m?s noted step 1/);
    expect(ledger.out).toMatch(/c1 +note +none +succeeded +1 /);
    const events = parseJsonLines(lines.out);
    expect(events[0]).toMatchObject({ version: 1, epoch: 1, kind: "RunStarted" });
    expect(events.at(-1)).toMatchObject({ kind: "RunEnded", status: "completed" });
    const call = { call: "c1", tool: "note", effect: "none", status: "succeeded", attempts: 1, externalId: null };
    expect(parseJsonLines(calls.out)).toMatchObject([{ ...call, key: expect.stringMatching(/^note-c1-/) }]);
  });

  it("list the requested runs, the latest change of status first", async () => {
    const at = createCliFolder(LONG_TIMEOUTS);
    const done = await runCairn(at, ["start", "clerk", "--input", stepsInput("note"), "--wait", "--json"]);
    const { run } = JSON.parse(done.out) as { run: string };
    const waiting = await startQueuedRun(at, "mail");
    const runsIn = async (...words: string[]): Promise<unknown> =>
      parseJsonLines((await askCairn(at, ["list", "--json", ...words])).out).map((each) => each["run"]);
    expect(await runsIn()).toEqual([waiting, run]);
    expect(await runsIn("--status", "completed", "--agent", "clerk")).toEqual([run]);
    expect(await runsIn("--limit", "1")).toEqual([waiting]);
    expect((await askCairn(at, ["list", "--agent", "nobody"])).out).toContain("no run matches");
  });

  it("end quietly when their reader closes the pipe", async () => {
    const at = createCliFolder();
    await startQueuedRun(at, "note");
    const reading = spawnCairn(at, ["list"]);
    reading.child.stdout?.destroy();
    expect(await reading.ended).toEqual({ exit: 0, out: "", err: "" });
  });
});

describe("work", () => {
  it("drives queued runs, alone and while others wait, and drains on request", async () => {
    const at = createCliFolder(LONG_TIMEOUTS);
    const run = await startQueuedRun(at, "gate");
    const working = spawnCairn(at, ["work", "--json"]);
    await waitForOutput(working, '"supervising"');
    const watching = spawnCairn(at, ["watch", run]);
    await waitForOutput(watching, "asks for gate");
    const second = await runCairn(at, ["work"]);
    expect({ exit: second.exit, err: second.err }).toEqual({
      exit: 4,
      err: expect.stringContaining("error StoreSupervised:"),
    });
    expect(second.err).toContain(`next: kill ${working.child.pid}`);
    openGate(at);
    const watched = await watching.ended;
    expect({ exit: watched.exit, out: watched.out }).toEqual({
      exit: 0,
      out: expect.stringContaining("■ completed done: succeeded"),
    });
    working.child.kill("SIGTERM");
    const { exit, out } = await working.ended;
    expect(exit).toBe(0);
    expect(fitPrinted(["work"], out)).toBe("work");
    const kinds = parseJsonLines(out).map(({ kind }) => kind);
    expect(kinds[0]).toBe("supervising");
    expect(kinds.at(-1)).toBe("drained");
    expect(kinds).toEqual(expect.arrayContaining(["workerSpawned", "attemptStarted", "attemptAnswered", "moved"]));
    expect(parseJsonLines(out).every(({ at: time }) => typeof time === "number")).toBe(true);
  });

  it("shows its child processes, their tasks, and how they die", async () => {
    const at = createCliFolder(LONG_TIMEOUTS);
    await startQueuedRun(at, "gate");
    const working = spawnCairn(at, ["work", "--workers", "1"]);
    await waitForOutput(working, /Beat → worker pid (\d+)/);
    const pid = Number(/→ worker pid (\d+)/.exec(working.out())?.[1]);
    // A process that is not ready has no task yet, and its end is no attempt.
    await waitForOutput(working, "clerk is imported");
    process.kill(pid, "SIGKILL");
    await waitForOutput(working, `✖ worker pid ${pid}: SIGKILL`);
    await waitForOutput(working, "Beat (retry 1) → worker pid");
    openGate(at);
    await waitForOutput(working, "route done");
    working.child.kill("SIGINT");
    const { exit, out } = await working.ended;
    expect({ exit, out }).toEqual({
      exit: 0,
      out: expect.stringMatching(/^pid \d+ supervises [^]*the workers finished in /),
    });
  });
});

describe("start --wait beside other supervisors", () => {
  it("takes over when the other one dies", async () => {
    const at = createCliFolder(LONG_TIMEOUTS);
    const words = ["start", "clerk", "--key", keyOfSteps("gate"), "--input", stepsInput("gate")];
    await startQueuedRun(at, "gate");
    const working = spawnCairn(at, ["work"]);
    await waitForOutput(working, "Beat → worker pid");
    const waiting = spawnCairn(at, [...words, "--wait"]);
    await waitForOutput(waiting, `process ${working.child.pid} supervises this store`);
    await waitForOutput(waiting, "asks for gate");
    working.child.kill("SIGKILL");
    await waitForOutput(waiting, `process ${working.child.pid} has ended; this process takes over`);
    openGate(at);
    const { exit, out } = await waiting.ended;
    expect({ exit, out }).toEqual({ exit: 0, out: expect.stringMatching(/⚡ epoch \d+ took over[^]*done: succeeded/) });
  });

  it("ends cleanly when it is interrupted, and the run continues later", async () => {
    const at = createCliFolder(LONG_TIMEOUTS);
    const words = ["start", "clerk", "--key", "gate", "--input", stepsInput("gate"), "--wait"];
    const waiting = spawnCairn(at, words);
    await waitForOutput(waiting, "asks for gate");
    waiting.child.kill("SIGINT");
    // The run ends without an interruption where the gate opens first.
    await waitForOutput(waiting, "waiting for the workers to finish");
    openGate(at);
    const { exit, err } = await waiting.ended;
    expect({ exit, err }).toEqual({
      exit: 130,
      err: expect.stringContaining("to continue the run, type `npx cairn work"),
    });
    expect((await runCairn(at, words)).exit).toBe(0);
  });
});
