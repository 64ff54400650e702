/** What every part of the description needs: the names, the plan, and whether this is production. */
import { type Names, checkAgentFunctions, namesOf, prefixOf } from "./names.ts";
import type { Plan } from "./plan.ts";

export interface Site {
  readonly names: Names;
  readonly plan: Plan;
  /** Whether resources with runs are protected against removal of the deployment, and against mistakes. */
  readonly isProduction: boolean;
}

const PRODUCTION = "production";

/** Asks AWS for the current partition, region and account. */
export async function siteOf(plan: Plan): Promise<Site> {
  const [{ partition }, { region }, { accountId }] = await Promise.all([
    aws.getPartition(),
    aws.getRegion(),
    aws.getCallerIdentity(),
  ]);
  const names = namesOf(
    prefixOf($app.name, $app.stage),
    { partition, region, account: accountId },
    plan.options.tableName,
  );
  checkAgentFunctions(
    names,
    plan.isolated.map(({ agent }) => agent),
  );
  return { names, plan, isProduction: $app.stage === PRODUCTION };
}
