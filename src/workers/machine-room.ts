/**
 * Tells whether this machine has room for another process: process IDs of its namespace, of its control group, and of its
 * user. A zombie takes up an ID as well.
 *
 * It is asked only after a process could not be started, or ended for no reason of its own. A worker needs some ten
 * threads, and Node ends a process that cannot have them. Such an end says nothing about a run.
 */
import { statSync } from "node:fs";
import { type SeenProcess, seenProcesses, textOfFile } from "./proc.ts";

/** A bound of the system, and how much of it is used. */
interface Bound {
  readonly name: string;
  readonly used: number;
  readonly most: number;
}

/** Twice the threads of a worker: those of the process that just ended are free again. */
const ROOM_OF_A_WORKER = 32;

/** The bound that leaves no room for a worker, as words such as `400 of 400 process IDs are in use`; null if none does. */
export function lackOfRoom(read: MachineReaders = READING): string | null {
  const all = read.processes();
  if (all === null) return null;
  const tight = boundsOf(all, read).find(({ used, most }) => most - used < ROOM_OF_A_WORKER);
  if (tight === undefined) return null;
  const zombies = all.filter(({ isZombie }) => isZombie).length;
  const dead = zombies === 0 ? "" : `, ${zombies} of them by dead processes that are not reaped`;
  return `${tight.used} of ${tight.most} ${tight.name} are in use${dead}`;
}

/** What is read of the system; tests give other values. */
export interface MachineReaders {
  readonly processes: () => readonly SeenProcess[] | null;
  readonly text: (file: string) => string | null;
  /** The user of this process; null where there are no users. */
  readonly user: () => number | null;
  readonly userOf: (pid: number) => number | null;
}

const READING: MachineReaders = {
  processes: seenProcesses,
  text: textOfFile,
  user: () => process.getuid?.() ?? null,
  userOf: (pid) => {
    try {
      return statSync(`/proc/${pid}`).uid;
    } catch {
      return null;
    }
  },
};

function boundsOf(all: readonly SeenProcess[], read: MachineReaders): readonly Bound[] {
  const threads = (some: readonly SeenProcess[]): number =>
    some.reduce((sum, each) => sum + Math.max(1, each.threads), 0);
  const bounds: Bound[] = [];
  const add = (name: string, used: number, most: number | null): void => {
    if (most !== null) bounds.push({ name, used, most });
  };
  add("process IDs", threads(all), numberIn(read.text("/proc/sys/kernel/pid_max")));
  const groups = read.text("/proc/self/cgroup") ?? "";
  for (const folder of [...groupFolders(groups, ""), ...groupFolders(groups, "pids")]) {
    const used = numberIn(read.text(`${folder}/pids.current`));
    if (used !== null) add("processes of this container", used, numberIn(read.text(`${folder}/pids.max`)));
  }
  const user = read.user();
  // The superuser may have any number of processes.
  if (user !== null && user !== 0) {
    const own = all.filter(({ pid }) => read.userOf(pid) === user);
    const limit = /^Max processes\s+(\d+)/m.exec(read.text("/proc/self/limits") ?? "")?.[1];
    add("processes of this user (`ulimit -u`)", threads(own), numberIn(limit ?? null));
  }
  return bounds;
}

/** `max` and anything else that is no number is no bound. */
const numberIn = (text: string | null): number | null => {
  const number = text === null || text.trim() === "" ? NaN : Number(text);
  return Number.isFinite(number) ? number : null;
};

/**
 * The folders of the control groups of this process, with those above them. Version 1 has a folder for each controller,
 * version 2 one for all, with the controller `""`.
 */
export function groupFolders(cgroups: string, controller: string): readonly string[] {
  const folders = cgroups.split("\n").flatMap((line) => {
    const [, controllers = "", path = ""] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    if (path === "" || !controllers.split(",").includes(controller)) return [];
    return above(controller === "" ? "/sys/fs/cgroup" : `/sys/fs/cgroup/${controller}`, path);
  });
  return [...new Set(folders)].slice(0, FOLDERS_MAX);
}

const FOLDERS_MAX = 32;

function above(root: string, path: string): readonly string[] {
  const names = path.split("/").filter((name) => name !== "" && name !== "..");
  const folders = Array.from({ length: names.length + 1 }, (_, count) => [root, ...names.slice(0, count)].join("/"));
  return folders.toReversed();
}
