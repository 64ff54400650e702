/**
 * Steps that nothing waits for give way to those that end last. Linux shares the processor between sessions first, and
 * each step leads one of its own, so there the session is what gives way (`sched(7)`, "The autogroup feature"); elsewhere,
 * and where that is switched off, the process and all that it will start.
 */
import { writeFileSync } from "node:fs";
import { setPriority } from "node:os";

/** A third of the weight of the others, so none of its tests starves. */
const NICE = 5;

/** Lets a process that has just begun, the leader of a session, give way. Where the system refuses, it does not. */
export function giveWay(pid: number): void {
  const ways = [() => setPriority(pid, NICE), () => writeFileSync(`/proc/${pid}/autogroup`, String(NICE))];
  for (const way of ways) {
    try {
      way();
    } catch {
      // It has ended, or the system has no such thing.
    }
  }
}
