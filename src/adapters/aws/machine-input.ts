/**
 * What an execution of the state machine carries from state to state, and how a beat says which state comes next.
 *
 * A beat that leads to the next beat returns the input of that beat, so that one beat is one state transition. Every other
 * route is an error: the machine catches it by its name, and reads the input of the next state from its message. An error
 * costs no choice state, which is what the price of a beat is made of.
 */
import { AFTER_BEAT, type ChainState, type Payload, type Reply } from "../../protocol/chain.ts";

export interface MachineInput extends Payload {
  /** Of this entry of Beat: `RETRY_GROUP` for each failure that the machine caught. */
  readonly tries: number;
  /** The last group of tries in which a process is known to have died, or null. */
  readonly died: number | null;
  /** Seconds: the shortest pause after the next failure. */
  readonly backoff: number;
  /**
   * The published version of the beat function that this execution calls. Its first beat calls the alias; that beat learns
   * which version it is, and those that follow call the same one, whatever is deployed meanwhile. A run that was parked may
   * have waited for other code, or for a month: it calls the alias again. So does one that needs a newer version.
   */
  readonly code: string;
}

/** The alias of the version to which executions that begin now belong. */
export const LIVE = "live";

/** The input of an entry of Beat that no attempt was made of. The definition reads every field of it. */
export const firstInput = ({ run, born, chain, epoch, agent }: Payload, code = LIVE): MachineInput => ({
  ...{ run, born, chain, epoch, agent },
  ...{ tries: 0, died: null, backoff: 1, code },
});

/** What the name of every route's error begins with, and of no other error. */
export const ROUTE_ERROR = "Cairn";

/** The error by which a beat leads to that state. */
export const routeErrorName = (state: ChainState): string => `${ROUTE_ERROR}${state}`;

/** Stands on both sides of the input in the message. Not a character of base64, and not escaped in JSON. */
export const INPUT_MARK = "~";

/** A route, thrown. It is no failure, although Lambda counts it as one. */
export class RouteError extends Error {
  override readonly name: string;

  constructor(reply: Reply, code: string) {
    const { route, seconds, behind = false } = reply;
    const next = behind || AFTER_BEAT[route] === "Park" ? LIVE : code;
    const input = Buffer.from(JSON.stringify({ ...firstInput(reply, next), seconds })).toString("base64");
    const isEnd = AFTER_BEAT[route] === "End";
    super(`no failure, but the route ${route}${isEnd ? "" : ` ${INPUT_MARK}${input}${INPUT_MARK}`}`);
    this.name = routeErrorName(AFTER_BEAT[route]);
    // Where it was thrown says nothing, and would be in every log and history.
    this.stack = this.name;
  }
}

/** The input of the next beat, which the same version does. Throws any other route. */
export function nextInput(reply: Reply, code: string): MachineInput {
  if (AFTER_BEAT[reply.route] !== "Beat") throw new RouteError(reply, code);
  return firstInput(reply, code);
}
