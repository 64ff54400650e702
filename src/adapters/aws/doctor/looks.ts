/**
 * Inspection of one part of a deployment. Every reason why the caller cannot see it is a value. A missing permission is
 * no fault of the part that it hides, and must not hide all others.
 */
import { StoreUnreachable } from "../../../ports/world.ts";
import { explained, isHopeless, isNamed } from "../errors.ts";

/** The outcome of inspecting one part. */
export type Look<Seen> =
  | { readonly kind: "seen"; readonly seen: Seen }
  | { readonly kind: "missing" }
  /** The caller lacks the permission `action`. */
  | { readonly kind: "denied"; readonly action: string }
  /** `isHopeless`: every other inspection will fail too. */
  | { readonly kind: "failed"; readonly why: string; readonly next: string; readonly isHopeless: boolean }
  /** Not tried, since it needs `needs`, which was not found. */
  | { readonly kind: "untried"; readonly needs: string };

export const untried = (needs: string): Look<never> => ({ kind: "untried", needs });

/**
 * Inspects one part. `action` is the permission that this needs, such as `dynamodb:DescribeTable`. The part is missing
 * if the service says so or `see` returns null.
 */
export async function look<Seen>(action: string, see: () => Promise<Seen | null>): Promise<Look<Seen>> {
  try {
    const seen = await see();
    return seen === null ? { kind: "missing" } : { kind: "seen", seen };
  } catch (thrown) {
    const error = thrown instanceof StoreUnreachable ? thrown.cause : thrown;
    if (isNamed(error, ...DENIED)) return { kind: "denied", action };
    if (isNamed(error, ...MISSING)) return { kind: "missing" };
    const { why, words, next } = explained(error);
    return { kind: "failed", why: `${why} (${words})`, next, isHopeless: isHopeless(error) };
  }
}

/** Inspects what another inspection found; `untried` if that found nothing. */
export const lookOn = <From, Seen>(
  from: Look<From>,
  { see, needs }: { readonly needs: string; readonly see: (seen: From) => Promise<Look<Seen>> },
): Promise<Look<Seen>> => (from.kind === "seen" ? see(from.seen) : Promise.resolve(untried(needs)));

/** A HEAD request to S3 gives no more than 403. */
const DENIED = ["AccessDenied", "AccessDeniedException", "Forbidden", "403", "UnauthorizedOperation"];

const MISSING = [
  "ResourceNotFoundException",
  "StateMachineDoesNotExist",
  "NoSuchBucket",
  "NotFound",
  "404",
  "NoSuchKey",
  "NoSuchBucketPolicy",
  "NoSuchLifecycleConfiguration",
  "NoSuchPublicAccessBlockConfiguration",
  "ServerSideEncryptionConfigurationNotFoundError",
];
