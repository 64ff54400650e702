/** `cairn work`: runs the supervisor of a store until a signal stops it. */
import { once } from "node:events";
import type { ScheduledAgent, Supervision } from "../../ports/supervision.ts";
import type { SupervisorEvent } from "../../ports/supervisor-events.ts";
import { checkCapsApart } from "../../compose/check-caps.ts";
import { UserError, EXIT } from "../../compose/user-error.ts";
import { followSchedules, toFire } from "../../compose/schedules.ts";
import { type Opened, openSettled } from "../../compose/open.ts";
import { firingsInWords } from "../../render/schedules.ts";
import { surpriseIn } from "../../features/schedules/cron.ts";
import { renderSupervision } from "../../render/supervision.ts";
import { type Settings, settingsOf } from "../../compose/settings.ts";
import type { BeatFlags } from "../../compose/surroundings.ts";
import { type Shell, printLines } from "../shell.ts";
import { supervise } from "../../compose/supervise.ts";
import { duration } from "../../render/words.ts";

/** The signal with which `cairn dev` stops a server to start it with new code. */
export const RELOAD = "SIGHUP";

/** Set by `cairn dev` for its server, so that the server names the command that the user typed. */
export const STARTED_BY_DEV = "CAIRN_STARTED_BY_DEV";

function drivenElsewhere({ provider, command }: Settings): UserError {
  const what = `there is nothing to supervise in the world ${provider.name}`;
  const why = `${provider.driver ?? "a service"} drives every run there, and a scheduled sweeper recovers abandoned runs`;
  return new UserError({ code: "Usage", exit: EXIT.usage, what, why, next: command("list") });
}

export async function work(shell: Shell, flags: BeatFlags): Promise<number> {
  shell.outliveOutput();
  const stop = shell.stopSignal();
  const opened = await openToSupervise(shell, flags);
  await supervised(shell, opened, { stop, command: "work" }).end();
  return EXIT.done;
}

/** A world whose runs a process of the user drives. */
export type ToSupervise = Opened & { readonly supervision: Supervision };

/** Opens the store for the process that drives its runs; creates it if there is none. */
export async function openToSupervise(shell: Shell, flags: BeatFlags): Promise<ToSupervise> {
  const settings = await settingsOf(shell, flags);
  if (settings.provider.driver !== null) throw drivenElsewhere(settings);
  await checkCapsApart(shell, settings);
  const opened = await openSettled(shell, settings, { create: true, check: "supervisor" });
  const { supervision } = opened;
  if (supervision === null) throw drivenElsewhere(settings);
  return { ...opened, supervision };
}

interface Supervised {
  /** Waits for the signal to stop, then lets the workers finish. Rejects if a bug stopped the supervisor. */
  readonly end: () => Promise<void>;
}

/** Starts the supervisor and reports each event on one line. */
export function supervised(
  shell: Shell,
  { world, settings, supervision }: ToSupervise,
  { stop, command }: { readonly stop: AbortSignal; readonly command: "work" | "serve" | "dev" },
): Supervised {
  const { terminal, json } = shell;
  const { clock } = world;
  const onEvent = (event: SupervisorEvent): void => {
    const now = clock.now();
    if (json) return printLines(shell, [{ at: now, ...event }]);
    const line = renderSupervision(event, { now, paint: terminal.paintOut });
    if (line !== null) terminal.out(line);
  };
  let schedules: readonly ScheduledAgent[] = [];
  const supervisor = supervise({
    shell,
    settings,
    supervision,
    onEvent,
    schedules: () => schedules,
    lostOutput: () => shell.lostOutput(),
  });
  const { pid } = process;
  const { limits } = settings;
  const { place: dir } = settings.world;
  // `cairn dev` starts this process again when it is killed.
  const watcher = command === "dev" ? process.ppid : null;
  if (json) {
    const pids = { pid, ...(watcher !== null && { watcher }) };
    printLines(shell, [{ at: clock.now(), kind: "supervising", ...pids, store: dir, beatMs: limits.beatMs }]);
  } else {
    const ends = watcher === null ? "stop it with ctrl-c" : `stop it with ctrl-c or \`kill ${watcher}\`, its watcher`;
    terminal.out(`pid ${pid} supervises ${dir}; a beat takes ${duration(limits.beatMs)} at most; ${ends}`);
  }
  const onRead: Parameters<typeof followSchedules>[1]["onRead"] = ({ scheduled, broken }) => {
    schedules = scheduled?.map(toFire) ?? schedules;
    const now = clock.now();
    if (json) {
      for (const each of [...(scheduled ?? []), ...broken]) printLines(shell, [{ at: now, kind: "schedule", ...each }]);
      return;
    }
    for (const { agent, every, timezone, next } of scheduled ?? []) {
      terminal.out(`schedule of ${agent}: ${every} ${timezone}, ${firingsInWords({ next, timezone }, now)}`);
      const surprise = surpriseIn({ agent, every });
      if (surprise !== null) terminal.out(terminal.paintOut("yellow", surprise));
    }
    for (const { why } of broken)
      terminal.out(terminal.paintOut("yellow", `the schedules of this agent file do not fire: ${why}; ${AGAIN}`));
  };
  void followSchedules(shell, { settings, stop, onRead });
  const drain = (): Promise<void> => {
    if (stop.reason !== RELOAD) return supervisor.drain();
    // The signal that follows a reload is the first that asks to stop.
    shell.stopSignal().addEventListener("abort", () => void supervisor.drain(), { once: true });
    // A beat under way ends in its own time when only its code is replaced.
    return supervisor.drain(limits.beatMs, "finish");
  };
  const end = async (): Promise<void> => {
    await Promise.race([supervisor.stopped, stop.aborted ? null : once(stop, "abort")]);
    const since = clock.now();
    const drained = drain();
    // Said once the workers are asked: a reader of this line knows that no worker begins another beat.
    terminal.waitFor("waiting for the workers to finish");
    await drained;
    terminal.waitFor(null);
    const tookMs = clock.now() - since;
    if (json) return printLines(shell, [{ at: clock.now(), kind: "drained", tookMs }]);
    const next = stop.reason === RELOAD ? "" : `; to continue the open runs, type \`${settings.command(command)}\``;
    terminal.out(`the workers finished in ${duration(tookMs)}${next}`);
  };
  return { end };
}

const AGAIN = "the supervisor reads it again until it can be read";
