/**
 * The schedules that the supervisor of `cairn work` fires. They are declared in the code of agents, which a separate
 * process (`cairn schedules`) imports.
 *
 * An agent's module may have side effects, or throw later. In a separate process this cannot end the process that
 * drives all runs.
 */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { ScheduledAgent } from "../ports/supervision.ts";
import { firingTimes } from "../sdk/schedule/firing-times.ts";
import { sentenceOf } from "../codec/value.ts";
import { DEFAULT_TENANT } from "../core/ids.ts";
import type { Scheduled } from "../operations/schedules.ts";
import type { Unscheduled } from "../render/schedules.ts";
import type { Settings } from "./settings.ts";
import type { Surroundings } from "./surroundings.ts";

interface Read {
  readonly scheduled: readonly Scheduled[];
  /** Agent files that could not be read. Their schedules do not fire. */
  readonly broken: readonly Unscheduled[];
}

const READ_MS = 60_000;

/** Reads the schedules. Never rejects: the supervisor continues without them. */
export async function readSchedules(
  shell: Surroundings,
  of: { readonly settings: Settings; readonly stop: AbortSignal },
): Promise<Read> {
  const { settings, stop } = of;
  if (settings.agentFiles.length === 0) return { scheduled: [], broken: [] };
  const main = fileURLToPath(import.meta.resolve("#cli/main"));
  const words = [main, "schedules", "--json", ...settings.world.words];
  const options = { cwd: shell.cwd, env: shell.env, signal: stop, timeout: READ_MS, killSignal: "SIGKILL" } as const;
  try {
    const { stdout } = await promisify(execFile)(process.execPath, words, options);
    const lines = stdout.split("\n").filter((line) => line !== "");
    const all = lines.map((line) => JSON.parse(line) as Scheduled | Unscheduled);
    return { scheduled: all.filter((each) => "agent" in each), broken: all.filter((each) => "file" in each) };
  } catch (error) {
    return { scheduled: [], broken: stop.aborted ? [] : [{ file: "cairn.config.ts", why: sentenceOf(error) }] };
  }
}

/** Converts a schedule to the form that the supervisor takes. */
export const toFire = ({ agent, every, timezone }: Scheduled): ScheduledAgent => ({
  ...{ agent, tenant: DEFAULT_TENANT },
  ...firingTimes({ every, timezone }),
});
