/** Why a request of the client failed. `code` is stable: programs branch on it. */
export class CairnError extends Error {
  override readonly name = "CairnError";
  /**
   * The code of the problem document, such as `RunUnknown`; `Unreachable` where no answer came; `Unexplained` where the
   * answer is none of cairn; `Unsendable` where nothing was sent.
   */
  readonly code: string;
  /** The HTTP status; null where no answer came. */
  readonly status: number | null;
  /** The whole problem document, or an empty object. */
  readonly facts: Readonly<Record<string, unknown>>;

  constructor(
    message: string,
    of: {
      readonly code: string;
      readonly status: number | null;
      readonly facts?: Readonly<Record<string, unknown>>;
      readonly cause?: unknown;
    },
  ) {
    super(message, of.cause === undefined ? undefined : { cause: of.cause });
    this.code = of.code;
    this.status = of.status;
    this.facts = of.facts ?? {};
  }
}
