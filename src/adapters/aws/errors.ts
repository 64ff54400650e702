/**
 * Maps every error of the SDK. Expected ones (a refused condition, a missing object, a used name) are recognised by
 * name. For any other error a write either certainly did not happen, or its outcome is unknown. In the first case the
 * store is unreachable, with a message that says what to do. In the second case the write is `ambiguous`. If a lost
 * response were taken for a refusal, a run would say *running* for ever (schedule 6).
 */
import type { Ambiguous } from "../../ports/run-table.ts";
import { StoreUnreachable } from "../../ports/world.ts";

/** The store or service in words: `the table runs`. */
export type StoreInWords = string;

interface Cause {
  readonly names: RegExp;
  readonly why: string;
  readonly next: string;
  /** Every request fails with this cause, whatever it asks for. */
  readonly isForAll?: true;
}

/** The request was refused or never sent, so nothing was written. In order of precedence. */
const REFUSALS: readonly Cause[] = [
  {
    names: /^(CredentialsProviderError|TokenProviderError|NoCredentials|MissingAuthenticationToken(Exception)?)$/,
    why: "there are no credentials",
    next: "sign in to AWS, or set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
    isForAll: true,
  },
  {
    names: /^(ExpiredToken(Exception)?|RequestExpired|TokenRefreshRequired)$/,
    why: "the credentials have expired",
    next: "sign in to AWS again",
    isForAll: true,
  },
  {
    names:
      /^(UnrecognizedClientException|InvalidClientTokenId|InvalidAccessKeyId|InvalidSignatureException|SignatureDoesNotMatch|IncompleteSignature(Exception)?|NotSignedUp|OptInRequired)$/,
    why: "the credentials are not valid here",
    next: "check which account and keys are in use (aws sts get-caller-identity), and that the clock is right",
    isForAll: true,
  },
  {
    names: /^RequestTimeTooSkewed$/,
    why: "the clock of this machine is wrong",
    next: "set the clock",
  },
  {
    names: /^(RegionMissing|PermanentRedirect|AuthorizationHeaderMalformed|IllegalLocationConstraintException)$/,
    why: "the region is not set, or it is not the region of the deployment",
    next: "set AWS_REGION to the region of the deployment",
  },
  {
    names: /^(ResourceNotFoundException|NoSuchBucket|StateMachineDoesNotExist|StateMachineDeleting|InvalidArn)$/,
    why: "it does not exist in this account and region",
    next: "deploy cairn there, or check its name, AWS_REGION and the account",
  },
  {
    names: /^(AccessDenied(Exception)?|AllAccessDisabled|AccountProblem|UnauthorizedOperation|Forbidden)$/,
    why: "access is denied",
    next: "give this identity the permissions that the deployment lists for it; without s3:ListBucket AWS also denies a missing object",
  },
  {
    names: /^KMS|^KMS\..+/,
    why: "its encryption key cannot be used",
    next: "check that the key is enabled and that this identity may use it",
  },
  {
    names: /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL|CERT_HAS_EXPIRED)$/,
    why: "nothing answers at its address",
    next: "check the network, AWS_REGION and, for an emulator, AWS_ENDPOINT_URL",
    isForAll: true,
  },
];

/** The service throttles, in general or for this key. */
const BUSY =
  /^(Throttling(Exception|Error)?|ThrottledException|RequestThrottled(Exception)?|TooManyRequestsException|ProvisionedThroughputExceeded(Exception)?|RequestLimitExceeded|LimitExceededException|SlowDown|BandwidthLimitExceeded|PriorRequestNotComplete|TransactionConflict(Exception)?|TransactionInProgressException|ConditionalRequestConflict|OperationAborted)$/;

/** True if the caller should pause before it sends the request again. */
export const isBusy = (error: unknown): boolean =>
  namesOf(error).some((name) => BUSY.test(name)) || statusOf(error) === 429;

