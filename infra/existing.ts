/** Looks at the stores that a user brings, before anything is created. `cairn doctor` looks closer after a deployment. */
import type { Site } from "./site.ts";
import { tableFaults } from "./table-faults.ts";

export async function checkStores({ names, options }: Site): Promise<void> {
  if (options.table !== undefined) await checkTable(names.table);
  if (options.bucket !== undefined) await checkBucket(names.bucket, names.region);
}

async function checkTable(name: string): Promise<void> {
  const found = await aws.dynamodb.getTable({ name }).catch((cause: unknown) => missing("table", name, cause));
  const faults = tableFaults(found);
  if (faults.length === 0) return;
  const lines = faults.map((fault) => `\n  ${fault}`).join("");
  throw new Error(`table ${name} cannot hold runs:${lines}\nchange it, or leave the option table out: cairn makes one`);
}

async function checkBucket(bucket: string, region: string): Promise<void> {
  const found = await aws.s3.getBucket({ bucket }).catch((cause: unknown) => missing("bucket", bucket, cause));
  if (found.bucketRegion === region) return;
  throw new Error(
    `bucket ${bucket} is in ${found.bucketRegion}, and this deployment in ${region}: name one of ${region}`,
  );
}

function missing(option: string, name: string, cause: unknown): never {
  const why = cause instanceof Error ? cause.message : String(cause);
  throw new Error(
    `${option} ${name} cannot be read (${why}): create it, correct the name, or leave the option ${option} out`,
    { cause },
  );
}
