/** What every part of the description needs: the names, the plan, the options, and whether this is production. */
import { checkOptions } from "./agent-options.ts";
import { type Names, checkAgentFunctions, componentPrefix, isDefault, namesOf } from "./names.ts";
import type { CairnOptions } from "./options.ts";
import type { Component, Plan } from "./plan.ts";

export interface Site {
  readonly names: Names;
  readonly plan: Plan;
  readonly options: CairnOptions;
  /** The name of a resource in the description, which no other component of the app has. */
  readonly called: (name: string) => string;
  /** Whether resources with runs are protected against removal of the deployment, and against mistakes. */
  readonly isProduction: boolean;
}

const PRODUCTION = "production";

/** Asks AWS for the current partition, region and account. */
export async function siteOf({ name, plan, options = {} }: Component): Promise<Site> {
  const [{ partition }, { region }, { accountId }] = await Promise.all([
    aws.getPartition(),
    aws.getRegion(),
    aws.getCallerIdentity(),
  ]);
  checkOptions(options, plan);
  const names = namesOf(
    componentPrefix({ app: $app.name, stage: $app.stage, component: name }),
    { partition, region, account: accountId },
    { table: options.table ?? plan.options.tableName, bucket: options.bucket },
  );
  checkAgentFunctions(
    names,
    plan.isolated.map(({ agent }) => agent),
  );
  const called = (own: string): string => (isDefault(name) ? own : `${name}${own}`);
  return { names, plan, options, called, isProduction: $app.stage === PRODUCTION };
}
