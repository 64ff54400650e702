/** Checks of the caller, the region, the clock and the account's concurrency. */
import type { AwsSeen } from "./inspection.ts";
import type { Limits } from "../../../protocol/limits.ts";
import { type DiagnosisCheck, judgeGap, ok, warn, fail, unknown } from "../../../ports/diagnosis.ts";
import { judgeLook, judgeSeen } from "./judge-probe.ts";

/** What the checks of a deployment judge. */
export interface AwsCase {
  readonly aws: AwsSeen;
  readonly limits: Limits;
  /** The agents of cairn.config.ts; null: there is none in this folder. */
  readonly agents: readonly string[] | null;
  /** The agents of cairn.config.ts that should have a function of their own. */
  readonly isolated: readonly string[];
}

/** The region and account in `arn:aws:states:REGION:ACCOUNT:stateMachine:NAME`. */
const partsOf = (arn: string): { readonly region: string; readonly account: string } => {
  const [, , , region = "", account = ""] = arn.split(":");
  return { region, account };
};

/** New accounts have a concurrency of 10, and each active run uses one. */
const CONCURRENCY_LOW = 100;

export const ACCOUNT_CHECKS: readonly DiagnosisCheck<AwsCase>[] = [
  {
    id: "region",
    says: "the region is that of the deployment",
    judge: ({ aws }) => {
      const { region } = partsOf(aws.names.machine);
      const mend = `export AWS_REGION=${region}`;
      if (aws.region.kind !== "seen") return fail("no region is set", mend);
      const { name } = aws.region.seen;
      return name === region ? ok(name) : fail(`it is ${name}, and the machine is in ${region}`, mend);
    },
  },
  {
    id: "credentials",
    says: "the credentials are those of the deployment's account",
    needs: ["region"],
    judge: ({ aws }) =>
      judgeLook(aws.caller, {
        missing: unknown("there is no answer", "run it again"),
        unreachable: true,
        seen: ({ account, arn }) => {
          const theirs = partsOf(aws.names.machine).account;
          const mend = "sign in to that account, or set AWS_PROFILE, or CAIRN_MACHINE to a machine of this one";
          return account === theirs
            ? ok(arn)
            : fail(`${arn} does not belong to account ${theirs}, which has the machine`, mend);
        },
      }),
  },
  {
    id: "clock",
    says: "the clock of this machine is right",
    judge: ({ aws, limits }) =>
      judgeSeen(aws.clock, ({ gapMs }) => judgeGap(gapMs, { skewMs: limits.skewMs, whose: "AWS's clock" })),
  },
  {
    id: "concurrency",
    says: "Lambda's concurrency is sufficient",
    judge: ({ aws }) =>
      judgeSeen(aws.account, ({ concurrency, unreserved }) => {
        const why = `${concurrency} invocations at once in this account and region, ${unreserved} of them not reserved`;
        const mend =
          "request a quota increase: Service Quotas, AWS Lambda, Concurrent executions (new accounts have 10)";
        return unreserved < CONCURRENCY_LOW ? warn(`${why}; each running beat needs one`, mend) : ok(why);
      }),
  },
];

/** Facts from the AWS documentation that no call here can check. */
export const AWS_HINTS: readonly string[] = [
  "not checked: Step Functions allows 1,000,000 open Standard executions per account and region, and each live run is one",
  "not checked: a new on-demand table takes 4,000 writes and 12,000 reads a second at first, and may throttle above twice its last peak for half an hour",
];
