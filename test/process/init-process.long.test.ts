/**
 * Containers without an init process, as process namespaces of this machine: who is told, and that runs outlive a lack of
 * process IDs. Needs the right to make such namespaces; where it is missing, the tests say so.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, expect, onTestFinished, test } from "vitest";
import { LIMITS } from "../support/gate/limits.ts";
import { waitUntil } from "../support/gate/safety.ts";
import {
  askCairnJson,
  type CliFolder,
  createCliFolder,
  freePort,
  parseJsonLines,
  startQueuedRun,
} from "../support/processes/cli-process.ts";
import { MAIN } from "../support/processes/program.ts";

const UNSHARE = ["--pid", "--fork", "--kill-child", "--mount-proc"] as const;

const trial = spawnSync("unshare", [...UNSHARE, "true"], { encoding: "utf8" });
const hasNamespaces = trial.status === 0;
if (!hasNamespaces)
  process.stderr.write(`not tested, no process namespaces here: ${trial.error?.message ?? trial.stderr.trim()}\n`);

/** Runs a command as PID 1 of a namespace of its own; its output ends with its end. */
function contained(
  at: CliFolder,
  words: readonly string[],
): { readonly child: ChildProcess; readonly lines: string[] } {
  const child = spawn("unshare", [...UNSHARE, ...words], {
    cwd: at.dir,
    env: at.env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const lines: string[] = [];
  createInterface({ input: child.stdout }).on("line", (line) => lines.push(line));
  return { child, lines };
}

const cairn = (at: CliFolder, ...words: readonly string[]): readonly string[] => [
  process.execPath,
  MAIN,
  ...words,
  "--store",
  at.store,
  "--json",
];

const warnings = (lines: readonly string[]) =>
  lines.filter((line) => line.includes("orphansStay")).flatMap((line) => parseJsonLines(line));

/** A program that is PID 1 and starts the command, as `npm start` does. It waits for no orphan. */
const LIKE_NPM = `
  const { spawn } = require("node:child_process");
  process.title = "npm start";
  const [command, ...words] = process.argv.slice(1);
  spawn(command, words, { stdio: "inherit" }).on("exit", (code) => process.exit(code ?? 1));
`;

describe("a container without an init process", () => {
  test.each(["work", "serve"])("is told at once what to write, by %s as PID 1", async (command) => {
    if (!hasNamespaces) return;
    const at = createCliFolder();
    const port = command === "serve" ? ["--port", String(await freePort())] : [];
    const { lines } = contained(at, cairn(at, command, ...port));
    await expect.poll(() => warnings(lines).length).toBe(1);
    expect(warnings(lines)[0]).toMatchObject({
      what: expect.stringContaining("PID 1 is this process (node)"),
      mend: expect.stringMatching(/--init.*init: true.*tini/),
    });
  });

  test("is told that npm is PID 1, by work and by doctor", async () => {
    if (!hasNamespaces) return;
    const at = createCliFolder();
    const { lines } = contained(at, [process.execPath, "-e", LIKE_NPM, ...cairn(at, "work")]);
    await expect.poll(() => warnings(lines).length).toBe(1);
    expect(warnings(lines)[0]?.["what"]).toContain("PID 1 is npm");
    const examined = contained(at, [process.execPath, "-e", LIKE_NPM, ...cairn(at, "doctor")]);
    await expect.poll(() => examined.child.exitCode).not.toBeNull();
    const { checks } = JSON.parse(examined.lines.join("\n")) as { checks: readonly { readonly id: string }[] };
    expect(checks.find(({ id }) => id === "orphans")).toMatchObject({
      status: "warn",
      why: expect.stringContaining("npm"),
    });
  });

  test("has nothing to be told if PID 1 reaps, as a shell does that waits", async () => {
    if (!hasNamespaces) return;
    const at = createCliFolder();
    const { child, lines } = contained(at, ["/bin/sh", "-c", '"$@"; exit $?', "sh", ...cairn(at, "doctor")]);
    await expect.poll(() => child.exitCode).not.toBeNull();
    const { checks } = JSON.parse(lines.join("\n")) as { checks: readonly { readonly id: string }[] };
    expect(checks.find(({ id }) => id === "orphans")).toMatchObject({ status: "ok" });
  });
});

/** Takes up process IDs until `go` can be read, and runs the command meanwhile. A pipe blocks those that open it. */
const FULL = `
  echo 330 > /proc/sys/kernel/pid_max || { echo cannot-bound; exit 9; }
  [ "$(cat /proc/sys/kernel/pid_max)" = 330 ] || { echo cannot-bound; exit 9; }
  mkfifo go; count=0
  while [ $count -lt 310 ]; do (exec < go) & count=$((count+1)); done
  "$@"
`;

describe("a container whose process IDs are used up", () => {
  test("makes the supervisor wait and say so; its runs count no death and end once there is room", async () => {
    if (!hasNamespaces) return;
    const at = createCliFolder();
    const runs = [await startQueuedRun(at, "note"), await startQueuedRun(at, "note", "mail")];
    const { child, lines } = contained(at, ["/bin/sh", "-c", FULL, "sh", ...cairn(at, "work", "--workers", "2")]);
    const said = (kind: string): number => lines.filter((line) => line.includes(`"kind":"${kind}"`)).length;
    await expect.poll(() => said("waitingForMachine") >= 2 || lines.includes("cannot-bound")).toBe(true);
    if (lines.includes("cannot-bound"))
      return void process.stderr.write("not tested: this system bounds no process IDs of a namespace\n");
    expect(child.exitCode).toBeNull();
    // Opening it for writing lets every reader go on.
    writeFileSync(join(at.dir, "go"), "");
    for (const run of runs) {
      const ended = async () => expect((await askCairnJson(at, ["show", run]))["status"]).toBe("completed");
      await waitUntil(ended, LIMITS.eventMs);
      expect(await askCairnJson(at, ["show", run])).toMatchObject({ takeovers: 0 });
    }
  });
});
