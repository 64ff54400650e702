/**
 * The AWS world for the command line: a table, a bucket and a state machine, which environment variables name. Region,
 * credentials and endpoint come from the usual AWS variables. Step Functions drives its runs.
 *
 * Everything that talks to AWS is imported on use, so a command of another world does not wait for it.
 */
import { withKernel } from "../../features/compose.ts";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { AWS_PACKAGES, awsPackagesMissing } from "../../ports/aws-packages.ts";
import { type Diagnosis, judgeAll } from "../../ports/diagnosis.ts";
import type {
  ConfiguredWorld,
  DiagnoseOptions,
  Misconfigured,
  OpenWorldOptions,
  OpenedWorld,
  WorldProvider,
} from "../../ports/world-provider.ts";
import { StoreForeign } from "../../ports/store-errors.ts";
import type { World } from "../../ports/world.ts";
import { deploymentOf } from "../../adapters/aws/table/keys.ts";
import { isOwn } from "../../sdk/own-files.ts";
import { EXIT, UserError } from "../user-error.ts";
import { PRINTED_TELEMETRY } from "../workers/telemetry-line.ts";

interface Names {
  readonly table: string;
  readonly bucket: string;
  /** The ARN of the state machine. */
  readonly machine: string;
}

const TABLE = { name: "table", variable: "CAIRN_TABLE" } as const;
const BUCKET = { name: "bucket", variable: "CAIRN_BUCKET" } as const;
const MACHINE = { name: "machine", variable: "CAIRN_MACHINE" } as const;

const SETTINGS = [TABLE, BUCKET, MACHINE] as const;

const DRIVER = "Step Functions";

/** The provider of the AWS world. */
export const awsProvider: WorldProvider = {
  name: "aws",
  settings: SETTINGS,
  driver: DRIVER,
  can: { rollout: true, agentFiles: false, kill: false },
  configure: ({ env }) => {
    const said = ({ variable }: (typeof SETTINGS)[number]): string => env[variable] ?? "";
    const names = { table: said(TABLE), bucket: said(BUCKET), machine: said(MACHINE) };
    const trouble = packagesMissing("the world aws") ?? troubleWith(names);
    return trouble === null ? { kind: "configured", world: deployment(names) } : { kind: "invalid", trouble };
  },
  sealKeys: async ({ env }) => {
    const kmsKey = env["CAIRN_SEAL_KMS_KEY"];
    if (!kmsKey) return null;
    const trouble = packagesMissing("the seal key of CAIRN_SEAL_KMS_KEY", ["@aws-sdk/client-kms"]);
    if (trouble !== null) throw new UserError({ ...trouble, exit: EXIT.usage });
    const { kmsSealKeys } = await import("../../adapters/aws/seal-keys.ts");
    return kmsSealKeys({ kmsKey, isRequired: env["CAIRN_SEAL"] === "required" });
  },
};

/** A program that is bundled may have them in its own files, so nothing is looked for there. */
const packagesMissing = (who: string, needed: readonly (typeof AWS_PACKAGES)[number][] = AWS_PACKAGES) =>
  isOwn(fileURLToPath(import.meta.url)) ? awsPackagesMissing(who, isInstalled, needed) : null;

function isInstalled(name: string): boolean {
  try {
    createRequire(import.meta.url).resolve(name);
    return true;
  } catch {
    return false;
  }
}

function troubleWith(names: Names): Misconfigured | null {
  const missing = SETTINGS.filter(({ name }) => names[name] === "").map(({ variable }) => variable);
  if (missing.length > 0) {
    return {
      code: "WorldIncomplete",
      what: `the world aws is not named: ${missing.join(", ")} ${missing.length === 1 ? "is" : "are"} not set`,
      why: "`npx sst deploy` prints them as table, bucket and machine, and this command reads them from its environment",
      next: `export ${missing.map((variable) => `${variable}=…`).join(" ")}`,
      facts: { missing },
    };
  }
  if (/^arn:aws[\w-]*:states:[\w-]+:\d+:stateMachine:[\w-]+$/.test(names.machine)) return null;
  const why = "it is the whole ARN of a state machine, arn:aws:states:REGION:ACCOUNT:stateMachine:NAME";
  return { code: "Usage", what: `CAIRN_MACHINE is ${names.machine}`, why, next: null };
}

function deployment(names: Names): ConfiguredWorld {
  return {
    place: names.machine,
    words: ["--world", "aws"],
    isThere: () => true,
    open: (options) => openedDeployment(names, options),
    findSecret: async (name) => {
      const { parameterSecrets } = await import("../../adapters/aws/secrets.ts");
      return parameterSecrets({ deployment: deploymentOf(names.machine), names: [name] }).get(name);
    },
    diagnose: (options) => diagnosis(names, options),
    agents: {
      kind: "deployed",
      why: "on AWS the functions run the agents of the config that they were deployed with; name it there and deploy",
    },
    backups: null,
    rollout: async () => {
      const { rolloutOf } = await import("../../adapters/aws/machine/rollout.ts");
      const { readingClients } = await import("../../adapters/aws/doctor/reading-clients.ts");
      return rolloutOf(readingClients(), names.machine);
    },
  };
}

/**
 * Throws `StoreForeign` for a table of another cairn. (The functions refuse each of its rows, by the fingerprint in the
 * checksum.) A table that cannot be read fails the operation that needs it.
 */
async function refuseForeign({ table }: World): Promise<void> {
  try {
    await table.storeId();
  } catch (error) {
    if (error instanceof StoreForeign) throw error;
  }
}

async function openedDeployment(names: Names, { limits, sealKeys }: OpenWorldOptions): Promise<OpenedWorld> {
  const { awsWorld } = await import("../../adapters/aws/world.ts");
  const { placesIn } = await import("../../adapters/aws/places.ts");
  const { callerArn } = await import("../../adapters/aws/caller.ts");
  const { parameterSecrets } = await import("../../adapters/aws/secrets.ts");
  const secrets = parameterSecrets({ deployment: deploymentOf(names.machine), names: null });
  const ports = { limits, telemetry: PRINTED_TELEMETRY, secrets, sealKeys };
  const world = withKernel(awsWorld({ ...names, ...ports, statusShards: null, places: placesIn }));
  const [operator] = await Promise.all([callerArn(), refuseForeign(world)]);
  return {
    world,
    operator,
    pollMs: 500,
    attendant: () => ({ id: "aws", name: DRIVER }),
    supervision: null,
    agentFiles: null,
    // The function behind the table's stream deletes what a purged run leaves behind.
    finishRemoval: () => {},
    close: () => {},
  };
}

async function diagnosis(names: Names, options: DiagnoseOptions): Promise<Diagnosis> {
  const { limits, production, agents, isolated, onLook } = options;
  const { inspectAws } = await import("../../adapters/aws/doctor/inspection.ts");
  const { awsChecks } = await import("../../adapters/aws/doctor/checks.ts");
  const { AWS_HINTS } = await import("../../adapters/aws/doctor/check-account.ts");
  const aws = await inspectAws({ names, probe: production, onLook, agents: isolated });
  const checks = judgeAll(awsChecks({ production }), { seen: { aws, limits, agents, isolated }, production });
  return { checks, hints: AWS_HINTS };
}
