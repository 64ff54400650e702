/**
 * `npm run infra:list [-- --stage STAGE] [--json]`: prints the resources that `sst deploy` would request, in order,
 * with their inputs. Secrets and the environment of agents are left out.
 */
import { parseArgs } from "node:util";
import type { Resource } from "../infra/capture.ts";
import { described } from "./described.ts";

const LINE_MAX = 160;

/** The resource without secrets, and without paths of this machine. */
function shown({ type, name, inputs, isRetained, ignored }: Resource): Resource {
  const { environment, source, ...rest } = inputs;
  const variables = (environment as { readonly variables?: Readonly<Record<string, string>> } | undefined)?.variables;
  const kept = Object.entries(variables ?? {}).map(([key, value]) => [key, key.startsWith("CAIRN_") ? value : HIDDEN]);
  return {
    ...{ type, name, isRetained, ignored },
    inputs: {
      ...rest,
      ...(variables === undefined ? {} : { environment: { variables: Object.fromEntries(kept) } }),
      ...(source === undefined ? {} : { source: "an archive" }),
    },
  };
}

const HIDDEN = "(not shown)";

function printed(resources: readonly Resource[]): void {
  for (const { type, name, inputs, isRetained } of resources) {
    console.log(`${name}  ${type}${isRetained ? "  (stays when the deployment is removed)" : ""}`);
    for (const [input, value] of Object.entries(inputs)) {
      const text = typeof value === "string" ? value : JSON.stringify(value);
      console.log(`    ${input}: ${text.length > LINE_MAX ? `${text.slice(0, LINE_MAX)}…` : text}`);
    }
  }
  console.log(`${resources.length} resources`);
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { json: { type: "boolean", default: false }, stage: { type: "string", default: "dev" } },
  });
  const { resources: found, outputs } = await described(values.stage);
  const resources = found.map(shown);
  if (values.json) console.log(JSON.stringify({ resources, outputs }, null, 2));
  else printed(resources);
}

await main();
