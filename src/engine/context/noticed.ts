/**
 * What one invocation notices about its run while it works: nothing of it is stored, and the next invocation begins with
 * nothing noticed. The fields have one owner, this class; the steps of the loop tell it what happened through its methods.
 */
import type { Agent } from "../../ports/agent.ts";
import type { Price } from "../../core/policy/price.ts";
import type { Row } from "../../protocol/row.ts";

export class Noticed {
  /** The deadline of the wait as the claim found it: this invocation's own commits move it on. */
  readonly waitsUntil: number;
  #replies = 0;
  #ranToolsFirst = false;
  #mustCommitFirst = false;
  #outlived: "no" | "code" | "tool" = "no";
  #hasCheckedDeployment = false;
  #countsTime = false;
  #price: Price | null = null;
  #wakeCountRead: number;
  readonly #unanswered = new Set<string>();
  readonly #begun = new Set<string>();
  readonly #removed = new Set<string>();
  readonly #sent = new Set<string>();

  constructor(row: Row) {
    this.waitsUntil = row.deadline;
    this.#wakeCountRead = row.stirsSeen;
  }

  /** Model replies that this invocation brought in. */
  get replies(): number {
    return this.#replies;
  }

  noteReply(): void {
    this.#replies += 1;
  }

  /** Tools run: before any reply of this invocation they were released by another one. */
  noteToolsRun(): void {
    this.#ranToolsFirst ||= this.#replies === 0;
  }

  /** Rounds of plan, act and observe that this invocation brought to an end. */
  get beats(): number {
    return this.#replies + (this.#ranToolsFirst && this.#replies === 0 ? 1 : 0);
  }

  /** What was recorded has to be durable before the model hears of it (rule 2). */
  get mustCommitFirst(): boolean {
    return this.#mustCommitFirst;
  }

  requireCommit(): void {
    this.#mustCommitFirst = true;
  }

  noteCommitted(): void {
    this.#mustCommitFirst = false;
  }

  /** Something outlived its timeout: this process has to end before it does anything else. */
  get outlived(): "no" | "code" | "tool" {
    return this.#outlived;
  }

  noteOutlived(what: "code" | "tool"): void {
    this.#outlived = what;
  }

  /** Where the run waits for code: this invocation has compared it with what is deployed now. */
  get hasCheckedDeployment(): boolean {
    return this.#hasCheckedDeployment;
  }

  noteDeploymentChecked(): void {
    this.#hasCheckedDeployment = true;
  }

  /** The agent that this invocation works with now. */
  noteAgent({ price, budget }: Pick<Agent, "price" | "budget">): void {
    this.#price = price;
    this.#countsTime ||= (budget.wallMs ?? null) !== null;
  }

  /** What its model charges; null until this invocation has met the agent. */
  get price(): Price | null {
    return this.#price;
  }

  /** An agent of the run limits its time at work: what it spends is debited from here on. */
  get countsTime(): boolean {
    return this.#countsTime;
  }

  /** The row's wake-up counter as it was before the inbox was last read: it is committed as seen. */
  get wakeCountRead(): number {
    return this.#wakeCountRead;
  }

  noteInboxRead(wakeCount: number): void {
    this.#wakeCountRead = wakeCount;
  }

  /** A try of this call, here or in an earlier invocation, may have left and gave no answer. It may have begun. */
  noteUnanswered(call: string): void {
    this.#unanswered.add(call);
  }

  isUnanswered(call: string): boolean {
    return this.#unanswered.has(call);
  }

  /** This invocation began that call. */
  noteBegun(call: string): void {
    this.#begun.add(call);
  }

  hasBegun(call: string): boolean {
    return this.#begun.has(call);
  }

  /** This invocation removed the inbox item of that message. */
  noteRemoved(message: string): void {
    this.#removed.add(message);
  }

  hasRemoved(message: string): boolean {
    return this.#removed.has(message);
  }

  /** This invocation sent that commit, whatever became of it. */
  noteSent(commitId: string): void {
    this.#sent.add(commitId);
  }

  hasSent(commitId: string): boolean {
    return this.#sent.has(commitId);
  }
}
