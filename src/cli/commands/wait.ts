/**
 * Stays with a run until it has ended or needs a human. A supervisor must drive the store meanwhile. If there is none,
 * or it disappears, this process becomes the supervisor.
 */
import { type StartedAhead, StoreSupervised, type Supervision, type Supervisor } from "../../ports/supervision.ts";
import type { SupervisorEvent } from "../../ports/supervisor-events.ts";
import { createBell } from "../terminal/bell.ts";
import { exitOf } from "../terminal/follow.ts";
import { liveView } from "../terminal/live.ts";
import type { Opened } from "../../compose/open.ts";
import { renderSupervision } from "../../render/supervision.ts";
import { type Shell, printDocument } from "../shell.ts";
import { supervise } from "../../compose/supervise.ts";
import type { Transport } from "../transport.ts";

/** Follows the run and prints its timeline. Returns the exit code for how it ended. */
export async function waitForRun(
  shell: Shell,
  waited: {
    readonly transport: Transport;
    readonly run: string;
    /** The first worker, if this process becomes the supervisor. */
    readonly ahead?: StartedAhead;
  },
): Promise<number> {
  const { transport, run, ahead } = waited;
  const { opened } = transport;
  const stop = shell.stopSignal();
  const live = liveView(shell, transport);
  const bell = createBell();
  const supervision =
    opened === null || opened.supervision === null
      ? UNATTENDED
      : foreground(shell, { opened, supervision: opened.supervision, ahead, onStop: bell.ring });
  try {
    const end = await transport.follow({
      run,
      stop,
      bell,
      onEntries: live.onEntries,
      onLost: (why) => live.onLost(run, why),
      onLook: (label) => {
        supervision.attend();
        live.onLook(label, true);
      },
    });
    shell.terminal.waitFor("waiting for the workers to finish");
    await supervision.drain();
    if (end.shown === null && (end.kind !== "stopped" || opened !== null)) throw transport.gone(run);
    if (end.shown !== null) live.end(end.shown);
    if (end.shown !== null && shell.json) printDocument(shell, end.shown);
    if (end.kind === "stopped") shell.terminal.err(`stopped; ${goesOn(transport)}`);
    return exitOf(end, stop);
  } finally {
    shell.terminal.waitFor(null);
    await supervision.drain();
  }
}

function goesOn({ opened, command }: Transport): string {
  if (opened === null) return "the server continues the run";
  const { driver } = opened.settings.provider;
  return driver === null ? `to continue the run, type \`${command("work")}\`` : `${driver} continues the run`;
}

/** For a world whose service drives the runs: this process has nothing to supervise. */
const UNATTENDED: Foreground = { attend: () => {}, drain: async () => {} };

interface Foreground {
  /** Makes sure that a supervisor runs. Throws the error that stopped the supervisor of this process. */
  readonly attend: () => void;
  readonly drain: () => Promise<void>;
}

const ATTEND_EVERY_MS = 500;

function foreground(
  shell: Shell,
  driven: {
    readonly opened: Opened;
    readonly supervision: Supervision;
    readonly ahead: StartedAhead | undefined;
    /** A run ended, or goes on only later. */
    readonly onStop: () => void;
  },
): Foreground {
  const { opened, supervision, ahead, onStop } = driven;
  const { terminal, json } = shell;
  const { settings, world } = opened;
  const print = json ? terminal.err : terminal.out;
  const paint = json ? terminal.paintErr : terminal.paintOut;
  let mine: Supervisor | null = null;
  let failure: { readonly error: unknown } | null = null;
  let other: number | null = null;
  let attendedAt = 0;

  const onEvent = (event: SupervisorEvent): void => {
    if (event.kind === "moved" && event.state !== "Beat") onStop();
    if (!isTrouble(event)) return;
    const line = renderSupervision(event, { now: world.clock.now(), paint });
    if (line !== null) print(line);
  };
  const begin = (): Supervisor | null => {
    try {
      return supervise({ shell, settings, supervision, onEvent, ...(ahead !== undefined && { ahead }) });
    } catch (error) {
      // Another process became the supervisor first.
      if (error instanceof StoreSupervised) return null;
      throw error;
    }
  };
  const attendNow = (): void => {
    const found = supervision.current();
    if (found !== null && found !== other) print(paint("dim", `process ${found} supervises this store`));
    if (found === null && other !== null) print(paint("yellow", `process ${other} has ended; this process takes over`));
    other = found;
    if (found === null) mine = begin();
    mine?.stopped.catch((error: unknown) => {
      failure = { error };
    });
  };
  return {
    attend: () => {
      if (failure !== null) throw failure.error;
      if (mine === null && world.clock.now() - attendedAt >= ATTEND_EVERY_MS) {
        attendedAt = world.clock.now();
        attendNow();
      }
    },
    drain: async () => mine?.drain(),
  };
}

/** Whether to print the event of a supervisor. The timeline shows the others. */
const isTrouble = ({ kind }: SupervisorEvent): boolean =>
  kind !== "workerSpawned" && kind !== "workerGone" && kind !== "attemptStarted" && kind !== "attemptAnswered";
