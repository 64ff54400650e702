/** Who checks the callers of the API. */
import type { CairnOptions } from "./options.ts";
import type { Plan } from "./plan.ts";

/** With `iam`, API Gateway checks each request. Otherwise the function does. */
export const isByIam = (options: CairnOptions, plan: Pick<Plan, "access">): boolean =>
  (options.access ?? plan.access).auth === undefined || (options.access ?? plan.access).auth === "iam";
