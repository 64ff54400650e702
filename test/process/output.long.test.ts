/** Real commands whose output cannot be written: a full disk, and readers that have gone. */
import { spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { describe, expect, onTestFinished, test } from "vitest";
import { LIMITS } from "../support/gate/limits.ts";
import { waitUntil } from "../support/gate/safety.ts";
import {
  askCairnJson,
  type CliFolder,
  createCliFolder,
  freePort,
  runCairnJson,
  startQueuedRun,
} from "../support/processes/cli-process.ts";
import { MAIN } from "../support/processes/program.ts";

/** Runs a command with its stdout on a full disk; `both`: stderr as well. */
function onFullDisk(at: CliFolder, words: readonly string[], both = false) {
  const full = openSync("/dev/full", "w");
  const child = spawn(process.execPath, [MAIN, ...words, "--store", at.store], {
    ...{ cwd: at.dir, env: at.env },
    stdio: ["ignore", full, both ? full : "pipe"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  closeSync(full);
  let err = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => (err += text));
  const ended = new Promise<{ readonly exit: number | null; readonly err: string }>((resolve) =>
    child.once("close", (exit) => resolve({ exit, err })),
  );
  return { child, ended };
}

/** Runs a command in a shell, behind which `reader` reads its output. */
const piped = (at: CliFolder, words: readonly string[], reader: string) =>
  inShell(at, words, `{ "$@"; echo "exit $?" >&2; } | ${reader}`);

/** Runs a command as the words of a script. All of it ends with the test. */
function inShell(at: CliFolder, words: readonly string[], script: string) {
  const child = spawn("/bin/sh", ["-c", script, "sh", process.execPath, MAIN, ...words, "--store", at.store], {
    ...{ cwd: at.dir, env: at.env, detached: true },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const said = { out: "", err: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => (said.out += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (said.err += text));
  const kill = (signal: NodeJS.Signals): void => {
    try {
      process.kill(-(child.pid ?? 0), signal);
    } catch {
      // It has ended.
    }
  };
  onTestFinished(() => kill("SIGKILL"));
  return { said, kill };
}

const statusOf = async (at: CliFolder, run: string): Promise<unknown> =>
  (await askCairnJson(at, ["show", run]))["status"];

const untilCompleted = (at: CliFolder, run: string): Promise<void> =>
  waitUntil(async () => expect(await statusOf(at, run)).toBe("completed"), LIMITS.eventMs);

const checkOfOutput = async (at: CliFolder): Promise<unknown> => {
  const { checks } = (await runCairnJson(at, ["doctor"])) as { readonly checks: readonly { readonly id: string }[] };
  return checks.find(({ id }) => id === "output");
};

describe("an answer that a full disk does not take", () => {
  const READING: readonly (readonly string[])[] = [
    ...[["list"], ["list", "--json"], ["agents"], ["approvals"], ["schedules"], ["--help"], ["--version"]],
    ...[
      ["show", "RUN"],
      ["timeline", "RUN"],
      ["ledger", "RUN"],
      ["cost", "RUN"],
      ["export", "RUN", "--out", "-"],
    ],
  ];

  test("ends every reading command with 5 and a sentence", async () => {
    const at = createCliFolder();
    const run = await startQueuedRun(at, "note");
    for (const words of READING) {
      const { exit, err } = await onFullDisk(
        at,
        words.map((word) => (word === "RUN" ? run : word)),
      ).ended;
      expect({ words, exit, err }).toEqual({
        words,
        exit: 5,
        err: expect.stringMatching(/^(?:clerk is imported\n)?error OutputLost: .*ENOSPC.*\nwhy: .*\nnext: df -h\n$/),
      });
    }
    expect((await onFullDisk(at, ["list"], true).ended).exit).toBe(5);
  });

  test("leaves an acting command done, which ends with 5; one that was refused keeps its own code", async () => {
    const at = createCliFolder();
    const run = await startQueuedRun(at, "note");
    const { exit, err } = await onFullDisk(at, ["cancel", run]).ended;
    expect({ exit, err }).toEqual({ exit: 5, err: expect.stringContaining("what the command did is done") });
    expect(await runCairnJson(at, ["show", run])).toMatchObject({ messages: 1 });
    expect((await onFullDisk(at, ["show", "local-aaaaaa", "--json"]).ended).exit).toBe(3);
  });
});

describe("a reader that has gone", () => {
  test("is no error of a reading command", async () => {
    const at = createCliFolder();
    await startQueuedRun(at, "note");
    const { said } = piped(at, ["list"], "head -1");
    await expect.poll(() => said.err).toBe("exit 0\n");
    expect(said.out).toMatch(/^RUN .*\n$/);
  });

  test.each(["work", "serve"])("ends no %s, which goes on with its runs", async (command) => {
    const at = createCliFolder();
    const run = await startQueuedRun(at, "note");
    const port = command === "serve" ? ["--port", String(await freePort())] : [];
    const { said, kill } = piped(at, [command, ...port], "head -2");
    await expect.poll(() => said.out.split("\n").length).toBe(3);
    await untilCompleted(at, run);
    const later = await startQueuedRun(at, "note", "note");
    await untilCompleted(at, later);
    expect(said.err).not.toContain("exit");
    kill("SIGTERM");
  });
});

test.each(["work", "serve"])("a full disk under its log ends no %s, and is seen from outside", async (command) => {
  const at = createCliFolder();
  const port = String(await freePort());
  const { child, ended } = onFullDisk(at, [command, ...(command === "serve" ? ["--port", port] : [])], true);
  const run = await startQueuedRun(at, "note", "mail");
  await untilCompleted(at, run);
  const lost = /^process \d+ could not write \d+ lines since its start: the disk is full \(ENOSPC\)/;
  const warns = { status: "warn", why: expect.stringMatching(lost) };
  await waitUntil(async () => expect(await checkOfOutput(at)).toMatchObject(warns), LIMITS.eventMs);
  if (command === "serve") {
    const health: unknown = await (await fetch(`http://127.0.0.1:${port}/healthz`)).json();
    const lines: unknown = expect.any(Number);
    expect(health).toEqual({ status: "ok", outputLost: { lines, why: "the disk is full (ENOSPC)" } });
  }
  expect(child.exitCode).toBeNull();
  child.kill("SIGTERM");
  expect((await ended).exit).toBe(0);
});

/** As much as a pipe of Linux holds. */
const PIPE_BYTES = 65_536;

test("a reader that reads nothing stops neither the runs nor the end of the supervisor", async () => {
  const at = createCliFolder();
  const run = await startQueuedRun(at, "note");
  const script = `{ head -c ${PIPE_BYTES} /dev/zero; "$@" & echo "pid $!" >&2; wait $!; echo "exit $?" >&2; } | sleep 100000`;
  const { said } = inShell(at, ["work"], script);
  await untilCompleted(at, run);
  process.kill(Number(/pid (\d+)/.exec(said.err)?.[1]), "SIGTERM");
  await expect.poll(() => said.err).toContain("exit 0");
});
