/** What an error of an AWS client says about the effect. The clients retry by themselves, which makes it ambiguous. */
import { OutcomeUnknown } from "../sdk/outcome.ts";

/** The parts of an error of the AWS SDK that are read. */
interface AwsError {
  readonly name?: unknown;
  readonly $metadata?: { readonly httpStatusCode?: number; readonly attempts?: number };
}

export const httpStatusOf = (error: unknown): number | undefined =>
  (error as AwsError | null)?.$metadata?.httpStatusCode;

/**
 * The error to throw: itself if the service refused the only request that left, otherwise `OutcomeUnknown`. After a
 * retry within the client, the refusal says nothing about the first request.
 */
export function awsFailure(error: unknown, what: string): unknown {
  const { name, $metadata: { httpStatusCode: status = 0, attempts = 1 } = {} } = (error ?? {}) as AwsError;
  const isRefused = status >= 400 && status < 500 && status !== 408 && attempts === 1;
  // Without credentials there is no signed request.
  if (isRefused || name === "CredentialsProviderError") return error;
  return new OutcomeUnknown(`${what} left, and its answer was lost`, { cause: error });
}

/** The settings of a client of the AWS SDK that are read. */
export interface AwsClientLike {
  readonly config?: { readonly maxAttempts?: number | (() => Promise<number>) };
}

/**
 * Throws if the client sends a request again by itself. A service without deduplication would act twice, and neither
 * cairn nor the model would learn of it.
 */
export async function requireSingleAttempt({ config }: AwsClientLike, what: string): Promise<void> {
  const declared = config?.maxAttempts;
  const attempts = typeof declared === "function" ? await declared() : declared;
  if (attempts === undefined || attempts <= 1) return;
  throw new Error(
    `the client of ${what} repeats a lost request up to ${attempts} times, and each of them may act: ` +
      "create it with maxAttempts: 1",
  );
}
