/**
 * How the API of a component identifies its callers: by the option `access` of the component, else by `access` of the
 * config, else by IAM. The issuer of tokens may be a resource of the same deployment, which is known only while it runs.
 * The limits of tenants are those of the config, and in the bundles (`infra/bundle.ts`).
 */
import type { AccessOptions } from "../src/sdk/access.ts";
import type { Access, CairnOptions, OutputOf } from "./options.ts";

/** The variable of the API's function, if the component has the option. */
export function accessVariable({ access }: CairnOptions): Readonly<Record<string, OutputOf<string>>> {
  if (access === undefined) return {};
  const { issuer, audience, ...rest } = access.jwt ?? { issuer: "", audience: "" };
  const text = $resolve([issuer, audience] as $util.Input<string>[]).apply((known) => jsonOf(access, rest, known));
  return { CAIRN_ACCESS: text as OutputOf<string> };
}

function jsonOf(access: Access, rest: object, [issuer = "", audience = ""]: readonly string[]): string {
  const said: AccessOptions = {
    ...{ auth: access.auth },
    ...(access.jwt !== undefined && { jwt: { ...rest, issuer, audience } }),
  };
  return JSON.stringify(said);
}
