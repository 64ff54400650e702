/**
 * The trust policies of roles: a service may assume a role only on behalf of this account. Without that condition a
 * service could be made to use the role for a resource of another account (the confused deputy problem).
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
