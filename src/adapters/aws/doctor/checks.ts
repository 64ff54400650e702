/** Every check of a deployment, in the order in which one needs the other. */
import { ACCOUNT_CHECKS, type AwsCase } from "./check-account.ts";
import { AROUND_CHECKS } from "./check-surroundings.ts";
import { BUCKET_CHECKS, PUT_ONCE_CHECK } from "./check-bucket.ts";
import { MACHINE_CHECKS } from "./check-machine.ts";
import { TABLE_CHECKS } from "./check-table.ts";
import type { DiagnosisCheck } from "../../../ports/diagnosis.ts";

export const awsChecks = ({ production }: { readonly production: boolean }): readonly DiagnosisCheck<AwsCase>[] => [
  ...ACCOUNT_CHECKS,
  ...TABLE_CHECKS,
  ...BUCKET_CHECKS,
  ...(production ? [PUT_ONCE_CHECK] : []),
  ...MACHINE_CHECKS,
  ...AROUND_CHECKS,
];
