/**
 * `node scripts/stranger.ts TARBALL [NODE ...] [-- MANAGER ...]`: what a stranger types, from an empty folder to an agent of
 * their own that is killed in the middle of a call and recovers, and how long each step takes. NODE is the folder of a Node
 * (default: the one that runs this), MANAGER is npm, pnpm or yarn (default: npm). It exits with 1 where a step fails, and
 * prints what was typed and what was said.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { setTimeout } from "node:timers/promises";

/** It says that its call began, and ends it once the file `go` is there. Its effect is a line with the key of the call. */
const AGENT = `import { appendFileSync, existsSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import { defineAgent, scriptedModel, tool } from "cairn-run";
import { z } from "zod";

export const clerk = defineAgent({
  name: "clerk",
  version: "1",
  model: scriptedModel({
    name: "clerk-model",
    reply: ({ resultOf }) =>
      resultOf("post") === undefined ? { calls: [{ tool: "post", args: { to: "Ada" } }] } : { text: "Posted." },
  }),
  instructions: "Post the letter.",
  task: z.object({ to: z.string() }),
  tools: {
    post: tool({
      description: "Posts a letter.",
      input: z.object({ to: z.string() }),
      effect: "keyed",
      run: async ({ key }) => {
        appendFileSync("begun", process.pid + " " + key + "\\n");
        while (!existsSync("go")) await setTimeout(50);
        return { posted: key };
      },
    }),
  },
});
`;

interface Place {
  readonly dir: string;
  readonly env: NodeJS.ProcessEnv;
}

class Stopped extends Error {}

/** Types a command and says how long it took. Throws `Stopped` if it fails. */
function typed({ dir, env }: Place, ...words: readonly [string, ...string[]]): string {
  const before = performance.now();
  const { status, stdout, stderr } = spawnSync(words[0], words.slice(1), { cwd: dir, env, encoding: "utf8" });
  console.log(`${((performance.now() - before) / 1_000).toFixed(1).padStart(6)} s  ${words.join(" ")}`);
  if (status === 0) return stdout;
  throw new Stopped(`stopped here, with ${status}:\n${stdout}${stderr}`);
}

/** A run whose process died goes on after its lease, which is a minute. */
const LIMIT_MS = 300_000;

/** Resolves once it holds. Throws `Stopped` if that takes too long. */
async function until(what: string, holds: () => boolean): Promise<void> {
  const end = performance.now() + LIMIT_MS;
  while (!holds()) {
    if (performance.now() > end) throw new Stopped(`stopped here: ${what} did not come in ${LIMIT_MS / 1_000} s`);
    await setTimeout(20);
  }
}

/** A process that drives the runs, as the leader of a group of its own. */
const worked = ({ dir, env }: Place): ChildProcess =>
  spawn("npx", ["cairn", "work", "--workers", "1"], { cwd: dir, env, detached: true, stdio: "ignore" });

async function walk(
  tarball: string,
  { node, installer }: { readonly node: string; readonly installer: string },
): Promise<void> {
  const base = mkdtempSync(join(tmpdir(), "cairn-stranger-"));
  const env = { ...process.env, PATH: `${node}${delimiter}${process.env["PATH"] ?? ""}` };
  const began = performance.now();
  const working: ChildProcess[] = [];
  try {
    typed({ dir: base, env }, "node", "--version");
    typed({ dir: base, env }, "npx", "--yes", "--package", tarball, "cairn-run", "init", "my-agents");
    const at = { dir: join(base, "my-agents"), env };
    typed(at, installer, "install");
    mkdirSync(join(at.dir, "agents", "clerk"));
    writeFileSync(join(at.dir, "agents", "clerk", "agent.ts"), AGENT);
    const config = join(at.dir, "cairn.config.ts");
    const own = 'agents: ["./agents/clerk/agent.ts", ';
    writeFileSync(config, readFileSync(config, "utf8").replace("agents: [", own));
    typed(at, "npx", "cairn", "doctor");
    const run = typed(at, "npx", "cairn", "start", "clerk", "--input", '{"to":"Ada"}', "--json");
    const id = (JSON.parse(run) as { readonly run: string }).run;
    working.push(worked(at));
    await until("the first call", () => begunIn(at.dir).length > 0);
    process.kill(-(working[0]?.pid ?? 0), "SIGKILL");
    // The worker ends by itself once its supervisor is gone. Only then may a call end.
    await until("the end of the worker", () => begunIn(at.dir).every(([pid]) => !isAlive(Number(pid))));
    console.log(`          kill -9, in the middle of the call`);
    writeFileSync(join(at.dir, "go"), "");
    typed(at, "npx", "cairn", "start", "clerk", "--input", '{"to":"Bob"}', "--wait");
    working.push(worked(at));
    await until("the call of the killed run", () => begunIn(at.dir).length > 2);
    typed(at, "npx", "cairn", "watch", id);
    const shown = JSON.parse(typed(at, "npx", "cairn", "show", id, "--json")) as { readonly status: string };
    const keys = begunIn(at.dir).map(([, key = ""]) => key);
    if (shown.status !== "completed") throw new Stopped(`the run is ${shown.status}`);
    if (new Set(keys).size !== 2)
      throw new Stopped(`the killed call had other keys when it ran again: ${keys.join(", ")}`);
    console.log(`${((performance.now() - began) / 1_000).toFixed(1).padStart(6)} s  in all: ${installer}, ${node}\n`);
  } finally {
    for (const { pid = 0 } of working) killed(pid);
    rmSync(base, { recursive: true, force: true });
  }
}

/** The process and the key of each call that began. */
const begunIn = (dir: string): readonly (readonly string[])[] =>
  existsSync(join(dir, "begun"))
    ? readFileSync(join(dir, "begun"), "utf8")
        .trimEnd()
        .split("\n")
        .map((line) => line.split(" "))
    : [];

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

function killed(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It is gone already.
  }
}

const [tarball = "", ...others] = process.argv.slice(2);
const split = others.indexOf("--");
const nodes = (split < 0 ? others : others.slice(0, split)).map((each) => resolve(each));
const installers = split < 0 ? [] : others.slice(split + 1);
for (const node of nodes.length === 0 ? [dirname(process.execPath)] : nodes) {
  for (const installer of installers.length === 0 ? ["npm"] : installers) {
    try {
      await walk(resolve(tarball), { node, installer });
    } catch (error) {
      if (!(error instanceof Stopped)) throw error;
      console.error(error.message);
      process.exitCode = 1;
    }
  }
}
