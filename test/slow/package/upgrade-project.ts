/**
 * A user's project whose cairn can be exchanged, as `npm install` does it: versions that are built and packed from their
 * own sources. The older sources come from the history of the repository, which a shallow clone lacks.
 */
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync } from "node:fs";
import { renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { vi } from "vitest";
import { builtPackages } from "../../../scripts/built.ts";
import { LIMITS } from "../../support/gate/limits.ts";
import { waitForCount } from "../../support/gate/safety.ts";

const ROOT = join(import.meta.dirname, "..", "..", "..");

/** The last commit that reads and writes the formats from before the first release. */
const OLD_COMMIT = "778400921337048347077ff8317f6d8ec190c1a0";

/**
 * Where its package is kept for the next test run and the next checkout, outside of them: its sources never change, and
 * what builds it is in the lock file.
 */
const KEPT = join(
  process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache"),
  ...[
    "cairn",
    `cairn-run-${OLD_COMMIT.slice(0, 10)}-${digestOf(readFileSync(join(ROOT, "package-lock.json"))).slice(0, 16)}`,
  ],
);

/** Whole or not at all: another process may look for it meanwhile. A cache that cannot be written is no failure. */
function keep(folder: string): void {
  try {
    mkdirSync(dirname(KEPT), { recursive: true });
    const part = mkdtempSync(`${KEPT}-`);
    cpSync(folder, part, { recursive: true });
    renameSync(part, KEPT);
  } catch (error) {
    console.log(`the old package is not kept: ${(error as Error).message}`);
  }
}

/** `next`: the package of `new` under the next version number. */
export type Version = "old" | "new" | "next";

/** Each letter is one line with its key, by which the service that gets the letters deduplicates. It may be slow. */
const AGENTS = `
import { appendFileSync, existsSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import { check, childTool, defineAgent, scriptedModel, tool } from "cairn-run";
import { z } from "zod";

const letter = { description: "Sends a letter.", input: z.object({ number: z.int() }), effect: "keyed" };
const send = tool({
  ...letter,
  run: async ({ input, key }) => {
    appendFileSync("letters", input.number + " " + key + "\\n");
    while (existsSync("slow")) await wait(20);
    return { sent: input.number };
  },
});
const sends = (count) => ({ calls }) =>
  calls.length < count ? { calls: [{ tool: "send", args: { number: calls.length + 1 } }] } : { text: "All are sent." };
const model = (reply) => scriptedModel({ name: "letters", reply });
const called = (count) => [check("called", ({ calls }) => calls.length === count)];
const task = z.object({ to: z.string() });
const common = {
  version: "1", instructions: "Send letters.", task, price: { inUsd: 1, outUsd: 5 }, budget: { usd: 1, beats: 20 },
};

export const clerk = defineAgent({ ...common, name: "clerk", model: model(sends(3)), tools: { send }, done: called(3) });

export const payer = defineAgent({
  ...common, name: "payer", model: model(sends(1)), done: called(1),
  tools: { send: tool({ ...letter, run: send.run, approval: () => "a letter costs money" }) },
});

const delegate = childTool({
  agent: "clerk", description: "Lets a clerk send letters.", input: task, budget: { usd: 0.5, beats: 10 },
});
export const boss = defineAgent({
  ...common, name: "boss", tools: { delegate }, done: called(1),
  model: model(({ calls }) => (calls.length === 0 ? { calls: [{ tool: "delegate", args: { to: "Ann" } }] } : { text: "Done." })),
});
`;

function digestOf(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("hex");
}

interface Printed {
  readonly exit: number | null;
  readonly out: string;
  readonly err: string;
}

interface Supervising {
  readonly end: (signal: "SIGKILL" | "SIGTERM") => Promise<void>;
}

export class UpgradeProject {
  readonly #dir = mkdtempSync(join(tmpdir(), "cairn-upgrade-"));
  readonly #installed = join(this.#dir, "node_modules", "cairn-run");
  readonly #processes = new Set<ChildProcess>();
  #version: Version | null = null;

  constructor() {
    const modules = join(this.#dir, "node_modules");
    mkdirSync(modules);
    for (const each of ["zod", "@ai-sdk", "@aws-sdk"])
      symlinkSync(join(ROOT, "node_modules", each), join(modules, each));
    writeFileSync(join(this.#dir, "package.json"), JSON.stringify({ private: true, type: "module" }));
    writeFileSync(join(this.#dir, "cairn.config.ts"), 'export const config = { agents: ["./agents.ts"] };\n');
    writeFileSync(join(this.#dir, "agents.ts"), AGENTS);
    if (existsSync(KEPT)) cpSync(KEPT, this.#unpacked("old"), { recursive: true });
    else this.#buildOld();
    this.#pack("new", builtPackages());
    this.#renumber("next");
  }

  #buildOld(): void {
    const [sources, archive] = [join(this.#dir, "sources"), join(this.#dir, "sources.tar")];
    mkdirSync(sources);
    execFileSync("git", ["archive", "--output", archive, OLD_COMMIT], { cwd: ROOT });
    execFileSync("tar", ["-xf", archive, "-C", sources]);
    symlinkSync(join(ROOT, "node_modules"), join(sources, "node_modules"));
    execFileSync(process.execPath, ["scripts/package.ts", join(sources, "build")], { cwd: sources });
    this.#pack("old", join(sources, "build"));
    keep(this.#unpacked("old"));
  }

  /** Copies the package of `new`, with the next version number. */
  #renumber(version: Version): void {
    const [from, to] = [this.#unpacked("new"), this.#unpacked(version)];
    cpSync(from, to, { recursive: true });
    const manifest = JSON.parse(readFileSync(join(from, "package.json"), "utf8")) as { readonly version: string };
    const [major, minor, patch] = manifest.version.split(".");
    const next = { ...manifest, version: `${major}.${minor}.${Number(patch) + 1}` };
    writeFileSync(join(to, "package.json"), JSON.stringify(next));
  }

  versionOf(version: Version): string {
    const folder = this.#version === version ? this.#installed : this.#unpacked(version);
    return (JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as { readonly version: string }).version;
  }

  #pack(version: Version, build: string): void {
    const words = ["pack", join(build, "cairn-run"), "--silent"];
    const tarball = execFileSync("npm", words, { cwd: this.#dir, encoding: "utf8" }).trim();
    mkdirSync(this.#unpacked(version));
    execFileSync("tar", ["-xzf", tarball, "-C", this.#unpacked(version), "--strip-components=1"], { cwd: this.#dir });
    rmSync(join(this.#dir, tarball));
  }

  #unpacked(version: Version): string {
    return join(this.#dir, `cairn-run-${version}`);
  }

  /** Installs that version. */
  install(version: Version): void {
    if (this.#version === version) return;
    if (this.#version !== null) renameSync(this.#installed, this.#unpacked(this.#version));
    renameSync(this.#unpacked(version), this.#installed);
    this.#version = version;
  }

  /** Begins without a store and letters. */
  clear(): void {
    for (const left of [".cairn", "restored", "backup", "another", "letters", "slow"])
      rmSync(join(this.#dir, left), { recursive: true, force: true });
  }

  /** Whether the service answers only when it is no longer slow. */
  slow(isSlow: boolean): void {
    if (isSlow) writeFileSync(join(this.#dir, "slow"), "");
    else rmSync(join(this.#dir, "slow"), { force: true });
  }

  #spawned(): { readonly main: string; readonly cwd: string; readonly env: NodeJS.ProcessEnv } {
    const main = join(this.#installed, "dist", "cli", "main.js");
    return { main, cwd: this.#dir, env: { ...process.env, CAIRN_BEAT_SECONDS: String(LIMITS.shortBeatMs / 1_000) } };
  }

  /** Types a command of the installed version. */
  cairn(...words: readonly string[]): Printed {
    const { main, ...options } = this.#spawned();
    const typed = spawnSync(process.execPath, [main, ...words], { ...options, encoding: "utf8" });
    return { exit: typed.status, out: typed.stdout, err: typed.stderr };
  }

  start(agent: string): string {
    const { out, err } = this.cairn("start", agent, "--input", '{"to":"Ann"}', "--json");
    if (out === "") throw new Error(err);
    return (JSON.parse(out) as { readonly run: string }).run;
  }

  /** Starts the supervisor. A kill takes its workers along. */
  work(...words: readonly string[]): Supervising {
    const { main, ...options } = this.#spawned();
    const child = spawn(process.execPath, [main, "work", ...words], { ...options, detached: true, stdio: "ignore" });
    this.#processes.add(child);
    const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
    const end = async (signal: "SIGKILL" | "SIGTERM"): Promise<void> => {
      const { pid = 0 } = child;
      this.#processes.delete(child);
      process.kill(signal === "SIGKILL" ? -pid : pid, signal);
      await ended;
    };
    return { end };
  }

  async reaches(run: string, status: string, ...words: readonly string[]): Promise<void> {
    const shown = (): unknown =>
      (JSON.parse(this.cairn("show", run, "--json", ...words).out) as { readonly status: unknown }).status;
    await vi.waitUntil(() => shown() === status, { timeout: LIMITS.runMs, interval: 250 });
  }

  async sent(letters: number): Promise<void> {
    await waitForCount("a letter", letters, () => this.letters(), LIMITS.runMs);
  }

  /** The letters with different keys: the service takes a repeated call for the first one. */
  letters(): number {
    const file = join(this.#dir, "letters");
    return existsSync(file) ? new Set(readFileSync(file, "utf8").trim().split("\n")).size : 0;
  }

  /** The digest of each file of the store. SQLite keeps an index and an empty log beside a store that it only reads. */
  storeBytes(): Readonly<Record<string, string>> {
    const folder = join(this.#dir, ".cairn");
    const read = readdirSync(folder).map((name) => [name, readFileSync(join(folder, name))] as const);
    const stored = read.filter(
      ([name, bytes]) => !name.endsWith("-shm") && !(name.endsWith("-wal") && bytes.length === 0),
    );
    return Object.fromEntries(stored.map(([name, bytes]) => [name, digestOf(bytes)] as const));
  }

  close(): void {
    for (const { pid = 0, exitCode } of this.#processes) if (exitCode === null) process.kill(-pid, "SIGKILL");
    rmSync(this.#dir, { recursive: true, force: true, maxRetries: 5 });
  }
}
