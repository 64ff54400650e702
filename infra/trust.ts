/**
 * Which service may take a role: only on behalf of this account. Without that condition a service could be talked into
 * using the role of this account for a resource of another account (the confused deputy).
 */
import type { Names } from "./names.ts";

export type Service = "lambda" | "states" | "scheduler";

/** A trust policy, as JSON. */
export const trustOf = ({ account }: Pick<Names, "account">, service: Service): string =>
  JSON.stringify({
    Version: "2012-10-17",
    Statement: [
      {
        Effect: "Allow",
        Principal: { Service: `${service}.amazonaws.com` },
        Action: "sts:AssumeRole",
        Condition: { StringEquals: { "aws:SourceAccount": account } },
      },
    ],
  });
