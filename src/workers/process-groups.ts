/**
 * Kills process groups that must not act any more, and waits until they are empty. A signal ends a process only once the
 * kernel gets to it, so what a tool started may act for a moment after its worker is gone. A retry must not run beside it.
 *
 * A zombie acts no more, but keeps its group. So where the system shows the states of processes, they are read.
 */
import type { Clock } from "../ports/world.ts";
import { isAlive, isUnreaped, killGroup, killIfAlive } from "../adapters/local/process-identity.ts";
import type { Children, ProcessIdentity } from "../ports/driven-store.ts";
import type { SupervisorEvent } from "../ports/supervisor-events.ts";
import { seenProcesses } from "./proc.ts";

/** The processes of the group that are not dead yet; empty if there are none. */
export function livingIn(group: number): readonly number[] {
  if (!isThere(group)) return [];
  const all = seenProcesses();
  // Where states are unknown, what can be signalled counts as alive.
  return all === null ? [group] : all.filter((each) => each.group === group && !each.isZombie).map(({ pid }) => pid);
}

function isThere(group: number): boolean {
  try {
    process.kill(-group, 0);
    return true;
  } catch {
    // No such group, or on macOS one of zombies.
    return false;
  }
}

/** How long a process that was sent a SIGKILL may take to end. One that hangs in the kernel takes longer. */
const EMPTY_MS = 5_000;
const LOOK_FIRST_MS = 5;
const LOOK_MAX_MS = 200;

/**
 * Kills the group again and again until it is empty, and calls `onEmpty` with the processes that are still alive after
 * `EMPTY_MS`. A group that is empty already costs one system call, and `onEmpty` is called at once.
 */
export function whenEmpty(
  group: number,
  watch: {
    readonly clock: Clock;
    readonly onEmpty: (left: readonly number[]) => void;
    readonly living?: (group: number) => readonly number[];
    readonly kill?: (group: number) => void;
  },
): void {
  const { clock, onEmpty, living = livingIn, kill = killGroup } = watch;
  const look = (waitedMs: number, pauseMs: number): void => {
    const left = living(group);
    if (left.length === 0 || waitedMs >= EMPTY_MS) return onEmpty(left);
    kill(group);
    clock.after(pauseMs, () => look(waitedMs + pauseMs, Math.min(pauseMs * 2, LOOK_MAX_MS)));
  };
  look(0, LOOK_FIRST_MS);
}

/** The looks at the process group of a killed child before it counts as gone: some 5 s. */
const LOOKS_MAX = 200;

/** The child processes that a dead supervisor left in the store. */
export function leftBehind(
  {
    onEvent,
    living = livingIn,
  }: { readonly onEvent: (event: SupervisorEvent) => void; readonly living?: typeof livingIn },
  children: Children,
) {
  /** The looks since each was killed. */
  const killed = new Map<number, number>();
  /** Whether what a killed child started may still act. What a SIGKILL does not end hangs in the kernel. */
  const hasGroup = ({ pid }: ProcessIdentity): boolean => {
    const looks = killed.get(pid);
    if (looks === undefined || looks >= LOOKS_MAX || living(pid).length === 0) return false;
    killed.set(pid, looks + 1);
    killGroup(pid);
    return true;
  };
  return {
    /** Kills those that are alive, with what they started; true once all are gone. */
    areGone: (): boolean => {
      const left = children.all().filter((child) => {
        if (isAlive(child)) {
          if (!killed.has(child.pid)) onEvent({ kind: "orphanKilled", pid: child.pid });
          killed.set(child.pid, killed.get(child.pid) ?? 0);
          killIfAlive(child);
          return true;
        }
        // A dead one that is not reaped still has its process ID, so the group is its own.
        if (!killed.has(child.pid) && isUnreaped(child)) killed.set(child.pid, 0);
        if (hasGroup(child)) return true;
        children.remove(child);
        return false;
      });
      return left.length === 0;
    },
  };
}
