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
    {
      cause,
      code,
      status,
      facts,
    }: {
      readonly code: string;
      readonly status: number | null;
      readonly facts?: Readonly<Record<string, unknown>>;
      readonly cause?: unknown;
    },
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.status = status;
    this.facts = facts ?? {};
  }
}
