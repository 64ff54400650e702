/** The environment variables with which a shell or a process reaches a deployment on LocalStack. */
import { KEYS } from "./clients.ts";
import type { Deployment } from "./deploy.ts";
import { PLACE } from "./place.ts";

export const environmentOf = (of: { readonly url: string; readonly deployment: Deployment }) => ({
  AWS_ENDPOINT_URL: of.url,
  AWS_ACCESS_KEY_ID: KEYS.accessKeyId,
  AWS_SECRET_ACCESS_KEY: KEYS.secretAccessKey,
  AWS_REGION: PLACE.region,
  CAIRN_TABLE: of.deployment.table,
  CAIRN_BUCKET: of.deployment.bucket,
  CAIRN_MACHINE: of.deployment.machine,
  CAIRN_API_URL: of.deployment.api,
});

export const exportsOf = (of: Parameters<typeof environmentOf>[0]): string =>
  Object.entries(environmentOf(of))
    .map(([name, value]) => `export ${name}='${value}'\n`)
    .join("");
