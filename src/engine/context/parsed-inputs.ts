/**
 * The results of parses that this process holds, by call. A result that is not JSON cannot be recorded, so only the
 * invocation that made it can use it.
 */
interface Held {
  /** Of the arguments that were parsed. */
  readonly argsDigest: string;
  readonly value: unknown;
  /** Of the projection of the value when it was made. A function of the tool may have changed the value since. */
  readonly projection: string;
}

export class ParsedInputs {
  readonly #held = new Map<string, Held>();

  hold(call: string, held: Held): void {
    this.#held.set(call, held);
  }

  /** What was made of these arguments; null if this process did not parse them. */
  find(call: string, argsDigest: string): Held | null {
    const held = this.#held.get(call);
    return held?.argsDigest === argsDigest ? held : null;
  }
}
