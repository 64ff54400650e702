/**
 * The secrets that the agents of a deployment declare, for functions that write input from outside. This is a file of
 * its own because each function that imports it also bundles the Parameter Store client.
 */
import { deploymentOf } from "../src/adapters/aws/table/keys.ts";
import { parameterSecrets } from "../src/adapters/aws/secrets.ts";
import type { Secrets } from "../src/ports/secrets.ts";
import { machineArn, named } from "./settings.ts";

export const secretsOf = (): Secrets =>
  parameterSecrets({
    deployment: deploymentOf(machineArn()),
    names: JSON.parse(named("CAIRN_PARAMETERS")) as readonly string[],
  });
