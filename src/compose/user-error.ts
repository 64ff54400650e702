/**
 * Errors for the user of a world: what happened, why, and what to type next, each with a stable code. The command line
 * prints them, and a client or a server turns them into its own.
 */

/** The exit codes of the command line. They are stable. */
export const EXIT = { done: 0, failed: 1, usage: 2, notFound: 3, refused: 4, store: 5 } as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

export interface UserErrorDetails {
  readonly code: string;
  readonly exit: ExitCode;
  /** What happened. */
  readonly what: string;
  readonly why: string;
  /** A command to type. */
  readonly next: string;
  /** Further details for a program, each under its own field name. */
  readonly facts?: Readonly<Record<string, string | number | readonly string[]>>;
}

/** An error for the user: what happened, why, which command to type next, and a stable code. */
export class UserError extends Error {
  override readonly name = "UserError";
  readonly trouble: UserErrorDetails;

  constructor(trouble: UserErrorDetails, options?: ErrorOptions) {
    super(trouble.what, options);
    this.trouble = trouble;
  }
}
