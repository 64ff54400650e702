/**
 * The functions of the language that the records of runs rely on, in a process that runs code of agents. Codec and
 * protocol use `Array.prototype.map` and the like. If a tool replaces one, what they write can be read by nobody.
 */
import { type ChangedIntrinsic, INTRINSIC_CHANGED, changeWords } from "../core/changed-intrinsic.ts";

/** Code of an agent that runs in this process now: a beat of a run, or one call of a tool in it. */
export interface CodeAtWork {
  readonly run: string;
  readonly epoch: number;
  /** Null: the beat itself, whose model, checks and topology may run code of the agent. */
  readonly tool: string | null;
}

/** Watches the functions of the language in this process. */
export interface Intrinsics {
  /** Code begins to run. The returned function says that it no longer does. */
  readonly enter: (code: CodeAtWork) => () => void;
  /**
   * Compares each function with what it was once the agent was loaded. `ran`: nothing else can have run since the last
   * time, so it is to blame.
   *
   * @throws IntrinsicChanged, and from then on at each call
   */
  readonly check: (ran?: CodeAtWork) => void;
}

/** Who changed a function, as far as it is certain. */
export interface Culprit extends ChangedIntrinsic {
  readonly run: string;
}

/**
 * Code of an agent changed a function of the language. The process ends and writes nothing more. This is no death of the
 * runs that it had.
 */
export class IntrinsicChanged extends Error {
  override readonly name = INTRINSIC_CHANGED;
  readonly code = INTRINSIC_CHANGED;
  readonly intrinsic: string;
  /** Null: code of several runs was at work, so nobody is blamed. */
  readonly culprit: Culprit | null;

  constructor(intrinsic: string, culprit: Culprit | null) {
    super(
      culprit === null
        ? `code of one of several runs changed ${intrinsic} of their process`
        : `in run ${culprit.run}, ${changeWords(culprit)}`,
    );
    this.intrinsic = intrinsic;
    this.culprit = culprit;
  }
}
