/** The clients of AWS. The package that users install has them as optional peers: only the AWS world needs them. */

export const AWS_PACKAGES = [
  "@aws-sdk/client-cloudwatch",
  "@aws-sdk/client-dynamodb",
  "@aws-sdk/client-kms",
  "@aws-sdk/client-lambda",
  "@aws-sdk/client-s3",
  "@aws-sdk/client-scheduler",
  "@aws-sdk/client-sfn",
  "@aws-sdk/client-ssm",
  "@aws-sdk/client-sts",
] as const;

type AwsPackage = (typeof AWS_PACKAGES)[number];

/** What is wrong if some of them are not installed. */
export interface AwsPackagesMissing {
  readonly code: "PackageMissing";
  readonly what: string;
  readonly why: string;
  /** The command that installs what is missing. */
  readonly next: string;
  readonly facts: { readonly missing: readonly string[] };
}

/** Which of the clients that `who` needs are missing, and what to type; null: they are all there. */
export function awsPackagesMissing(
  who: string,
  has: (name: string) => boolean,
  needed: readonly AwsPackage[] = AWS_PACKAGES,
): AwsPackagesMissing | null {
  const missing = needed.filter((name) => !has(name));
  if (missing.length === 0) return null;
  const named = missing.length === 1 ? missing[0] : `${missing.length} clients of AWS`;
  const isOrAre = missing.length === 1 ? "is" : "are";
  return {
    code: "PackageMissing",
    what: `${who} needs ${named}, which ${isOrAre} not installed`,
    why: "cairn-run installs without the clients of AWS, because only the AWS world needs them; nothing was started",
    next: `npm install ${missing.join(" ")}`,
    facts: { missing },
  };
}
