/** The command line as people and programs use it: real processes, their output and their exit codes. */
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  PATIENT,
  cairn,
  cairnRunning,
  desk,
  documentOf,
  input,
  keyOf,
  linesOf,
  openGate,
  queued,
  untilSaid,
} from "../support/cli.ts";

const RUN = /local-[a-z2-7]{26}/;
describe("start", () => {
  it("queues a run and says what to type next", async () => {
    const at = desk();
    const { exit, out, err } = await cairn(at, ["start", "clerk", "--input", input("note")]);
    expect(exit).toBe(0);
    expect(out).toMatch(new RegExp(`^started ${RUN.source}  clerk\nqueued; run \`npx cairn work --store .*\`\n$`));
    expect(err).toBe("clerk is imported\n");
  });

  it("takes its input from stdin and from a file", async () => {
    const at = desk();
    writeFileSync(join(at.dir, "task.json"), input("note"));
    const ends = await Promise.all([
      cairn(at, ["start", "clerk", "--json", "--key", "a", "--input", "-"], { stdin: input("note") }),
      cairn(at, ["start", "clerk", "--json", "--key", "b", "--input", "@task.json"]),
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
    const at = desk();
    const words = ["start", "clerk", "--key", "k", "--input"];
    const run = await documentOf(at, [...words, input("note")]);
    expect(await documentOf(at, [...words, input("note")])).toEqual({ ...run, started: false });
    const other = await cairn(at, [...words, input("mail")]);
    expect([other.exit, other.err]).toEqual([4, expect.stringContaining("error KeyConflict:")]);
    expect(other.err).toContain(`next: npx cairn show ${String(run["run"])} --store ${at.store}`);
    const elsewhere = await documentOf(at, [...words, input("mail"), "--tenant", "other"]);
    expect(elsewhere["run"]).toMatch(/^other-/);
  });

  it("keeps its store where the flag, the environment or the config says", async () => {
    const at = desk();
    writeFileSync(join(at.dir, "cairn.config.ts"), 'export const config = { agents: ["./clerk.ts"], store: "c" };');
    const inEnv = { ...at, env: { ...at.env, CAIRN_STORE: "b" } };
    const words = ["start", "clerk", "--input", input("note")];
    await cairn(inEnv, [...words, "--store", "a"], { bare: true });
    await cairn(inEnv, words, { bare: true });
    await cairn(at, words, { bare: true });
    expect(["a", "b", "c", ".cairn"].map((name) => existsSync(join(at.dir, name, "cairn.sqlite")))).toEqual([
      ...[true, true, true],
      false,
    ]);
    expect((await cairn(at, ["list", "--store", "a"], { bare: true })).out).toContain("clerk");
  });

  it("waits for the end, tells it as it happens, and starts nothing twice", async () => {
    const at = desk(PATIENT);
    const words = ["start", "clerk", "--key", "k", "--input", input("note", "note"), "--wait"];
    const first = await cairn(at, words);
    expect(first.exit).toBe(0);
    expect(first.out).toMatch(/beat 1 \$0\.01, \$0\.01 in all, asks for note \(c1\) \{"step":1\}\n/);
    expect(first.out).toContain("■ completed done: succeeded, succeeded");
    const shown = JSON.parse((await cairn(at, [...words, "--json"])).out) as unknown;
    const spent = { usd: 0.03, tokensIn: 30_000, tokensOut: 0 };
    expect(shown).toMatchObject({ status: "completed", beats: 3, result: "done: succeeded, succeeded", spent });
  });

  it("ends with 1 where the run fails", async () => {
    const at = desk(PATIENT);
    const words = ["start", "clerk", "--input", input("despair"), "--wait", "--json"];
    const { exit, out, err } = await cairn(at, words);
    expect(exit).toBe(1);
    expect(JSON.parse(out)).toMatchObject({ status: "failed", failure: { code: "NotDone" } });
    expect(err).toContain("✖ not done yet, hope: there is no hope");
  });

  it("finds an agent in a file, and again by its name, also where an example of cairn has that name", async () => {
    const at = desk(PATIENT);
    rmSync(join(at.dir, "cairn.config.ts"));
    const mine = readFileSync(join(at.dir, "clerk.ts"), "utf8").replace('name: "clerk"', 'name: "travel"');
    writeFileSync(join(at.dir, "mine.ts"), mine);
    expect((await cairn(at, ["start", "./mine.ts", "--key", "a", "--input", input("note")])).exit).toBe(0);
    const again = await cairn(at, ["start", "travel", "--key", "b", "--input", input("note"), "--wait"]);
    expect([again.exit, again.out]).toEqual([0, expect.stringContaining("done: succeeded")]);
    const other = await cairn({ ...at, store: join(at.dir, "other") }, ["start", "travel"]);
    expect([other.exit, other.err]).toEqual([
      2,
      expect.stringContaining("the input does not match the task schema of travel"),
    ]);
  });
});

describe("looking", () => {
  it("shows a run in every way, by any beginning of its name", async () => {
    const at = desk(PATIENT);
    const words = ["start", "clerk", "--input", input("note"), "--wait", "--json"];
    const { run } = JSON.parse((await cairn(at, words)).out) as { run: string };
    const [list, show, timeline, ledger, lines, calls] = await Promise.all([
      cairn(at, ["list"]),
      cairn(at, ["show", run.slice(0, 12)]),
      cairn(at, ["timeline", run.slice(6, 12)]),
      cairn(at, ["ledger", run]),
      cairn(at, ["timeline", run, "--json"]),
      cairn(at, ["ledger", run, "--json"]),
    ]);
    expect(list.out).toMatch(
      new RegExp(`RUN +AGENT +STATUS.*\n${run.slice(0, 14)} +clerk +completed +2 +0 +\\$0\\.02`),
    );
    expect(show.out).toMatch(new RegExp(`^${run}  clerk\nstatus +completed\n`));
    expect(timeline.out).toMatch(/✔ note \(c1\) succeeded in \d+ms noted step 1/);
    expect(ledger.out).toMatch(/c1 +note +none +succeeded +1 /);
    const events = linesOf(lines.out);
    expect(events[0]).toMatchObject({ version: 1, epoch: 1, kind: "RunStarted" });
    expect(events.at(-1)).toMatchObject({ kind: "RunEnded", status: "completed" });
    const call = { call: "c1", tool: "note", effect: "none", status: "succeeded", attempts: 1, externalId: null };
    expect(linesOf(calls.out)).toMatchObject([{ ...call, key: expect.stringMatching(/^note-c1-/) }]);
  });

  it("lists what is asked for, newest first", async () => {
    const at = desk(PATIENT);
    const done = await cairn(at, ["start", "clerk", "--input", input("note"), "--wait", "--json"]);
    const { run } = JSON.parse(done.out) as { run: string };
    const waiting = await queued(at, "mail");
    const runsIn = async (...words: string[]): Promise<unknown> =>
      linesOf((await cairn(at, ["list", "--json", ...words])).out).map((each) => each["run"]);
    expect(await runsIn()).toEqual([waiting, run]);
    expect(await runsIn("--status", "completed", "--agent", "clerk")).toEqual([run]);
    expect(await runsIn("--limit", "1")).toEqual([waiting]);
    expect((await cairn(at, ["list", "--agent", "nobody"])).out).toContain("no run matches");
  });

  it("ends quietly when its reader goes away", async () => {
    const at = desk();
    await queued(at, "note");
    const reading = cairnRunning(at, ["list"]);
    reading.child.stdout?.destroy();
    expect(await reading.ended).toEqual({ exit: 0, out: "", err: "" });
  });
});

describe("work", () => {
  it("works on what is queued while others watch, alone, and drains when told", async () => {
    const at = desk(PATIENT);
    const run = await queued(at, "gate");
    const working = cairnRunning(at, ["work", "--json"]);
    await untilSaid(working, '"supervising"');
    const watching = cairnRunning(at, ["watch", run]);
    await untilSaid(watching, "asks for gate");
    const second = await cairn(at, ["work"]);
    expect([second.exit, second.err]).toEqual([4, expect.stringContaining("error StoreSupervised:")]);
    expect(second.err).toContain(`next: kill ${working.child.pid}`);
    openGate(at);
    const watched = await watching.ended;
    expect([watched.exit, watched.out]).toEqual([0, expect.stringContaining("■ completed done: succeeded")]);
    working.child.kill("SIGTERM");
    const { exit, out } = await working.ended;
    expect(exit).toBe(0);
    const kinds = linesOf(out).map(({ kind }) => kind);
    expect(kinds[0]).toBe("supervising");
    expect(kinds.at(-1)).toBe("drained");
    expect(kinds).toEqual(expect.arrayContaining(["workerSpawned", "attemptStarted", "attemptAnswered", "moved"]));
    expect(linesOf(out).every(({ at: time }) => typeof time === "number")).toBe(true);
  });

  it("tells people which children it has, what they do, and how they die", async () => {
    const at = desk(PATIENT);
    await queued(at, "gate");
    const working = cairnRunning(at, ["work", "--workers", "1"]);
    await untilSaid(working, /Beat → worker pid (\d+)/);
    const pid = Number(/→ worker pid (\d+)/.exec(working.out())?.[1]);
    process.kill(pid, "SIGKILL");
    await untilSaid(working, `✖ worker pid ${pid}: SIGKILL`);
    await untilSaid(working, "Beat (retry 1) → worker pid");
    openGate(at);
    await untilSaid(working, "route done");
    working.child.kill("SIGINT");
    const { exit, out } = await working.ended;
    expect([exit, out]).toEqual([0, expect.stringMatching(/^pid \d+ supervises [^]*the workers finished in /)]);
  });
});

describe("start --wait beside other supervisors", () => {
  it("takes over when the other one dies", async () => {
    const at = desk(PATIENT);
    const words = ["start", "clerk", "--key", keyOf("gate"), "--input", input("gate")];
    await queued(at, "gate");
    const working = cairnRunning(at, ["work"]);
    await untilSaid(working, "Beat → worker pid");
    const waiting = cairnRunning(at, [...words, "--wait"]);
    await untilSaid(waiting, `process ${working.child.pid} supervises this store`);
    await untilSaid(waiting, "asks for gate");
    working.child.kill("SIGKILL");
    await untilSaid(waiting, `process ${working.child.pid} has ended; this process takes over`);
    openGate(at);
    const { exit, out } = await waiting.ended;
    expect([exit, out]).toEqual([0, expect.stringMatching(/⚡ epoch \d+ took over[^]*done: succeeded/)]);
  });

  it("comes to a good end when it is interrupted, and so does the run later on", async () => {
    const at = desk(PATIENT);
    const words = ["start", "clerk", "--key", "gate", "--input", input("gate"), "--wait"];
    const waiting = cairnRunning(at, words);
    await untilSaid(waiting, "asks for gate");
    waiting.child.kill("SIGINT");
    openGate(at);
    const { exit, err } = await waiting.ended;
    expect([exit, err]).toEqual([130, expect.stringContaining("to continue the run, type `npx cairn work")]);
    expect((await cairn(at, words)).exit).toBe(0);
  });
});
