/**
 * What is found while a step still runs, so that the step cannot return it (`next.ts`): tools and code of the agent run at
 * the same time, and a step that throws returns nothing. None of it is stored, and the next invocation starts with an empty
 * one.
 */

/**
 * What this invocation knows of a call. If a store does not answer, the step throws, and the release has to know it.
 *
 * `unanswered`: an attempt, here or in an earlier invocation, may have left and gave no answer, so the call may have taken
 * effect. `repeated`: this invocation released the call again, which another one may have begun. `begun`: this invocation
 * began it, or sent the job with that key. `postponed`: this invocation leaves it to another one.
 */
export type CallFact = "unanswered" | "repeated" | "begun" | "postponed";

/** What one invocation has noticed in the middle of its steps. */
export class Noticed {
  readonly #calls: { readonly [F in CallFact]: Set<string> } = {
    unanswered: new Set(),
    repeated: new Set(),
    begun: new Set(),
    postponed: new Set(),
  };
  #underWay = 0;
  #outlived: "no" | "code" | "tool" = "no";
  #isHeldOn = false;
  #tookOver = false;
  #reportsWhileWaiting = 0;

  note(fact: CallFact, call: string): void {
    this.#calls[fact].add(call);
  }

  knows(fact: CallFact, call: string): boolean {
    return this.#calls[fact].has(call);
  }

  /** The attempt has ended, and this invocation released another one. */
  noteReleasedAgain(call: string): void {
    this.#calls.begun.delete(call);
  }

  /** A call of a batch began (1) or ended (-1). Calls run at the same time, and a commit between them asks. */
  noteUnderWay(by: 1 | -1): void {
    this.#underWay += by;
  }

  /**
   * Whether code or a tool outlived its timeout. Then this process has to end before it does anything else. A commit that
   * runs beside the other calls of a batch writes it, and it holds after a step that throws.
   */
  get outlived(): "no" | "code" | "tool" {
    return this.#outlived;
  }

  noteOutlived(what: "code" | "tool"): void {
    this.#outlived = what;
  }

  /** Something that this invocation began may still act. */
  get mayAct(): boolean {
    return this.#underWay > 0 || this.#outlived !== "no";
  }

  /** The deadline of this invocation was moved for its commit, so it begins nothing more. The store's client says so. */
  noteHeldOn(): void {
    this.#isHeldOn = true;
  }

  get isHeldOn(): boolean {
    return this.#isHeldOn;
  }

  /** This invocation took over from one that died. */
  noteTakeover(): void {
    this.#tookOver = true;
  }

  /** Whether it did, for the first look of the topology: many steps may let it look, and only one of them says it. */
  takeTakeover(): boolean {
    const tookOver = this.#tookOver;
    this.#tookOver = false;
    return tookOver;
  }

  /** A report of a child that came after the run had begun to wait for its children. Any reading of the inbox may find it. */
  noteReportWhileWaiting(): void {
    this.#reportsWhileWaiting += 1;
  }

  /** The number of these that the run has not judged yet. It judges them all next. */
  takeReportsWhileWaiting(): number {
    const count = this.#reportsWhileWaiting;
    this.#reportsWhileWaiting = 0;
    return count;
  }
}