/** The outcome of a failed write: `ambiguous`. Throws `StoreUnreachable` if the write certainly did not happen. */
export function undecided(error: unknown, store: StoreInWords): Ambiguous {
  const status = statusOf(error);
  const isRefused = status !== null && status >= 300 && status < 500 && !isLost(error);
  if (!isBusy(error) && (isRefused || causeOf(error) !== null)) throw asUnreachable(error, store);
  return { kind: "ambiguous", why: `${store}: ${wordsOf(error)}`, ...(isBusy(error) ? { isBusy: true } : {}) };
}

/** Why a read, or a write that certainly did not happen, failed, and what to do about it. */
export function asUnreachable(error: unknown, store: StoreInWords): StoreUnreachable {
  if (error instanceof StoreUnreachable) return error;
  const { why, words, next } = explained(error);
  return new StoreUnreachable(`${store} cannot be used: ${why} (${words}); ${next}`, { store, cause: error });
}

/** Why a request failed, in our words and in the service's, and what the operator should do. */
export function explained(error: unknown): { readonly why: string; readonly words: string; readonly next: string } {
  const { why, next } = causeOf(error) ?? otherCause(error);
  return { why, next, words: wordsOf(error) };
}

/** True if no request of this identity, from this machine, to this address can succeed, whatever it asks for. */
export const isHopeless = (error: unknown): boolean =>
  REFUSALS.filter(({ isForAll }) => isForAll === true).some((cause) =>
    namesOf(error).some((name) => cause.names.test(name)),
  );

/** Runs a request that is safe to repeat. Every error becomes `StoreUnreachable`. */
export async function reachingService<T>(store: StoreInWords, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throw asUnreachable(error, store);
  }
}

/** True if the error, or an error inside it, has one of these names or codes. */
export const isNamed = (error: unknown, ...names: readonly string[]): boolean =>
  namesOf(error).some((name) => names.includes(name));

function causeOf(error: unknown): Cause | null {
  const names = namesOf(error);
  return REFUSALS.find((cause) => names.some((name) => cause.names.test(name))) ?? null;
}

function otherCause(error: unknown): Pick<Cause, "why" | "next"> {
  if (isBusy(error)) return { why: "it is throttling", next: "try again later, or raise its limits; nothing is lost" };
  const status = statusOf(error);
  if (status === 301 || status === 307)
    return { why: "it is in another region", next: "set AWS_REGION to that region" };
  if (status === 403) return { why: "access is denied", next: "check the permissions of this identity" };
  if (status !== null && status >= 400 && status < 500 && !isLost(error)) {
    return { why: "it refused the request", next: "check that it was deployed by this version of cairn" };
  }
  return {
    why: "it did not answer",
    next: "try again; if this persists, check the network and the state of the service",
  };
}

/** The connection ended during the request, as Node, the SDK and S3 call it. */
const isLost = (error: unknown): boolean => isNamed(error, "TimeoutError", "RequestTimeout", "RequestTimeoutException");

/** The error's own name and code, and those of the errors inside it: a refused connection is one error per address. */
function namesOf(error: unknown): readonly string[] {
  if (!(error instanceof Error)) return [];
  const own = [error.name, "code" in error ? error.code : null, "Code" in error ? error.Code : null];
  const regionless = error.message === "Region is missing" ? ["RegionMissing"] : [];
  const inner = error instanceof AggregateError ? error.errors.flatMap(namesOf) : [];
  return [...own.filter((name) => typeof name === "string"), ...regionless, ...inner, ...reasonsOf(error)];
}

/** A cancelled transaction has the reasons of its parts. */
function reasonsOf(error: Error): readonly string[] {
  if (!("CancellationReasons" in error) || !Array.isArray(error.CancellationReasons)) return [];
  const reasons = error.CancellationReasons as readonly { readonly Code?: string }[];
  return reasons.flatMap(({ Code }) => Code ?? []);
}

function statusOf(error: unknown): number | null {
  if (!(error instanceof Error) || !("$metadata" in error)) return null;
  const { httpStatusCode } = error.$metadata as { readonly httpStatusCode?: number };
  return httpStatusCode ?? null;
}

const wordsOf = (error: unknown): string =>
  error instanceof Error ? `${error.name}: ${error.message || "no message"}`.slice(0, WORDS_MAX) : String(error);

const WORDS_MAX = 300;
