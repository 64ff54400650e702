/** What every part of the description knows: how things are called here, what is to be deployed, and how carefully. */
import { type Names, checkAgentFunctions, namesOf, prefixOf } from "./names.ts";
import type { Plan } from "./plan.ts";

export interface Site {
  readonly names: Names;
  readonly plan: Plan;
  /** Nothing that holds runs is deleted by a removal, or by a mistake. */
  readonly isProduction: boolean;
}

const PRODUCTION = "production";

/** Asks AWS whose account this is and in which region. */
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
