/** An answer of the API that is no success, or the lack of an answer, as the console shows it. */
export interface ShownProblem {
  readonly code: string;
  /** What happened, why, and what to do, in the words of the API. */
  readonly detail: string;
  /** Null: no answer came. */
  readonly status: number | null;
  /** The outcome of the operation, where one refused. */
  readonly outcome: Readonly<Record<string, unknown>> | null;
}

export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly trouble: ShownProblem;

  constructor(trouble: ShownProblem) {
    super(trouble.detail);
    this.trouble = trouble;
  }
}

export const UNREACHABLE: ShownProblem = {
  code: "Unreachable",
  detail:
    "The server does not answer. It may have been stopped: start it again with npx cairn dev. This page keeps trying.",
  status: null,
  outcome: null,
};

const UNEXPLAINED = "Unexplained";

/** The problem in the body of a refused request (RFC 9457). */
export function troubleIn(status: number, document: unknown): ShownProblem {
  const facts = (document ?? {}) as Readonly<Record<string, unknown>>;
  const { code, detail, outcome, errors } = facts;
  const outcomeOf = typeof outcome === "object" ? (outcome as ShownProblem["outcome"]) : null;
  if (typeof code !== "string" || typeof detail !== "string") {
    return {
      code: UNEXPLAINED,
      detail: `The server answered ${status} without saying why.`,
      status,
      outcome: outcomeOf,
    };
  }
  const wrong = Array.isArray(errors) ? errors.map((each) => placed(each as Wrong)).join("; ") : "";
  return { code, detail: wrong === "" ? detail : `${detail}: ${wrong}`, status, outcome: outcomeOf };
}

/** It is not known whether the request was applied. Only a success and a refusal say so. */
export const isUnsure = ({ status }: ShownProblem): boolean => status === null || status < 400 || status >= 500;

/** Problems that do not say whether the request was applied. The words of the others do. */
const UNSAID: ReadonlySet<string> = new Set([UNREACHABLE.code, UNEXPLAINED, "StoreUnreachable"]);

/** The trouble of an action, in words for who clicked. `isKeyed`: the same request again has no second effect. */
export function unsureOf(trouble: ShownProblem, isKeyed: boolean): ShownProblem {
  if (!UNSAID.has(trouble.code)) return trouble;
  const why = trouble.status === null ? "No answer came" : `The server answered ${trouble.status}`;
  const then = isKeyed ? "Sending it again is safe: it counts once." : "Look whether it did before you send it again.";
  return { ...trouble, detail: `${why}, and it may have happened. ${then}` };
}

interface Wrong {
  readonly pointer?: string;
  readonly parameter?: string;
  readonly detail?: string;
}

const placed = ({ pointer, parameter, detail = "" }: Wrong): string => `${pointer ?? parameter ?? ""} ${detail}`.trim();

export const troubleOf = (error: unknown): ShownProblem =>
  error instanceof ApiError ? error.trouble : { ...UNREACHABLE, detail: String(error) };
