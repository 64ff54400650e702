/**
 * The secrets that the agents of a deployment declare, for functions that write what comes from outside. In a file of its
 * own: the client that reads them is bundled with whoever imports this.
 */
import { parameterSecrets } from "../src/adapters/aws/secrets.ts";
import type { Secrets } from "../src/ports/secrets.ts";
import { named, tableName } from "./settings.ts";

export const secretsOf = (): Secrets =>
  parameterSecrets({ deployment: tableName(), names: JSON.parse(named("CAIRN_PARAMETERS")) as readonly string[] });
