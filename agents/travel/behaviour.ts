/** Lets demos and tests make a service misbehave, to show what service failures do to a run. */
import { setTimeout as wait } from "node:timers/promises";
import { Rejected } from "cairn-run";
import { type Service, openFile } from "./service-file.ts";

/** What goes wrong with the next `times` requests. */
export interface Behaviour {
  /** `hold` waits until the behaviour is replaced; `hang` never responds; `die` kills the agent's own process. */
  readonly kind: "slow" | "hold" | "hang" | "fail" | "decline" | "die";
  /** Before the effect (default), after it, or after its cancellation. */
  readonly moment?: Moment;
  /** For how many requests; default 1. */
  readonly times?: number;
  /** The delay of `slow`, in milliseconds. */
  readonly delayMs?: number;
}

type Moment = "before" | "after" | "cancelled";

const HELD_LOOK_MS = 20;
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Replaces the behaviour of a service; null restores normal behaviour. */
export function setBehaviour(dir: string, service: Service, behaviour: Behaviour | null): void {
  using file = openFile(service, dir);
  file.exec("DELETE FROM behaviour");
  if (behaviour === null) return;
  const { kind, moment = "before", times = 1, delayMs = 0 } = behaviour;
  file.prepare("INSERT INTO behaviour VALUES (?, ?, ?, ?)").run(kind, moment, times, delayMs);
}

/** Applies the configured behaviour for this moment, if there is any. */
export async function misbehave(service: Service, at: { moment: Moment; signal: AbortSignal }): Promise<void> {
  const told = takeBehaviour(service, at.moment);
  switch (told?.kind) {
    case "slow":
      return wait(Number(told.delayMs), undefined, at);
    case "hold":
      while (isHeld(service)) await wait(HELD_LOOK_MS, undefined, at);
      return;
    case "hang":
      return wait(LONGEST_TIMER_MS, undefined, at);
    case "fail":
      throw new Error(`the ${service} service is out of order`);
    case "decline":
      throw new Rejected(`the ${service} is declined`);
    case "die":
      process.kill(process.pid, "SIGKILL");
      return;
    default:
  }
}

function isHeld(service: Service): boolean {
  using file = openFile(service);
  return file.prepare("SELECT kind FROM behaviour WHERE kind = 'hold'").get() !== undefined;
}

/** Counts the behaviour down before it is applied, so that a process that it kills does not meet it again. */
function takeBehaviour(service: Service, moment: Moment) {
  using file = openFile(service);
  return file
    .prepare("UPDATE behaviour SET times = times - 1 WHERE moment = ? AND times > 0 RETURNING kind, delayMs")
    .get(moment);
}
