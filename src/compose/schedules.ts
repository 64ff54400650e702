/**
 * The schedules that the supervisor of `cairn work` fires. They are declared in the code of agents, which a separate
 * process (`cairn schedules`) imports.
 *
 * An agent's module may have side effects, or throw later. In a separate process this cannot end the process that
 * drives all runs.
 */
import { execFile } from "node:child_process";
import { setTimeout as elapse } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { ScheduledAgent } from "../ports/supervision.ts";
import { firingTimes } from "../features/schedules/firing-times.ts";
import { sentenceOf } from "../codec/value.ts";
import { DEFAULT_TENANT } from "../core/ids.ts";
import type { Scheduled } from "../operations/schedules.ts";
import type { Unscheduled } from "../render/schedules.ts";
import type { Settings } from "./settings.ts";
import type { Surroundings } from "./surroundings.ts";

interface ReadSchedules {
  /** Null: nothing was read. */
  readonly scheduled: readonly Scheduled[] | null;
  /** Agent files that could not be read. Their schedules do not fire. */
  readonly broken: readonly Unscheduled[];
}

interface ToRead {
  readonly settings: Settings;
  readonly stop: AbortSignal;
}

/** The first reading may take so long, and each one after a reading that failed twice as long, up to the limit. */
const READ_MS = 60_000;
const READ_MS_MAX = 600_000;
/** The pause before each further reading. */
const PAUSE_MS = 5_000;
const PAUSE_MS_MAX = 300_000;

/**
 * Reads the schedules until each agent file could be read: a slow machine, or a service that a module needs, holds schedules
 * back for a while and not until the supervisor restarts. `onRead` hears each result with other schedules than the one that
 * it heard before, and each in which other files are broken than in all before. Never rejects: the supervisor goes on meanwhile.
 */
export async function followSchedules(
  shell: Surroundings,
  { onRead, ...reading }: ToRead & { readonly onRead: (read: ReadSchedules) => void },
  { read = readSchedules, pause = elapse }: { read?: typeof readSchedules; pause?: typeof elapse } = {},
): Promise<void> {
  const { stop } = reading;
  const said = new Set<string>();
  let fired = "";
  for (let times = 0; !stop.aborted; times += 1) {
    const found = await read(shell, reading, Math.min(READ_MS * 2 ** times, READ_MS_MAX));
    if (stop.aborted) return;
    const files = found.broken.map(({ file }) => file).join();
    const firing = found.scheduled === null ? fired : JSON.stringify(found.scheduled.map(toFired));
    if (!said.has(files) || firing !== fired) onRead(found);
    said.add(files);
    fired = firing;
    if (files === "") return;
    const pauseMs = Math.min(PAUSE_MS * 2 ** times, PAUSE_MS_MAX);
    await pause(pauseMs, undefined, { signal: stop, ref: false }).catch(() => undefined);
  }
}

const toFired = ({ agent, every, timezone }: Scheduled) => [agent, every, timezone];

/** Reads the schedules once, in at most so many milliseconds. Never rejects. */
export async function readSchedules(
  shell: Surroundings,
  { settings, stop }: ToRead,
  timeout = READ_MS,
): Promise<ReadSchedules> {
  if (settings.agentFiles.length === 0) return { scheduled: [], broken: [] };
  const main = fileURLToPath(import.meta.resolve("#cli/main"));
  const words = [main, "schedules", "--json", ...settings.world.words];
  const options = { cwd: shell.cwd, env: shell.env, signal: stop, timeout, killSignal: "SIGKILL" } as const;
  try {
    const { stdout } = await promisify(execFile)(process.execPath, words, options);
    const lines = stdout.split("\n").filter((line) => line !== "");
    const all = lines.map((line) => JSON.parse(line) as Scheduled | Unscheduled);
    return { scheduled: all.filter((each) => "agent" in each), broken: all.filter((each) => "file" in each) };
  } catch (error) {
    const isLate = error instanceof Error && "killed" in error && error.killed === true;
    const why = isLate ? `its agents could not be read in ${timeout / 1_000} s` : sentenceOf(error);
    return { scheduled: null, broken: stop.aborted ? [] : [{ file: "cairn.config.ts", why }] };
  }
}

/** Converts a schedule to the form that the supervisor takes. */
export const toFire = ({ agent, every, timezone }: Scheduled): ScheduledAgent => ({
  agent,
  tenant: DEFAULT_TENANT,
  ...firingTimes({ every, timezone }),
});
