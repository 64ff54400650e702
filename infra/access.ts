/**
 * How the API of a component identifies its callers: by the option `access` of the component, else by `access` of the
 * config, else by IAM. The limits of tenants are those of the config. The issuer of tokens may be a resource of the same deployment, which is known only while it runs.
 */
import type { AccessOptions } from "../src/sdk/access.ts";
import type { Access, CairnOptions, OutputOf } from "./options.ts";
import type { Plan } from "./plan.ts";

/** The variable of the API's function, if the component has the option. */
export function accessVariable(
  { access }: CairnOptions,
  { access: { limits } }: Pick<Plan, "access">,
): Readonly<Record<string, OutputOf<string>>> {
  if (access === undefined) return {};
  const { issuer, audience, ...rest } = access.jwt ?? { issuer: "", audience: "" };
  const text = $resolve([issuer, audience] as $util.Input<string>[]).apply((known) =>
    jsonOf({ ...access, ...(limits !== undefined && { limits }) }, rest, known),
  );
  return { CAIRN_ACCESS: text as OutputOf<string> };
}

function jsonOf(
  access: Access & Pick<AccessOptions, "limits">,
  rest: object,
  [issuer = "", audience = ""]: readonly string[],
): string {
  const said: AccessOptions = {
    ...{ auth: access.auth },
    ...(access.limits !== undefined && { limits: access.limits }),
    ...(access.jwt !== undefined && { jwt: { ...rest, issuer, audience } }),
  };
  return JSON.stringify(said);
}
