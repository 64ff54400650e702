/**
 * Looks whether this machine reaps orphans. A process whose parent is gone belongs to PID 1 of its process namespace, which
 * has to wait for it. A program that is PID 1 of a container without an init process does not: Node cannot wait for
 * processes that it did not start, and neither do npm and most others. What tools leave behind then stays as zombies, until
 * no process ID is left and no worker can be started.
 *
 * Unless PID 1 is such a program by its name, one orphan is made and observed. Where there is no `/proc`, nothing is said.
 */
import { spawn } from "node:child_process";
import { setTimeout as elapse } from "node:timers/promises";
import type { SupervisorEvent } from "../ports/supervisor-events.ts";
import { type SeenProcess, seenProcess, seenProcesses, textOfFile } from "./proc.ts";

/** The process that gets the orphans and does not reap them. */
export interface NoReaper {
  readonly pid: number;
  readonly name: string;
  readonly isSelf: boolean;
  /** The dead processes below it. */
  readonly zombies: number;
}

/** How one looks; tests look at other machines. */
export interface Looking {
  readonly self: number;
  readonly process: (pid: number) => SeenProcess | null;
  /** Null: this system does not say. */
  readonly processes: () => readonly SeenProcess[] | null;
  /** Makes an orphan that ends at once; null if that cannot be done. */
  readonly makeOrphan: () => Promise<number | null>;
  readonly pause: (ms: number) => Promise<unknown>;
  /** The program of a process, such as `npm`; null: unknown. */
  readonly programOf: (pid: number) => string | null;
}

const LOOKING: Looking = {
  self: process.pid,
  process: seenProcess,
  processes: seenProcesses,
  makeOrphan,
  pause: (ms) => elapse(ms),
  programOf,
};

/** How long an init process may take to reap: some look for the dead every few seconds. */
const PAUSES_MS = [5, 20, 75, 200, 500, 1_000, 2_500] as const;

/** Programs of Node, which wait only for what they started. Of others, an orphan tells. */
const OF_NODE: ReadonlySet<string> = new Set(["node", "npm", "npx", "pnpm", "yarn"]);

/** `unseen`: this system does not say. Null: orphans are reaped. */
export type Reaping = NoReaper | null | "unseen";

/** The process that leaves orphans as zombies, if there is one. */
export async function findNoReaper(looking: Looking = LOOKING): Promise<Reaping> {
  const { self } = looking;
  if (looking.processes() === null) return "unseen";
  if (self === 1 || OF_NODE.has(looking.programOf(1) ?? "")) return noReaper(1, looking);
  // What died before and is still there spares the orphan, which would stay as well.
  const old = (looking.processes() ?? []).find(({ parent, isZombie }) => parent === 1 && isZombie);
  if (old !== undefined && (await staysDead(old.pid, looking))) return noReaper(1, looking);
  const orphan = await looking.makeOrphan();
  if (orphan === null) return "unseen";
  const stays = await staysDead(orphan, looking);
  return stays === null ? null : noReaper(stays.parent, looking);
}

/** The process, if it is a zombie in every look. */
async function staysDead(pid: number, { process, pause }: Looking): Promise<SeenProcess | null> {
  let seen: SeenProcess | null = null;
  for (const ms of PAUSES_MS) {
    await pause(ms);
    seen = process(pid);
    if (seen === null) return null;
  }
  return seen?.isZombie === true ? seen : null;
}

function noReaper(pid: number, { self, process, processes, programOf }: Looking): NoReaper {
  const zombies = (processes() ?? []).filter(({ parent, isZombie }) => parent === pid && isZombie).length;
  return { pid, name: programOf(pid) ?? process(pid)?.name ?? "unknown", isSelf: pid === self, zombies };
}

/** The first word of its command line, without its folder. The words after it may hold secrets. */
function programOf(pid: number): string | null {
  const [word = ""] = (textOfFile(`/proc/${pid}/cmdline`) ?? "").split(/[\0 ]/);
  const name = word.slice(word.lastIndexOf("/") + 1);
  return name === "" ? null : name.slice(0, PROGRAM_CHARACTERS_MAX);
}

const PROGRAM_CHARACTERS_MAX = 40;

/** The shell ends at once, so what it started has no parent. */
async function makeOrphan(): Promise<number | null> {
  const shell = spawn("/bin/sh", ["-c", ": & echo $!"], { stdio: ["ignore", "pipe", "ignore"] });
  let said = "";
  shell.stdout.setEncoding("utf8").on("data", (text: string) => (said += text));
  await new Promise<void>((resolve) => {
    // There is no shell, or no room for it.
    shell.on("error", () => resolve());
    shell.on("close", () => resolve());
  });
  const pid = Number(said.trim());
  return Number.isSafeInteger(pid) && pid > 1 ? pid : null;
}

/** What to write so that a container has an init process. */
export const INIT_PROCESS =
  'use an init process: docker run --init, or init: true in compose.yaml, or ENTRYPOINT ["tini", "--"] in the image';

/** What happened and what follows from it. */
export function describeNoReaper({ pid, name, isSelf, zombies }: NoReaper): {
  readonly what: string;
  readonly why: string;
} {
  const which = pid === 1 ? "PID 1" : `process ${pid}`;
  const who = isSelf ? `${which} is this process (${name})` : `${which} is ${name}`;
  const dead = zombies === 0 ? "" : `, with ${zombies} dead ${zombies === 1 ? "process" : "processes"} below it`;
  const what = `no process of this machine or container reaps orphans: ${who}, which is no init process${dead}`;
  return { what, why: "what tools leave behind uses up the process IDs, and then no worker can be started" };
}

/** Reports it if orphans stay, once. Never rejects. */
export async function reportOrphans(onEvent: (event: SupervisorEvent) => void): Promise<void> {
  // A program that has nothing else to do does not wait for it.
  const looking: Looking = { ...LOOKING, pause: (ms) => elapse(ms, undefined, { ref: false }) };
  const found = await findNoReaper(looking).catch(() => null);
  if (found !== null && found !== "unseen")
    onEvent({ kind: "orphansStay", ...describeNoReaper(found), mend: INIT_PROCESS });
}
