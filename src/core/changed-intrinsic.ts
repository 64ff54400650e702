/**
 * A function of the language that code of an agent changed in its process, such as `Array.prototype.map`. Codec and
 * protocol rely on these functions, so the process ends and writes nothing more.
 */

/** What was changed, and by what. */
export interface ChangedIntrinsic {
  /** Such as `Array.prototype.map`. */
  readonly intrinsic: string;
  /** Null: code of the agent that is no tool. */
  readonly tool: string | null;
  /** The epoch of the invocation that ran it. It tells a second change from a second report of the first one. */
  readonly epoch: number;
}

/** The code of the error that ends the process, and of the failure that blocks a run. Stable. */
export const INTRINSIC_CHANGED = "IntrinsicChanged";

/** What happened, in words. */
export const changeWords = ({ intrinsic, tool }: Pick<ChangedIntrinsic, "intrinsic" | "tool">): string =>
  `${tool === null ? "code of its agent" : `the tool ${tool}`} changed ${intrinsic} in its process`;
