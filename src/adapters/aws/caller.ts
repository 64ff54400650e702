/** The AWS identity of the operator who runs a command. */
import { GetCallerIdentityCommand, STSClient } from "@aws-sdk/client-sts";
import { configOf } from "./clients.ts";

const READ_MS = 2_000;
const CHARACTERS_MAX = 64;

/**
 * The ARN of the caller, for the record; null if AWS does not say, since a command that steers a run must not fail for
 * that. AWS lets every identity ask. An ARN that is too long loses its beginning, since roles differ at the end.
 */
export async function callerArn(): Promise<string | null> {
  try {
    const { Arn: arn } = await new STSClient({ ...configOf({}, READ_MS), maxAttempts: 1 }).send(
      new GetCallerIdentityCommand(),
    );
    if (arn === undefined) return null;
    return arn.length <= CHARACTERS_MAX ? arn : `…${arn.slice(1 - CHARACTERS_MAX)}`.toWellFormed();
  } catch {
    return null;
  }
}
