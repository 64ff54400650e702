/**
 * What one invocation notices about its run while it works. None of it is stored, and the next invocation starts with
 * an empty one. This class owns the fields; the steps of the loop report to it through its methods.
 */

/** The counters and flags of one invocation. */
export class Noticed {
  #isHeldOn = false;
  #outlived: "no" | "code" | "tool" = "no";
  #hasResumed = false;
  #reportsWhileWaiting = 0;
  #hasModelShare = false;
  readonly #unanswered = new Set<string>();
  readonly #repeated = new Set<string>();
  readonly #begun = new Set<string>();
  readonly #postponed = new Set<string>();
  #underWay = 0;

  /** Whether code or a tool outlived its timeout. Then this process has to end before it does anything else. */
  get outlived(): "no" | "code" | "tool" {
    return this.#outlived;
  }

  noteOutlived(what: "code" | "tool"): void {
    this.#outlived = what;
  }

  /** This invocation took over from one that died. */
  noteTakeover(): void {
    this.#hasResumed = true;
  }

  /** Whether this invocation took over, and the topology does not know it yet. The caller tells it. */
  takeResumed(): boolean {
    const has = this.#hasResumed;
    this.#hasResumed = false;
    return has;
  }

  /** Whether this invocation has a share of its model's rate limit that no call has used. */
  get hasModelShare(): boolean {
    return this.#hasModelShare;
  }

  noteModelShare(): void {
    this.#hasModelShare = true;
  }

  noteModelCallLeaves(): void {
    this.#hasModelShare = false;
  }

  /**
   * An attempt of this call, here or in an earlier invocation, may have left and gave no answer. The call may have
   * taken effect.
   */
  noteUnanswered(call: string): void {
    this.#unanswered.add(call);
  }

  isUnanswered(call: string): boolean {
    return this.#unanswered.has(call);
  }

  /** This invocation released the call again, which another invocation may have begun. */
  noteRepeated(call: string): void {
    this.#repeated.add(call);
  }

  isRepeated(call: string): boolean {
    return this.#repeated.has(call);
  }

  /** This invocation began the call. */
  noteBegun(call: string): void {
    this.#begun.add(call);
  }

  /** This invocation leaves the call to another one. */
  notePostponed(call: string): void {
    this.#postponed.add(call);
  }

  hasPostponed(call: string): boolean {
    return this.#postponed.has(call);
  }

  /** A report of a child that came after the run had begun to wait for its children. */
  noteReportWhileWaiting(): void {
    this.#reportsWhileWaiting += 1;
  }

  /** How many of these the run has not judged yet. It judges them all next. */
  takeReportsWhileWaiting(): number {
    const count = this.#reportsWhileWaiting;
    this.#reportsWhileWaiting = 0;
    return count;
  }

  /** The attempt has ended, and this invocation released another one. */
  noteReleasedAgain(call: string): void {
    this.#begun.delete(call);
  }

  /** A call of a batch began (1) or ended (-1). */
  noteUnderWay(by: 1 | -1): void {
    this.#underWay += by;
  }

  /** Something that this invocation began may still act. */
  get mayAct(): boolean {
    return this.#underWay > 0 || this.#outlived !== "no";
  }

  /** The deadline of this invocation was moved for its commit, so it begins nothing more. */
  noteHeldOn(): void {
    this.#isHeldOn = true;
  }

  get isHeldOn(): boolean {
    return this.#isHeldOn;
  }

  hasBegun(call: string): boolean {
    return this.#begun.has(call);
  }
}
