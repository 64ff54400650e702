/**
 * What a provider says about an error: in the response to a request, or as an object within a stream that had begun with
 * success.
 */
import { APICallError } from "@ai-sdk/provider";

export interface ReportedError {
  /** 0: it names none. */
  readonly status: number;
  readonly isRetryable: boolean;
  readonly message: string;
  /** The stable code or type of the error, if it has one. */
  readonly code: string | null;
  readonly headers: Readonly<Record<string, string>>;
  /** The response, if its form is unknown. */
  readonly body: string;
}

/** Null: no provider reported the error. */
export function reportedError(error: unknown): ReportedError | null {
  if (APICallError.isInstance(error)) {
    const { statusCode: status = 0, isRetryable, message, data, responseBody = "", responseHeaders: headers } = error;
    // Some gateways answer with success, and the error is in the body.
    const within = status < 400 ? reportedIn(responseBody) : null;
    if (within !== null) return { ...within, headers: headers ?? {} };
    // Without a parsed response the message is only the status line; the body may say more.
    const body = data === undefined ? responseBody.trim() : "";
    return { status, isRetryable, message, code: codeIn(data), headers: headers ?? {}, body };
  }
  return error instanceof Error ? reportedByClient(error) : reportedObject(error);
}

/** A model object may use the client of its provider, whose errors carry the status of the response. */
function reportedByClient(error: Error): ReportedError | null {
  const {
    statusCode,
    status,
    $metadata: metadata,
    code,
  } = error as {
    readonly [field in "statusCode" | "status" | "$metadata" | "code"]?: unknown;
  };
  const { httpStatusCode } = (metadata ?? {}) as { readonly httpStatusCode?: unknown };
  const found = [statusCode, status, httpStatusCode].find(isStatus);
  if (found === undefined) return null;
  const named = typeof code === "string" ? code : null;
  return { status: found, isRetryable: false, message: error.message, code: named, headers: {}, body: "" };
}

function reportedIn(body: string): ReportedError | null {
  try {
    const parsed: unknown = JSON.parse(body);
    return typeof parsed === "object" && parsed !== null && "error" in parsed ? reportedObject(parsed.error) : null;
  } catch {
    return null;
  }
}

function reportedObject(error: unknown): ReportedError | null {
  if (typeof error !== "object" || error === null) return null;
  const { statusCode, isRetryable, ...said } = error as {
    readonly [field in "statusCode" | "isRetryable" | "message" | "error" | "code" | "type"]?: unknown;
  };
  const { message = (said.error as { message?: unknown } | undefined)?.message } = said;
  if (typeof message !== "string") return null;
  const status = [statusCode, said.code].find(isStatus) ?? 0;
  return {
    status,
    isRetryable: isRetryable === true,
    message,
    code: [said.code, said.type].find((each) => typeof each === "string") ?? codeIn(said),
    headers: {},
    body: "",
  };
}

/** OpenRouter and others give the HTTP status as the code of an error. */
const isStatus = (value: unknown): value is number => typeof value === "number" && value >= 400 && value < 600;

/** The error as one text. */
export function errorWords(error: unknown): string {
  const reported = reportedError(error);
  if (reported === null) return error instanceof Error ? String(error.message || error.name) : String(error);
  const { status, message, code, body } = reported;
  const said = [status === 0 ? "" : `HTTP ${status}`, message, code ?? "", body.slice(0, BODY_CHARACTERS)];
  return said.filter((each) => each !== "").join(": ");
}

/** How much of a response of unknown form is shown. */
const BODY_CHARACTERS = 500;

/** `{ error: { code } }`: the stable error code of OpenAI and compatible providers. */
function codeIn(answer: unknown): string | null {
  const error = (answer as { error?: { code?: unknown } } | null | undefined)?.error;
  return typeof error?.code === "string" ? error.code : null;
}
