/**
 * What an execution of the state machine carries from state to state, and how a beat says which state comes next.
 *
 * A beat that leads to the next beat returns the input of that beat, so one beat is one state transition. Every other
 * route is an error: the machine catches it by its name and reads the input of the next state from its message. An
 * error needs no choice state, and choice states would add to the price of every beat.
 */
import { type ChangedIntrinsic, INTRINSIC_CHANGED } from "../../../core/changed-intrinsic.ts";
import type { IntrinsicChanged } from "../../../ports/intrinsics.ts";
import { AFTER_BEAT, type ChainState, type Payload, type Reply } from "../../../protocol/chain.ts";

export interface MachineInput extends Payload {
  /** The tries of this entry of Beat: `RETRY_GROUP` for each failure that the machine caught. */
  readonly tries: number;
  /** The last group of tries in which a process is known to have died, or null. */
  readonly died: number | null;
  /** What code of the run changed in the process of a try of this entry; null if nothing. */
  readonly changed: ChangedIntrinsic | null;
  /** The shortest pause after the next failure, in seconds. */
  readonly backoff: number;
  /**
   * The published version of the beat function that this execution calls. Its first beat calls the alias and learns the
   * version; the beats after it call that version, whatever is deployed meanwhile. A parked run calls the alias again,
   * since it may have waited for other code, or for a month. So does a run that needs a newer version.
   */
  readonly code: string;
}

/** The alias of the version that new executions call. */
export const LIVE = "live";

/** The input of an entry of Beat that no attempt was made of. The definition reads every field of it. */
export const firstInput = ({ run, born, chain, epoch, agent }: Payload, code = LIVE): MachineInput => ({
  run,
  born,
  chain,
  epoch,
  agent,
  tries: 0,
  died: null,
  changed: null,
  backoff: 1,
  code,
});

/** The prefix of every route's error name. No other error has it. */
export const ROUTE_ERROR = "Cairn";

/** The name of the error that leads to that state. */
export const routeErrorName = (state: ChainState): string => `${ROUTE_ERROR}${state}`;

/** Encloses the input in the message. It is no character of base64, and JSON does not escape it. */
export const INPUT_MARK = "~";

/** A route as an error. It is no failure, although Lambda counts it as one. */
export class RouteError extends Error {
  override readonly name: string;

  constructor(reply: Reply, code: string) {
    const { route, seconds, behind = false } = reply;
    const next = behind || AFTER_BEAT[route] === "Park" ? LIVE : code;
    const input = Buffer.from(JSON.stringify({ ...firstInput(reply, next), seconds })).toString("base64");
    const isEnd = AFTER_BEAT[route] === "End";
    super(`no failure, but the route ${route}${isEnd ? "" : ` ${INPUT_MARK}${input}${INPUT_MARK}`}`);
    this.name = routeErrorName(AFTER_BEAT[route]);
    // Its stack says nothing useful, and would be in every log and history.
    this.stack = this.name;
  }
}

/**
 * Code of the run changed a function of the language. It is a failure, and no death; what it changed is in the message.
 * The message holds no secret: it has names only.
 */
export class ChangedError extends Error {
  override readonly name = INTRINSIC_CHANGED;

  constructor({ message, culprit }: IntrinsicChanged) {
    const changed = culprit && { intrinsic: culprit.intrinsic, tool: culprit.tool, epoch: culprit.epoch };
    const mark = Buffer.from(JSON.stringify(changed)).toString("base64");
    super(`${message} ${INPUT_MARK}${mark}${INPUT_MARK}`);
    this.stack = this.name;
  }
}

/** The input of the next beat, for the same version. Throws `RouteError` for every other route. */
export function nextInput(reply: Reply, code: string): MachineInput {
  if (AFTER_BEAT[reply.route] !== "Beat") throw new RouteError(reply, code);
  return firstInput(reply, code);
}
